"""The hyperparameters of a sequence model, and their search, which can be interrupted and resumed."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from logikern.estimators._checkpoint import UNTOLD
from logikern.estimators._inputs.fingerprint import fingerprint
from logikern.numerics.outcome import Array, Indices
from logikern.operators.choose import PointSet
from logikern.selection import quasi_newton
from logikern.selection.journal import Entry
from logikern.selection.quasi_newton import finished
from logikern.selection.search import INTERRUPTED, Record, SearchLog, TimeIsUpError
from logikern.sequences.criterion import HeldOutChains, HeldOutEvaluation
from logikern.sequences.inputs import SequenceRows
from logikern.sequences.likelihood import FieldCovariance
from logikern.sequences.storage import bind_all, bind_window
from logikern.structure.covariance import CovarianceGradient
from logikern.structure.specification import Specification

# Settings that change neither the evaluations of a search nor their order.
IDLE = {*UNTOLD, "decoding"} - {"max_iter"}


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
    stage: str = "hyperparameters"  # what the trace calls the search


POLICY = SequenceSearchPolicy()


def minimise(
    criterion: HeldOutChains,
    start: FieldSpecification,
    points: PointSet,
    log: SearchLog,
    policy: SequenceSearchPolicy = POLICY,
) -> FieldSpecification:
    """Minimise the criterion by a quasi-Newton method in the logarithms of the hyperparameters.

    The result is the best specification so far if the time is up, or if the search is interrupted and
    `log.keep_interrupted` is True; `log.stopped` then says why.
    """
    run = _Search(criterion, start, points, log, policy)
    try:
        run.descend()
    except TimeIsUpError:
        log.stopped = "the time limit was reached"
    except KeyboardInterrupt:
        if not log.keep_interrupted:
            raise
        log.stopped = INTERRUPTED
    return run.best


@dataclass(eq=False)
class _Search:
    """The state of a search."""

    criterion: HeldOutChains
    start: FieldSpecification
    points: PointSet
    log: SearchLog
    policy: SequenceSearchPolicy
    best: FieldSpecification = field(init=False)
    value: float = field(init=False, default=np.inf)  # of the best one
    latents: Array | None = field(init=False, default=None)  # of the folds there: warm starts

    def __post_init__(self) -> None:
        self.best = self.start

    def descend(self) -> None:
        """Search from the starting hyperparameters."""
        learned, worth = self.start.is_learned, self.policy.worth
        origin = self.start.log_parameters[learned]
        bounds = (origin - self.policy.radius, origin + self.policy.radius)
        first = self.trial(origin)
        if first.usable and learned.any():
            position = quasi_newton.begin(origin, first)
            while len(self.log.records) < self.policy.evaluations and not finished(position, bounds, worth):
                position = quasi_newton.advance(position, self.trial, bounds, worth)

    def trial(self, free: Array) -> quasi_newton.Trial:
        """Value and gradient at some values of the learned parameters, from the journal or computed."""
        learned, values = self.start.is_learned, self.start.log_parameters
        values[learned] = free
        own = self.start.with_log_parameters(values)
        self.log.check_clock(self.criterion.chains.n_positions)
        entry = self.log.journal.answer(free, lambda: self._compute(free, own))
        if entry.state is not None:
            self.best, self.value, self.latents = own, entry.value, entry.state
        elif entry.usable and entry.value < self.value:
            self.best, self.value = own, entry.value
        self._note(entry)
        gradient = entry.derivatives[learned] if entry.usable else np.zeros(len(free))
        return quasi_newton.Trial(entry.value, gradient, entry.usable)

    def _compute(self, free: Array, own: FieldSpecification) -> Entry:
        began, warm = time.monotonic(), None if self.latents is None else tuple(self.latents)
        bound = own.bind(self.points, self.criterion.chains.offsets)
        found = self.criterion.evaluate(bound, own.pseudocount, own.piecewise, warm)
        is_best = found.usable and found.value < self.value
        return Entry(
            free.copy(),
            found.value,
            CovarianceGradient((), np.zeros(0), 0.0),
            np.zeros(0),
            found.usable,
            found.n_products,
            time.monotonic() - began,
            state=np.stack(found.latents) if is_best else None,
            derivatives=own.collect(found) if found.usable else np.zeros(0),
        )

    def _note(self, entry: Entry) -> None:
        number, n_points = len(self.log.records) + 1, self.criterion.chains.n_positions
        numbers = (entry.value, self.value, entry.usable, entry.n_products, entry.seconds)
        record = Record(self.policy.stage, number, n_points, *numbers)
        self.log.records.append(record)
        self.log.callback(record)


def identify(settings: dict[str, Any], sequences: SequenceRows, labels: Indices, weights: Array) -> str:
    """The fingerprint of data and settings; empty if no checkpoint is kept."""
    if settings["checkpoint"] is None:
        return ""
    told = {name: value for name, value in settings.items() if name not in IDLE}
    told |= {"X": sequences.rows, "lengths": np.diff(sequences.offsets), "y": labels, "weights": weights}
    return fingerprint("settings", {name: fingerprint(name, value) for name, value in told.items()})
