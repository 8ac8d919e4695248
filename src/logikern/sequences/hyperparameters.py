"""The hyperparameters of a model of sequences, and their search."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from logikern.numerics.outcome import Array
from logikern.operators.choose import PointSet
from logikern.selection import quasi_newton
from logikern.sequences.criterion import HeldOutChains, HeldOutEvaluation
from logikern.sequences.likelihood import FieldCovariance
from logikern.structure.specification import Specification


@dataclass(frozen=True)
class FieldSpecification:
    """All hyperparameters of a field: of the functions of labels, and of transitions, first and last labels."""

    positions: Specification
    transition_variance: float
    pseudocount: float = np.inf  # of the prior mean of transitions; infinity for a mean of zero
    piecewise: float = 0.0  # weight of positions without their chains

    @property
    def _others(self) -> Array:
        return np.array([self.transition_variance, self.pseudocount, self.piecewise])

    @property
    def log_parameters(self) -> Array:
        """Logarithms: kernels, variances, bias variance, transition variance, pseudocount, weight of positions."""
        usable = np.where(self.is_learned[-3:], self._others, 1.0)
        return np.append(self.positions.log_parameters, np.log(usable))

    @property
    def is_learned(self) -> Array:
        """Which of them a search changes: not the bias variance, and no value that is zero or infinite."""
        positions = np.full(len(self.positions.log_parameters) - 1, True)
        return np.concatenate([positions, [False], (self._others > 0) & np.isfinite(self._others)])

    def with_log_parameters(self, values: Array) -> "FieldSpecification":
        """The same model with other hyperparameters; those that are not learned stay."""
        others = np.where(self.is_learned[-3:], np.exp(values[-3:]), self._others)
        return FieldSpecification(self.positions.with_log_parameters(values[:-3]), *others.tolist())

    def collect(self, found: HeldOutEvaluation) -> Array:
        """The gradient in the logarithms of the hyperparameters."""
        others = [found.transition_gradient, found.count_gradient, found.piecewise_gradient]
        return np.append(self.positions.collect(found.gradient), others)

    def bind(self, points: PointSet) -> FieldCovariance:
        """The covariance of fields on the points."""
        return FieldCovariance(self.positions.bind(points), self.transition_variance)


@dataclass(frozen=True)
class SequenceSearchPolicy:
    """How long a search takes."""

    evaluations: int = 40
    worth: float = 3e-4  # stop if steps gain less log loss per position than this
    radius: float = 7.0  # largest change of a log parameter: a factor of 1000


POLICY = SequenceSearchPolicy()


class SequenceRecord(NamedTuple):
    """An evaluation of a search."""

    number: int
    value: float  # held-out log loss per position; infinite if a fit failed
    best: float
    n_products: int
    specification: FieldSpecification


class SearchResult(NamedTuple):
    """The best hyperparameters, and all evaluations."""

    specification: FieldSpecification
    records: tuple[SequenceRecord, ...]


def search(
    criterion: HeldOutChains,
    start: FieldSpecification,
    points: PointSet,
    callback: Callable[[SequenceRecord], None],
    policy: SequenceSearchPolicy = POLICY,
) -> SearchResult:
    """Minimise the criterion by a quasi-Newton method in the logarithms of the hyperparameters."""
    learned, origin = start.is_learned, start.log_parameters
    records: list[SequenceRecord] = []
    state: dict[str, Any] = {"best": np.inf, "start": None, "specification": start}

    def evaluate(free: Array) -> quasi_newton.Trial:
        values = origin.copy()
        values[learned] = free
        own = start.with_log_parameters(values)
        found = criterion.evaluate(own.bind(points), own.pseudocount, own.piecewise, state["start"])
        if found.usable and found.value < state["best"]:
            state.update(best=found.value, start=found.latents, specification=own)
        record = SequenceRecord(len(records) + 1, found.value, state["best"], found.n_products, own)
        records.append(record)
        callback(record)
        gradient = own.collect(found)[learned] if found.usable else np.zeros(int(learned.sum()))
        return quasi_newton.Trial(found.value, gradient, found.usable)

    bounds = (origin[learned] - policy.radius, origin[learned] + policy.radius)
    first = evaluate(origin[learned])
    if first.usable and learned.any():
        position = quasi_newton.begin(origin[learned], first)
        while len(records) < policy.evaluations and not quasi_newton.finished(position, bounds, policy.worth):
            position = quasi_newton.advance(position, evaluate, bounds, policy.worth)
    return SearchResult(state["specification"], tuple(records))
