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
    """All hyperparameters of a field: those of the functions of labels, and the transition variance."""

    places: Specification
    transition_variance: float

    @property
    def log_parameters(self) -> Array:
        """Logarithms: kernels, variances, bias variance, transition variance."""
        return np.append(self.places.log_parameters, np.log(self.transition_variance or 1.0))

    @property
    def is_learned(self) -> Array:
        """Which of them a search changes: not the bias variance, and no transition variance of zero."""
        return np.append(np.full(len(self.places.log_parameters) - 1, True), [False, self.transition_variance > 0])

    def with_log_parameters(self, values: Array) -> "FieldSpecification":
        """The same model with other hyperparameters; variances of zero stay zero."""
        transition_variance = float(np.exp(values[-1])) if self.transition_variance else 0.0
        return FieldSpecification(self.places.with_log_parameters(values[:-1]), transition_variance)

    def collect(self, evaluation: HeldOutEvaluation) -> Array:
        """The gradient in the logarithms of the hyperparameters."""
        return np.append(self.places.collect(evaluation.gradient), evaluation.transition_gradient)

    def bind(self, points: PointSet) -> FieldCovariance:
        """The covariance of fields on the points."""
        return FieldCovariance(self.places.bind(points), self.transition_variance)


@dataclass(frozen=True)
class SequenceSearchPolicy:
    """How long a search takes."""

    evaluations: int = 40
    worth: float = 3e-4  # stop if steps gain less log loss per place than this
    radius: float = 7.0  # largest change of a log parameter: a factor of 1000


POLICY = SequenceSearchPolicy()


class SequenceRecord(NamedTuple):
    """An evaluation of a search."""

    number: int
    value: float  # held-out log loss per place; infinite if a fit failed
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
        found = criterion.evaluate(own.bind(points), state["start"])
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

