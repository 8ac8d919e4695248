"""Minimise a criterion over the logs of the hyperparameters of one specification."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from logikern.criteria.base import Criterion
from logikern.numerics.outcome import Array, Indices, Mask
from logikern.operators.choose import PointSet
from logikern.selection.journal import Entry, Journal
from logikern.selection.judgement import UnseenRows
from logikern.selection.nelder_mead import minimise_values
from logikern.selection.prior import Prior, weigh_prior
from logikern.selection.quasi_newton import Position, Trial, advance, begin, finished
from logikern.structure.covariance import CovarianceGradient
from logikern.structure.specification import Specification

# Why a search ended early.
INTERRUPTED = "it was interrupted"


@dataclass(frozen=True)
class Effort:
    """Budget, tolerances and early stopping of a search."""

    max_evaluations: int = 40  # budget of one stage
    relative_worth: float = 1e-3  # a step is small if it lowers the criterion by less than this fraction
    least_size: float = 0.0  # lower bound on |criterion| in this comparison: in a regression it may cross zero
    small_steps: int = 2  # number of successive small steps after which a stage ends
    # Whether the search uses values only: the simplex of Nelder and Mead instead of quasi-Newton steps.
    simplex: bool = False
    range: float = 9.0  # largest change of a log parameter in one stage
    # Early stopping: after `patience` evaluations, a stage ends if it has not lowered the criterion by `hurdle`, or
    # if its objective is still above `ceiling`.
    hurdle: float = 0.0
    ceiling: float = np.inf
    patience: int = 4
    far_above: float = np.inf  # a stage ends as soon as its objective is above this
    first_tolerance: float = 3e-2  # tolerance of inner fits while steps are long
    last_tolerance: float = 1e-2  # tolerance of inner fits when steps have become short
    relative_tolerance: float = 0.5  # tolerance of inner fits as a fraction of the criterion, if that is smaller ...
    finest_tolerance: float = 1e-3  # ... but not below this
    # Tolerance of fits that judge models on unseen rows: their losses are not corrected.
    judging_tolerance: float = 3e-3
    # The prior has half of its weight where the mean held-out loss is this, and less below it (`weigh_prior`). Where
    # classes can be separated, one unit of log likelihood would otherwise exceed all that certainty can gain.
    # 0 keeps all of the weight: the criterion of a regression is no loss above zero.
    certain_loss: float = 1e-3

    def worth(self, value: float) -> float:
        """The decrease below which a step is small, at this value of the criterion."""
        return self.relative_worth * max(abs(value), self.least_size)


@dataclass(frozen=True)
class Record:
    """One line of the trace of a search.

    Attributes
    ----------
    stage : str
    evaluation : int
        Number over all stages.
    n_points : int
        Points that the criterion saw.
    value : float
        Criterion, without the prior.
    best : float
        Lowest value so far on the same points, over all stages: values on other points are not comparable.
    usable : bool
    n_products : int
    seconds : float
        Time of this evaluation.
    """

    stage: str
    evaluation: int
    n_points: int
    value: float
    best: float
    usable: bool
    n_products: int
    seconds: float


Callback = Callable[[Record], None]


@dataclass(frozen=True, eq=False)
class SearchData:
    """Points, and the criterion that compares specifications on them."""

    criterion: Criterion
    points: PointSet
    n_points: int
    unseen: UnseenRows | None = None  # other rows, which judge models that were learned on these
    rows: Indices | None = None  # (n,): their positions among all points, if they have any
    # Latents (C, n) at these points, predicted by fits to other points; None if there is no prediction.
    predict: "Callable[[WarmStart], Array | None]" = lambda fits: None
    # The same search without each of several parts of the rows, which are then unseen rows.
    without_parts: "Callable[[], Iterator[SearchData]]" = lambda: iter(())


@dataclass(frozen=True, eq=False)
class Task:
    """The name and the prior of a stage."""

    name: str  # shown to users
    prior: Prior  # weak prior of the log parameters
    centre: Array  # its centre: `log_parameters` of the same model at values estimated from the data


@dataclass(frozen=True, eq=False)
class Found:
    """The best model of one stage."""

    specification: Specification
    value: float  # the criterion
    objective: float  # the criterion with the prior, which is minimised
    losses: Array  # (n_losses,)
    gradient: CovarianceGradient  # of the criterion; the same for the same functions under another tying
    # (p, p): of the objective in the free parameters, if the search has estimated it.
    inverse_hessian: Array | None = None

    def answers(self, specification: Specification) -> bool:
        """Whether the specification has the same kernels and functions, however its variances are tied."""
        alike = np.array_equal(self.specification.latent_variances, specification.latent_variances)
        alike = alike and np.array_equal(self.specification.mixing.parameters, specification.mixing.parameters)
        return alike and self.specification.kernels == specification.kernels


@dataclass(frozen=True, eq=False)
class WarmStart:
    """The fits of the last usable evaluation: their state, and the model that they belong to."""

    state: Array
    dual: Array | None  # (C, n): the mean over the fits, if the criterion knows it
    specification: Specification
    rung: SearchData


class TimeIsUpError(Exception):
    """The time for the search is used up; the best model so far is kept."""


@dataclass(eq=False)
class SearchLog:
    """The shared state of all stages: the journal, the trace, the clock, the warm start."""

    journal: Journal
    callback: Callback  # sees every record
    # Time by `time.monotonic`; an evaluation that would probably end later is not started.
    deadline: float = np.inf
    records: list[Record] = field(default_factory=list)
    stopped: str = ""  # why the search ended early; empty if it has not
    method: str = ""  # how the criterion was computed last, in words; empty if there is only one method
    warm_start: WarmStart | None = None
    keep_interrupted: bool = True  # whether an interrupted search returns its best model instead of raising

    def best_value(self, n_points: int) -> float:
        """Lowest criterion so far on this many points; infinite before the first."""
        return min((own.value for own in self.records if own.usable and own.n_points == n_points), default=np.inf)

    def judge(self, unseen: UnseenRows, specification: Specification, n_points: int) -> Array | None:
        """Losses of a model on unseen rows (m,), from the journal or computed; None if its fit fails."""

        def compute() -> Entry:
            last = self.warm_start
            near = last is not None and last.state.shape[-1] == n_points
            losses = unseen.losses(specification, last.state.mean(axis=0) if near and last else None)
            # It is not an evaluation of the criterion, so it is not marked as usable.
            nothing = CovarianceGradient((), np.zeros(0), 0.0)
            return Entry(point, np.nan, nothing, np.zeros(0) if losses is None else losses, False, 0, 0.0)

        point = specification.log_parameters
        entry = self.journal.answer(point, compute)
        return entry.losses if entry.losses.size else None

    def check_clock(self, n_points: int) -> None:
        """End the search if the last evaluation suggests that one on `n_points` points would take too long."""
        if self.journal.replaying or not self.records:
            return
        last = self.records[-1]
        expected = last.seconds * max(1.0, n_points / last.n_points)
        if time.monotonic() + expected > self.deadline:
            raise TimeIsUpError


def minimise(
    start: Specification,
    free: Mask,
    rung: SearchData,
    effort: Effort,
    task: Task,
    log: SearchLog,
    inverse_hessian: Array | None = None,
    known: Found | None = None,
) -> Found | None:
    """Quasi-Newton search from `start` over the free log parameters; None if no start was usable.

    An earlier search may supply the initial inverse Hessian, (p, p). If it used the same rung and ended with the same
    functions as `start`, its result `known` is used instead of a first evaluation.
    """
    run = _Stage(start, free, rung, effort, task, log, inverse_hessian, known)
    try:
        _descend(run, start.log_parameters[free])
    except TimeIsUpError:
        log.stopped = "the time limit was reached"
    except KeyboardInterrupt:
        if not log.keep_interrupted:
            raise
        log.stopped = INTERRUPTED
    return run.best


def _descend(run: "_Stage", origin: Array) -> None:
    effort = run.effort
    bounds = (origin - effort.range, origin + effort.range)
    position = run.first_position(origin)
    if effort.simplex and position is not None:
        worth = effort.worth(position.value)
        return minimise_values(
            lambda point: run.trial(point).value, position.point, bounds, worth, effort.max_evaluations
        )
    while position is not None and run.n_evaluations < effort.max_evaluations:
        worth = effort.worth(position.value)
        if finished(position, bounds, worth, effort.small_steps) or run.hopeless:
            break
        run.radius = position.radius
        position = advance(position, run.trial, bounds, worth)
        run.inverse_hessian = position.inverse_hessian if position.scaled else None


@dataclass(eq=False)
class _Stage:
    """The state of one stage."""

    start: Specification
    free: Mask
    rung: SearchData
    effort: Effort
    task: Task
    log: SearchLog
    inverse_hessian: Array | None
    known: Found | None = None
    radius: float = 1.0
    n_evaluations: int = 0
    first_value: float = np.inf
    found: Found | None = None

    def first_position(self, origin: Array) -> Position | None:
        """The first usable position; if the inner fits fail, the start is moved to smaller variances."""
        if self.known is not None and self.known.answers(self.start):
            return begin(origin, self._repeat(origin, self.known), self.inverse_hessian)
        n_variances = len(self.start.variances)
        for retreat in range(4):
            point = origin.copy()
            full = np.zeros(len(self.free))
            full[-1 - n_variances : -1] = -2.0 * retreat
            point += full[self.free]
            trial = self.trial(point)
            if trial.usable:
                return begin(point, trial, self.inverse_hessian)
        return None

    @property
    def best(self) -> Found | None:
        """The best model, with the estimated curvature around it."""
        return None if self.found is None else replace(self.found, inverse_hessian=self.inverse_hessian)

    @property
    def hopeless(self) -> bool:
        """Whether the stage should stop early, by `hurdle`, `ceiling` and `far_above`."""
        if self.found is None:
            return False
        if self.n_evaluations < self.effort.patience:
            return self.found.objective > self.effort.far_above
        behind = self.found.objective > self.effort.ceiling
        return behind or self.first_value - self.found.value < self.effort.hurdle

    def trial(self, point: Array) -> Trial:
        """Criterion and prior at a point, from the journal or computed."""
        self.log.check_clock(self.rung.n_points)
        entry = self.log.journal.answer(point, lambda: self._compute(point, self._warm_start()))
        if entry.state is not None:
            self.log.warm_start = WarmStart(entry.state, entry.dual, self.specification_at(point), self.rung)
        self.n_evaluations += 1
        trial = Trial(np.inf, np.zeros(len(point)), False)
        if entry.usable:
            trial = self._with_prior(point, entry.value, entry.gradient)
        self._note(point, entry, trial.value)
        return trial

    def _repeat(self, point: Array, known: Found) -> Trial:
        """The result of an earlier stage, under the prior of this one."""
        self.n_evaluations += 1  # it counts for the patience
        trial = self._with_prior(point, known.value, known.gradient)
        self.first_value = known.value
        start = replace(self.start, temperature=known.specification.temperature)
        self.found = replace(known, specification=start, objective=trial.value, inverse_hessian=None)
        return trial

    def _with_prior(self, point: Array, value: float, gradient: CovarianceGradient) -> Trial:
        pull = self.task.prior.pull(point - self.task.centre[self.free])
        own = self.start.collect(gradient)[self.free]
        objective = weigh_prior(value, own, pull, self.rung.criterion.n_cases, self.effort.certain_loss)
        return Trial(objective.value, objective.gradient, True)

    def specification_at(self, point: Array) -> Specification:
        values = self.start.log_parameters
        values[self.free] = point
        return self.start.with_log_parameters(values)

    def _warm_start(self) -> Array | None:
        """The state of the last usable evaluation, or predictions of its fits if it had other points."""
        last = self.log.warm_start
        if last is None:
            return None
        if last.state.shape[-1] == self.rung.n_points:
            return last.state
        predicted = self.rung.predict(last)
        return None if predicted is None else predicted[None]

    def _compute(self, point: Array, start: Array | None) -> Entry:
        began = time.monotonic()
        covariance = self.specification_at(point).bind(self.rung.points)
        evaluation = self.rung.criterion.evaluate(covariance, start, self._tolerance)
        if evaluation.usable:
            self.log.method = evaluation.method
        return Entry(
            point.copy(),
            evaluation.value,
            evaluation.gradient,
            evaluation.losses,
            evaluation.usable,
            evaluation.n_products,
            time.monotonic() - began,
            evaluation.temperature,
            evaluation.state if evaluation.usable else None,
            evaluation.dual if evaluation.usable else None,
        )

    @property
    def _tolerance(self) -> float:
        """Tolerance of inner fits: the criterion corrects its value for their residual, to first order."""
        effort = self.effort
        largest = effort.first_tolerance if self.radius > 0.3 else effort.last_tolerance
        value = np.inf if self.found is None else abs(self.found.value)
        return min(largest, max(effort.finest_tolerance, effort.relative_tolerance * value))

    def _note(self, point: Array, entry: Entry, objective: float) -> None:
        if entry.usable and self.found is None:
            self.first_value = entry.value
        if entry.usable and (self.found is None or objective < self.found.objective):
            specification = replace(self.specification_at(point), temperature=entry.temperature)
            self.found = Found(specification, entry.value, objective, entry.losses, entry.gradient)
        record = Record(
            stage=self.task.name,
            evaluation=len(self.log.records) + 1,
            n_points=self.rung.n_points,
            value=entry.value,
            best=min(self.log.best_value(self.rung.n_points), entry.value if entry.usable else np.inf),
            usable=entry.usable,
            n_products=entry.n_products,
            seconds=entry.seconds,
        )
        self.log.records.append(record)
        self.log.callback(record)


def free_parameters(specification: Specification, learn_bias: bool) -> Mask:
    """Which hyperparameters are learned: all, but the bias variance only with `learn_bias`."""
    free = np.ones(len(specification.log_parameters), dtype=bool)
    free[-1] = learn_bias and specification.bias_variance > 0
    return free
