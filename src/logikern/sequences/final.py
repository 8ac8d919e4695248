"""The fit to all sequences, and the model that follows from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array, Indices, NewtonStep, Outcome
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


@dataclass(frozen=True)
class GrowthPolicy:
    """When a fit starts from a fit to some of the sequences."""

    # Smaller fits take few seconds from zero.
    least_rows: int = 3000
    least_sequences: int = 20
    # Part of the sequences in the first fit, where a product takes an eighth of the time. On one fold of the OCR
    # words, the fit to all takes 266 products, and 358 from zero.
    part: float = 0.35
    # Tolerance of the first fit, which is only a start.
    tolerance: float = 0.1


POLICY = GrowthPolicy()


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
    fit = _fit(
        specification,
        sequences,
        ChainLikelihood(chains, labels, weights, mean, specification.piecewise),
        settings,
        callback,
    )
    positions = FittedModel(specification.positions, sequences.rows, fit.dual[:, :n])
    scores = mean + fit.latent[:, n:]
    return FinalFit(fit, SequenceModel(positions, scores, specification.window, sequences.offsets))


def _fit(
    specification: FieldSpecification,
    sequences: SequenceRows,
    likelihood: ChainLikelihood,
    settings: FitSettings,
    callback: Callable[[NewtonStep], None],
) -> ChainFit:
    """The fit of a likelihood; if there are many rows, it starts from a fit to fewer of them."""
    first, was_interrupted = _fit_some(specification, sequences, likelihood, settings, callback)
    covariance = specification.bind_all(sequences.rows, sequences.offsets, settings.precision)
    fit = fit_chains(
        likelihood,
        covariance,
        settings.tolerance,
        0 if was_interrupted else settings.max_steps,
        callback=callback,
        keep_interrupted=settings.keep_interrupted,
        first_dual=first,
    )
    return replace(fit, outcome=Outcome.INTERRUPTED) if was_interrupted else fit


def _fit_some(
    specification: FieldSpecification,
    sequences: SequenceRows,
    likelihood: ChainLikelihood,
    settings: FitSettings,
    callback: Callable[[NewtonStep], None],
) -> tuple[Array | None, bool]:
    """A dual field that is zero at all but some sequences, from a fit to these, and whether it was interrupted."""
    chains, weighted = likelihood.chains, np.flatnonzero(likelihood.weights > 0)
    if chains.n_positions < POLICY.least_rows or len(weighted) < POLICY.least_sequences:
        return None, False
    order = np.random.RandomState(0).permutation(weighted)
    chosen = np.sort(order[: int(POLICY.part * len(order))])
    rougher = replace(settings, tolerance=max(settings.tolerance, POLICY.tolerance))
    some = _fit(specification, sequences.take(chosen), likelihood.take(chosen), rougher, callback)
    dual = np.zeros(chains.shape)
    dual[:, np.append(sequences.rows_of(chosen), np.arange(chains.n_positions, chains.shape[1]))] = some.dual
    return dual, some.outcome is Outcome.INTERRUPTED
