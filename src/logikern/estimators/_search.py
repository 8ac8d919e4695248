"""Learning hyperparameters by a plan: from criteria on subsets of the points to a specification."""

import time
from dataclasses import dataclass, replace

import numpy as np

from logikern.criteria.base import CriterionData
from logikern.criteria.leave_one_out.spot_check import SpotCheck
from logikern.estimators._checkpoint import open_journal
from logikern.estimators._fitted.doubts import check_search
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._memory import size_of
from logikern.estimators._names.solvers import inner_solver
from logikern.estimators._search_plan import Rung, SearchPlan
from logikern.fitting.footprint import Size
from logikern.selection.growth import Verdict, learn
from logikern.selection.search import INTERRUPTED, Callback, Record, SearchData, SearchLog
from logikern.structure.specification import Specification


@dataclass(frozen=True, eq=False)
class Tuned:
    """The result of a search."""

    specification: Specification
    value: float
    verdicts: tuple[Verdict, ...]
    records: tuple[Record, ...]
    stopped: str  # why it ended early; empty if it did not
    method: str  # the criterion in words
    check: SpotCheck | None = None  # of leave-one-out in closed form by refits

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.stopped.startswith(INTERRUPTED)


def search(plan: SearchPlan, start: Specification, data: TrainingData, callback: Callback) -> Tuned:
    """Learn the hyperparameters of a model; they stay at a start that cannot be fitted."""
    deadline = np.inf if plan.max_time is None else time.monotonic() + plan.max_time
    data = replace(data, weights=data.weights / plan.unit)
    rungs = [_search_data(plan, rung, data) for rung in plan.rungs]
    partitions = [(rung.n_points, rung.criterion.partition) for rung in rungs]
    with open_journal(plan.checkpoint, plan.identity, plan.seed, partitions) as journal:
        log = SearchLog(journal, callback, deadline, keep_interrupted=plan.keep_interrupted)
        random = np.random.default_rng(plan.seed)
        learned = learn(start.scaled(plan.unit), plan.growth, rungs, plan.effort, log, random)
    if learned is None:
        reason = log.stopped or "no start could be fitted"
        return Tuned(start, np.nan, (), tuple(log.records), f"{reason} before anything was found", "")
    method = f"{plan.criterion.title} ({log.method})" if log.method else plan.criterion.title
    size = size_of(data, learned.specification.tying, rungs[-1].n_points)
    check = None if log.stopped else _check(log, rungs[-1], learned.specification, plan.seed, size)
    specification, records = learned.specification.scaled(1.0 / plan.unit), tuple(log.records)
    return Tuned(specification, learned.value, learned.verdicts, records, log.stopped, method, check)


def _check(log: SearchLog, rung: SearchData, found: Specification, seed: int, size: Size) -> SpotCheck | None:
    """Refits that check the criterion; an interruption skips them if it keeps the search."""
    try:
        return check_search(rung, found, seed, size)
    except KeyboardInterrupt:
        if not log.keep_interrupted:
            raise
        log.stopped = INTERRUPTED
        return None


def _search_data(plan: SearchPlan, rung: Rung, data: TrainingData) -> SearchData:
    """The points of a rung with the criterion on them."""
    given = CriterionData(
        data.likelihood,
        np.ascontiguousarray(data.targets[:, rung.rows]),
        data.weights[rung.rows],
        rung.folds,
        rung.groups,
        inner_solver(rung.is_exact, rung.conditioning, plan.seed),
        plan.sharpen,
    )
    points = rung.operator.points(data.points[rung.rows], keep_distances=True)
    return SearchData(plan.criterion.make(given), points, len(rung.rows))
