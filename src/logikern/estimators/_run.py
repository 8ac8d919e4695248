"""One fit by its plan: search, final fit, and a report of both."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.estimators._failures import refuse_failure
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._plan import FitPlan
from logikern.estimators._search import Tuned, search
from logikern.estimators._solver_plan import SolverPlan
from logikern.fitting.problem import FitResult, InterruptedFitError, Problem
from logikern.kernels import KernelRows, reference_points
from logikern.numerics.outcome import Array, NewtonStep, Outcome
from logikern.numerics.parallel import own_threads
from logikern.selection.search import Callback
from logikern.structure.covariance import ClassCovariance
from logikern.structure.specification import Specification


@dataclass(frozen=True, eq=False)
class FitReport:
    """The result of a fit."""

    plan: FitPlan
    data: TrainingData  # with inputs of the scale that was chosen
    start: Specification  # hyperparameters of the final model before the search
    tuned: Tuned | None  # the search; None for fixed hyperparameters
    specification: Specification  # the final model
    result: FitResult
    covariance: ClassCovariance  # of the final fit
    operator: str  # how products were computed, and why

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search or the final fit."""
        return self.result.outcome is Outcome.INTERRUPTED or (self.tuned is not None and self.tuned.interrupted)


def run(
    plan: FitPlan, data: TrainingData, on_evaluation: Callback, on_step: Callable[[NewtonStep], None]
) -> FitReport:
    """Search if the plan has a search, then fit all points."""
    tuned = None if plan.search is None else search(plan.search, plan.alternatives, data, on_evaluation)
    chosen = plan.alternatives[0] if tuned is None else tuned.alternative
    specification = chosen.start if tuned is None else tuned.specification
    data = chosen.view(data)
    result, covariance, operator = solve(
        plan.solver_for(specification), specification, data, on_step, keep_interrupted=_keeps_interrupted(plan, tuned)
    )
    return FitReport(plan, data, chosen.start, tuned, specification, result, covariance, operator)


def _keeps_interrupted(plan: FitPlan, tuned: Tuned | None) -> bool:
    """Whether the first Ctrl-C in the final fit keeps the current fit: if a search would be lost otherwise."""
    if plan.search is None or tuned is None:
        return False
    return plan.search.keep_interrupted and bool(tuned.verdicts) and not tuned.interrupted


def solve(
    plan: SolverPlan,
    specification: Specification,
    data: TrainingData,
    callback: Callable[[NewtonStep], None],
    dual: Array | None = None,
    keep_interrupted: bool = False,
) -> tuple[FitResult, ClassCovariance, str]:
    """Fit all points, from a dual (C, n) if given; returns the fit, its covariance, and how products were computed.

    An interrupted fit raises, unless it should be kept and has taken a step.
    """
    covariance = specification.bind(plan.operator.points(data.points, len(specification.kernels) > 1))
    targets, weights = data.targets.astype(plan.state, copy=False), data.weights[None].astype(plan.state, copy=False)
    problem, method = Problem(covariance, data.likelihood, targets, weights), plan.build()
    try:
        result = (
            method.fit(problem, callback=callback) if dual is None else method.resume(problem, dual[None], callback)
        )
    except InterruptedFitError as interruption:
        if not keep_interrupted or not interruption.result.trace or not interruption.result.dual.any():
            raise
        result = interruption.result
    ended = result.outcome.converged or result.outcome is Outcome.INTERRUPTED
    if plan.fallback is not None and not ended:
        onward = result.dual[0] if np.isfinite(result.dual).all() else dual
        further, covariance, operator = solve(plan.fallback, specification, data, callback, onward, keep_interrupted)
        return further.after(result), covariance, operator
    refuse_failure(result, specification.kernels[0], data.points)
    return result, covariance, plan.operator.reason


def threads(n_jobs: int | None) -> contextlib.AbstractContextManager[None]:
    """A context with at most this many threads; None and -1 mean the number that the BLAS may use."""
    return own_threads(None if n_jobs == -1 else n_jobs)


def stored_points(data: TrainingData) -> Any:
    """The training points for prediction; only their places if a kernel matrix was given."""
    return reference_points(data.kept) if isinstance(data.points, KernelRows) else data.points
