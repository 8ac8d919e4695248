"""The hyperparameters of a model of sequences, and their search."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.operators.choose import PointSet
from logikern.selection import quasi_newton
from logikern.sequences.criterion import HeldOutChains, HeldOutEvaluation
from logikern.sequences.likelihood import FieldCovariance
from logikern.sequences.storage import bind_all, bind_window
from logikern.structure.specification import Specification


@dataclass(frozen=True)
class FieldSpecification:
    """All hyperparameters of a field: of the functions of labels, and of transitions, first and last labels."""

    positions: Specification
    transition_variance: float
    pseudocount: float = np.inf  # of the prior mean of transitions; infinity for a mean of zero
    piecewise: float = 0.0  # weight of positions without their chains
    window: tuple[float, ...] = ()  # weights of the neighbours at offsets -r .. -1, 1 .. r

    @property
    def _others(self) -> Array:
        return np.array([self.transition_variance, self.pseudocount, self.piecewise, *self.window])

    @property
    def log_parameters(self) -> Array:
        """Logarithms: kernels, variances, bias variance, transition variance, pseudocount, piecewise, window."""
        others = self._others
        return np.append(self.positions.log_parameters, np.log(np.where(_is_positive(others), others, 1.0)))

    @property
    def is_learned(self) -> Array:
        """Which of them a search changes: not the bias variance, and no value that is zero or infinite."""
        positions = np.full(len(self.positions.log_parameters) - 1, True)
        return np.concatenate([positions, [False], _is_positive(self._others)])

    def with_log_parameters(self, values: Array) -> "FieldSpecification":
        """The same model with other hyperparameters; those that are not learned stay."""
        others = self._others
        positions, new = np.split(values, [len(values) - len(others)])
        variance, count, piecewise, *window = np.where(_is_positive(others), np.exp(new), others).tolist()
        own = self.positions.with_log_parameters(positions)
        return FieldSpecification(own, variance, count, piecewise, tuple(window))

    def collect(self, found: HeldOutEvaluation) -> Array:
        """The gradient in the logarithms of the hyperparameters."""
        own = found.gradient
        others = [own.transition_variance, found.count_gradient, found.piecewise_gradient, *own.window]
        return np.append(self.positions.collect(own.positions), others)

    def bind(self, points: PointSet, edges: Indices) -> FieldCovariance:
        """The covariance of fields on the points; chain s has the points from edges[s] to edges[s + 1]."""
        return FieldCovariance(bind_window(self.positions.bind(points), edges, self.window), self.transition_variance)

    def bind_all(self, rows: Any, edges: Indices, precision: str) -> FieldCovariance:
        """The covariance of fields for one fit to many rows."""
        return FieldCovariance(
            bind_all(self.positions, rows, edges, self.window, precision), self.transition_variance
        )


def _is_positive(values: Array) -> Array:
    return (values > 0) & np.isfinite(values)


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
        bound = own.bind(points, criterion.chains.offsets)
        found = criterion.evaluate(bound, own.pseudocount, own.piecewise, state["start"])
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
