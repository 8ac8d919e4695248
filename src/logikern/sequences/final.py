"""The fit to all sequences, and the model that follows from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array, Indices, NewtonStep
from logikern.sequences.chains import Chains
from logikern.sequences.hyperparameters import FieldSpecification
from logikern.sequences.inputs import SequenceRows
from logikern.sequences.likelihood import ChainLikelihood, count_transitions
from logikern.sequences.model import SequenceModel
from logikern.sequences.newton import ChainFit, fit_chains


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
) -> FinalFit:
    """Fit sequences with labels (n,) and weights (S,) at given hyperparameters."""
    chains, n = Chains(sequences.offsets, specification.positions.mixing.n_classes), len(labels)
    mean = count_transitions(chains, labels, weights, specification.pseudocount).value
    likelihood = ChainLikelihood(chains, labels, weights, mean, specification.piecewise)
    covariance = specification.bind_all(sequences.rows, sequences.offsets, settings.precision)
    budget, is_kept = (settings.tolerance, settings.max_steps), settings.keep_interrupted
    fit = fit_chains(likelihood, covariance, *budget, callback=callback, keep_interrupted=is_kept)
    positions = FittedModel(specification.positions, sequences.rows, fit.dual[:, :n])
    scores = mean + fit.latent[:, n:]
    return FinalFit(fit, SequenceModel(positions, scores, specification.window, sequences.offsets))
