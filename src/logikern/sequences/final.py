"""The fit to all sequences; for many, it starts from the predictions of a fit to some of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array, Indices, NewtonStep
from logikern.sequences.chains import Chains
from logikern.sequences.hyperparameters import FieldSpecification
from logikern.sequences.inputs import SequenceRows
from logikern.sequences.likelihood import ChainLikelihood, count_transitions
from logikern.sequences.model import SequenceModel
from logikern.sequences.newton import ChainFit, fit_chains


@dataclass(frozen=True)
class StartPolicy:
    """When a fit starts from a fit to some of the sequences, and from how many."""

    # Rows from which on it does: a fit from zero takes 700 products with the matrix of 4600 rows of OCR words.
    rows: int = 8000
    # One sequence in this many is in the first fit, whose products take the square of it less time.
    every: int = 4
    # Tolerance of the first fit.
    tolerance: float = 0.01


POLICY = StartPolicy()


@dataclass(frozen=True)
class FitSettings:
    """How accurate a fit is, and how many steps it may take."""

    precision: str
    tolerance: float
    max_steps: int
    keep_interrupted: bool = False  # whether an interruption keeps the current fit instead of raising


class FinalFit(NamedTuple):
    """A fit, and the model that follows from it."""

    fit: ChainFit
    model: SequenceModel


def fit_all(
    specification: FieldSpecification,
    sequences: SequenceRows,
    labels: Indices,
    weights: Array,
    settings: FitSettings,
    callback: Callable[[NewtonStep], None] = lambda step: None,
    policy: StartPolicy = POLICY,
) -> FinalFit:
    """Fit sequences with labels (n,) and weights (S,) at given hyperparameters."""
    chains, n = Chains(sequences.offsets, specification.positions.mixing.n_classes), len(labels)
    mean = count_transitions(chains, labels, weights, specification.pseudocount).value
    likelihood = ChainLikelihood(chains, labels, weights, mean, specification.piecewise)
    start = None
    if n >= policy.rows and chains.n_chains >= policy.every:
        start = _predict_from_some(specification, sequences, labels, weights, settings, policy)
        start[:, n:] -= mean
    covariance = specification.bind_all(sequences.rows, sequences.offsets, settings.precision)
    fit = fit_chains(
        likelihood,
        covariance,
        settings.tolerance,
        settings.max_steps,
        start,
        callback,
        keep_interrupted=settings.keep_interrupted,
    )
    positions = FittedModel(specification.positions, sequences.rows, fit.dual[:, :n])
    scores = mean + fit.latent[:, n:]
    return FinalFit(fit, SequenceModel(positions, scores, specification.window, sequences.offsets))


def _predict_from_some(
    specification: FieldSpecification,
    sequences: SequenceRows,
    labels: Indices,
    weights: Array,
    settings: FitSettings,
    policy: StartPolicy,
) -> Array:
    """The field of all sequences, from a fit to one in every few."""
    some = np.arange(0, sequences.n_sequences, policy.every)
    rows = sequences.rows_of(some)
    rough = FitSettings(settings.precision, max(settings.tolerance, policy.tolerance), settings.max_steps)
    model = fit_all(specification, sequences.take(some), labels[rows], weights[some], rough, policy=policy).model
    return model.field(sequences.rows, Chains(sequences.offsets, model.positions.n_classes))
