"""Learning hyperparameters according to a plan: from criteria on subsets of the points to a specification."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from logikern.criteria.base import Criterion, CriterionData
from logikern.criteria.leave_one_out.spot_check import SpotCheck
from logikern.criteria.neighbourhoods import SeveralNeighbourhoods
from logikern.estimators._checkpoint import open_journal
from logikern.estimators._fitted.doubts import check_search
from logikern.estimators._inputs.alternatives import Alternative, carry_over
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._memory import size_of
from logikern.estimators._names.solvers import inner_solver
from logikern.estimators._search_plan import SearchPlan
from logikern.estimators._subsets.cells import Subset
from logikern.estimators._subsets.outer import outer_rungs
from logikern.estimators._subsets.rungs import Rung, draw_rung
from logikern.fitting.footprint import Size
from logikern.fitting.problem import Problem, Solver
from logikern.model.fitted import FittedModel
from logikern.numerics.outcome import Array
from logikern.numerics.temperature import Temperature
from logikern.operators.choose import PointSet
from logikern.operators.partition import mean_metric
from logikern.selection.growth import FirstModel, learn
from logikern.selection.judgement import Verdict
from logikern.selection.search import INTERRUPTED, Callback, Record, SearchData, SearchLog, WarmStart
from logikern.structure.coupling import Coupling
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification


@dataclass(frozen=True, eq=False)
class Tuned:
    """The result of a search."""

    alternative: Alternative  # the first model from which the best one grew
    specification: Specification
    value: float
    verdicts: tuple[Verdict, ...]
    records: tuple[Record, ...]
    stopped: str  # why it ended early; empty if it did not
    method: str  # the criterion in words
    check: SpotCheck | None = None  # check of closed-form leave-one-out by refits
    fits: WarmStart | None = None  # the last fits, which predict where the final fit starts

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.stopped.startswith(INTERRUPTED)


def search(plan: SearchPlan, alternatives: Sequence[Alternative], data: TrainingData, callback: Callback) -> Tuned:
    """Learn the hyperparameters of a model; they keep their start values if the start cannot be fitted."""
    deadline = np.inf if plan.max_time is None else time.monotonic() + plan.max_time
    data = replace(data, weights=data.weights / plan.unit)
    first_models = [_first_model(plan, own, data) for own in alternatives]
    # Neighbourhoods of later rungs depend on the results of earlier rungs.
    drawn = [rung for rung in plan.rungs if isinstance(rung.subset, Subset)]
    partitions = [(len(rung.drawn.rows), _criterion(plan, rung, data).partition) for rung in drawn]
    with open_journal(plan.checkpoint, plan.identity, plan.seed, partitions) as journal:
        log = SearchLog(journal, callback, deadline, keep_interrupted=plan.keep_interrupted)
        random = np.random.default_rng(plan.seed)
        learned = learn(first_models, plan.growth, len(plan.rungs), plan.effort, log, random)
    if learned is None:
        reason = f"{log.stopped or 'no starting point could be fitted'}, and no model was found"
        return Tuned(alternatives[0], alternatives[0].start, np.nan, (), tuple(log.records), reason, "")
    method = f"{plan.criterion.title} ({log.method})" if log.method else plan.criterion.title
    size = size_of(data, learned.specification.tying, learned.rung.n_points)
    check = None if log.stopped else _check(log, learned.rung, learned.specification, plan.seed, size)
    specification, records = _settled(learned.specification.scaled(1.0 / plan.unit)), tuple(log.records)
    chosen = alternatives[first_models.index(learned.first)]
    found = (learned.value, learned.verdicts, records, log.stopped, method, check, log.warm_start)
    return Tuned(chosen, specification, *found)


def _settled(found: Specification) -> Specification:
    """The model that is fitted to all points; classes without factors are independent."""
    is_open = isinstance(found.mixing, Coupling) and not found.mixing.n_factors
    return replace(found, mixing=Flat(found.mixing.n_classes)) if is_open else found


def predict_start(fits: WarmStart, data: TrainingData) -> Array | None:
    """Latents (C, n) of all points where a fit starts, from fits to some of them; None if they predict nothing."""
    model, rows = _mean_model(fits), fits.rung.rows
    if model is None or rows is None:
        return None
    others = np.setdiff1d(np.arange(len(data.weights)), rows)
    latent = np.empty((model.n_classes, len(data.weights)))
    latent[:, rows] = fits.state.mean(axis=0)
    latent[:, others] = model.latents(data.points[others]).T
    return data.likelihood.correct_predictions(latent, data.targets)


def _mean_model(fits: WarmStart) -> FittedModel | None:
    """The mean of the fits of an evaluation; None if the dual does not determine it."""
    if fits.dual is None or not np.isfinite(fits.specification.bias_variance):
        return None
    specification = replace(fits.specification, temperature=Temperature())
    return FittedModel(specification, fits.rung.points.in_double, fits.dual)


def _check(log: SearchLog, rung: SearchData, found: Specification, seed: int, size: Size) -> SpotCheck | None:
    """Refits that check the criterion; an interruption skips them if it keeps the search."""
    try:
        return check_search(rung, found, seed, size)
    except KeyboardInterrupt:
        if not log.keep_interrupted:
            raise
        log.stopped = INTERRUPTED
        return None


def _draw_rung(
    plan: SearchPlan, number: int, data: TrainingData, alternative: Alternative, specification: Specification
) -> Rung:
    """A rung with its points; neighbourhoods are cut in the metric of a specification."""
    planned = plan.rungs[number]
    if isinstance(planned.subset, Subset):
        return planned
    points = alternative.points(data.points)
    weights = mean_metric(specification.kernels, points.shape[1])
    return draw_rung(planned, planned.subset, points, weights, data, plan.cv, plan.seed + number)


def _first_model(plan: SearchPlan, alternative: Alternative, data: TrainingData) -> FirstModel:
    start = alternative.start.scaled(plan.unit)

    def rung(number: int, specification: Specification) -> SearchData:
        drawn = _draw_rung(plan, number, data, alternative, specification)
        return search_data(plan, drawn, data, alternative)

    return FirstModel(alternative.name, start, rung, partial(carry_over, start))


def _criterion(plan: SearchPlan, rung: Rung, data: TrainingData) -> Criterion:
    """The criterion on a subset, or the mean over neighbourhoods."""
    parts = tuple(_criterion_at(plan, rung, data, part) for part in rung.drawn.parts)
    return parts[0] if len(parts) == 1 else SeveralNeighbourhoods(parts, rung.drawn.edges)


def _criterion_at(plan: SearchPlan, rung: Rung, data: TrainingData, part: slice) -> Criterion:
    rows, folds = rung.drawn.rows[part], rung.folds
    given = CriterionData(
        data.likelihood,
        np.ascontiguousarray(data.targets[:, rows]),
        data.weights[rows],
        folds if folds is None or rung.drawn.n_cells == 1 else folds.at(part),
        None if rung.groups is None else rung.groups[part],
        inner_solver(rung.is_exact, rung.conditioning, plan.seed),
        plan.sharpen,
    )
    return plan.criterion.make(given)


def search_data(plan: SearchPlan, rung: Rung, data: TrainingData, alternative: Alternative) -> SearchData:
    """The points of a rung with the criterion on them."""
    subset = rung.drawn
    own = alternative.points(data.points[subset.rows])
    points = rung.operator.points(own, keep_distances=True, layout=subset.layout)
    unseen = None
    if len(subset.unseen):
        solver = inner_solver(False, rung.conditioning, plan.seed, plan.effort.judging_tolerance)
        unseen = UnseenRows(points, alternative.points(data.points[subset.unseen]), data, subset, solver)

    def predict(fits: WarmStart) -> Array | None:
        model = _mean_model(fits)
        if model is None:
            return None
        return data.likelihood.correct_predictions(model.latents(points.in_double).T, data.targets[:, subset.rows])

    def without_parts() -> Iterator[SearchData]:
        labels = np.zeros(len(data.weights), dtype=np.intp) if data.labels is None else data.labels
        for outer in outer_rungs(rung, labels, plan.seed):
            yield search_data(plan, outer, data, alternative)

    criterion = _criterion(plan, rung, data)
    return SearchData(criterion, points, len(subset.rows), unseen, subset.rows, predict, without_parts)


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """Rows outside a rung, on which models that were learned on the rung are judged."""

    points: PointSet  # of the rung
    new_points: Any
    data: TrainingData
    subset: Subset
    solver: Solver

    @property
    def weights(self) -> Array:
        return self.data.weights[self.subset.unseen]

    def losses(self, specification: Specification, near: Array | None) -> Array | None:
        """Losses of the model fitted to all rows of the rung, (m,); None if the fit fails."""
        data, rows = self.data, self.subset.rows
        targets, weights = np.ascontiguousarray(data.targets[:, rows]), data.weights[None, rows]
        problem = Problem(specification.bind(self.points), data.likelihood, targets, weights)
        start = data.likelihood.correct_predictions(np.zeros_like(targets) if near is None else near, targets)
        result = self.solver.fit(problem, None if start is None else start[None])
        if not result.outcome.converged:
            return None
        model = FittedModel(specification, self.points.in_double, result.dual[0])
        latent = model.latents(self.new_points).T[None]
        return data.likelihood.losses(latent, data.targets[:, self.subset.unseen])[0]
