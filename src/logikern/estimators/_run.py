"""A fit according to its plan: search, final fit, and a report of both."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.estimators._cells.check import check_cells
from logikern.estimators._cells.fit import CellFitter, CellRecipe, FitCells, fit_here
from logikern.estimators._failures import refuse_failure
from logikern.estimators._inputs.alternatives import Alternative
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._plan import FitPlan
from logikern.estimators._search import Tuned, predict_start, search
from logikern.estimators._solver_plan import SolverPlan
from logikern.fitting.newton.free_bias import free_constants
from logikern.fitting.newton.method import NewtonSolver
from logikern.fitting.problem import FitResult, InterruptedFitError, Problem
from logikern.kernels import KernelRows, reference_points
from logikern.model.fitted import FittedModel
from logikern.model.neighbourhoods import Approximation, LocalModels, NeighbourhoodModel
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
    covariance: ClassCovariance | None  # of the final fit; None if it was divided into neighbourhoods
    operator: str  # how products were computed, and why
    members: tuple[LocalModels, ...] = ()  # fits of partitions into neighbourhoods, if it was divided
    approximation: Approximation | None = None  # measured quality of the division

    def model(self, points: Any, constants: Array | None) -> FittedModel | NeighbourhoodModel:
        """The fitted model on the stored points, with constants if they are unpenalised."""
        if self.members:
            return NeighbourhoodModel(self.specification, points, self.members)
        return FittedModel(self.specification, points, self.result.dual[0], constants)

    @property
    def n_partitions(self) -> int:
        """Planned number of partitions into neighbourhoods; 0 if the fit was not divided."""
        cells = self.plan.solver_for(self.specification).cells
        return 0 if cells is None else cells.n_partitions

    def free_constants(self) -> Array:
        """Constants (C,) of a fit without a penalty on them."""
        assert self.covariance is not None
        return free_constants(self.covariance, self.result)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search or the final fit."""
        return self.result.outcome is Outcome.INTERRUPTED or (self.tuned is not None and self.tuned.interrupted)


def run(
    plan: FitPlan,
    data: TrainingData,
    on_evaluation: Callback,
    on_step: Callable[[NewtonStep], None],
    fit_cells: FitCells = fit_here,
) -> FitReport:
    """Search if the plan has a search, then fit all points; `fit_cells` fits neighbourhoods."""
    tuned = None if plan.search is None else search(plan.search, plan.alternatives, data, on_evaluation)
    return finish(plan, data, tuned, on_step, fit_cells)


def finish(
    plan: FitPlan,
    data: TrainingData,
    tuned: Tuned | None,
    on_step: Callable[[NewtonStep], None],
    fit_cells: FitCells = fit_here,
) -> FitReport:
    """Fit all points with hyperparameters from a search or from the plan."""
    chosen = plan.alternatives[0] if tuned is None else tuned.alternative
    specification = chosen.start if tuned is None else tuned.specification
    data = replace(chosen.view(data), mixing=specification.mixing)
    solver, approximation, is_kept = plan.solver_for(specification), None, _keeps_interrupted(plan, tuned)
    if solver.cells is not None:
        approximation, is_kept = _check(solver, specification, data, is_kept)
        if solver.otherwise is not None and solver.cells.is_too_small(approximation):
            solver = solver.otherwise.because(f"Neighbourhoods of {solver.cells.size} rows are too small.")
    if solver.cells is not None:
        fitter = replace(_fitter(solver, specification, data), fit_cells=fit_cells)
        found = _run_cells(plan, solver, chosen, tuned, fitter, on_step, is_kept)
        return replace(found, approximation=approximation)
    start = None if tuned is None or tuned.fits is None else predict_start(tuned.fits, data)
    result, covariance, operator = solve(solver, specification, data, on_step, None, is_kept, start)
    report = FitReport(plan, data, chosen.start, tuned, specification, result, covariance, operator)
    return replace(report, approximation=approximation)


def _run_cells(
    plan: FitPlan,
    solver: SolverPlan,
    chosen: Alternative,
    tuned: Tuned | None,
    fitter: CellFitter,
    on_step: Callable[[NewtonStep], None],
    is_kept: bool,
) -> FitReport:
    """Fit several partitions into neighbourhoods; complete partitions may be kept if the fit is interrupted."""
    specification, data = fitter.recipe.specification, fitter.data
    members: list[LocalModels] = []
    results: list[FitResult] = []
    try:
        # All fits start before the first result is awaited, so that a cluster is never idle between them.
        begun = [fitter.begin(solver.seed + number, on_step) for number in range(fitter.plan.n_partitions)]
        for finish in begun:
            member, result = finish()
            members.append(member)
            results.append(result)
    except KeyboardInterrupt:
        if not members or not is_kept:
            raise
        results[-1] = replace(results[-1], outcomes=(Outcome.INTERRUPTED,))
    worst = next((own for own in results if not own.outcome.converged), results[-1])
    refuse_failure(worst, specification.kernels[0], data.points)
    how = solver.operator.reason
    return FitReport(plan, data, chosen.start, tuned, specification, worst, None, how, tuple(members))


def _fitter(solver: SolverPlan, specification: Specification, data: TrainingData) -> CellFitter:
    assert solver.cells is not None
    recipe = CellRecipe(solver.operator, solver.build, solver.state, specification, data.likelihood)
    return CellFitter(solver.cells, recipe, data)


def _check(
    solver: SolverPlan, specification: Specification, data: TrainingData, is_kept: bool
) -> tuple[Approximation | None, bool]:
    """Compare neighbourhoods with larger ones; also returns whether the next interruption keeps the fit.

    The first interruption skips the comparison if it would keep a fit.
    """
    try:
        return check_cells(_fitter(solver, specification, data), solver.seed), is_kept
    except KeyboardInterrupt:
        if not is_kept:
            raise
        return None, False


def _keeps_interrupted(plan: FitPlan, tuned: Tuned | None) -> bool:
    """Whether the first Ctrl-C in the final fit keeps the current fit, so that the search is not lost."""
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
    latent: Array | None = None,
) -> tuple[FitResult, ClassCovariance, str]:
    """Fit all points, from a dual or latents (C, n) if given; returns the fit, its covariance, and how products were
    computed. Only Newton's method starts from latents.

    An interrupted fit raises an error, unless `keep_interrupted` is True and the fit has taken a step.
    """
    covariance = specification.bind(plan.operator.points(data.points, len(specification.kernels) > 1))
    targets, weights = data.targets.astype(plan.state, copy=False), data.weights[None].astype(plan.state, copy=False)
    problem, method = Problem(covariance, data.likelihood, targets, weights), plan.build()
    try:
        if dual is not None:
            result = method.resume(problem, dual[None], callback)
        else:
            is_usable = isinstance(method, NewtonSolver)
            start = None if latent is None or not is_usable else latent[None].astype(plan.state)
            result = method.fit(problem, start, callback)
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


@contextlib.contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """A context with at most this many threads; None and -1 mean the number that the BLAS may use.

    An `InterruptedFitError` leaves the context as a plain KeyboardInterrupt: with a subclass, Python would exit with
    status 1, and a shell loop would continue.
    """
    with own_threads(None if n_jobs == -1 else n_jobs):
        try:
            yield
        except InterruptedFitError:
            raise KeyboardInterrupt from None


def stored_points(data: TrainingData) -> Any:
    """The training points for prediction; only their positions if a kernel matrix was given."""
    return reference_points(data.kept) if isinstance(data.points, KernelRows) else data.points
