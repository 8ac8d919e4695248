"""Which solver computes the final fit, with which products and in which precision."""

import contextlib
import logging
from dataclasses import dataclass, replace

import numpy as np

from logikern.estimators import _memory
from logikern.estimators._cells import plan as cells_policy
from logikern.estimators._cells.plan import FinalCells, plan_cells
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._memory import Resources
from logikern.estimators._names.solvers import SOLVERS, Demand
from logikern.estimators._parameters import Parameters
from logikern.fitting.footprint import MODEL, functions
from logikern.fitting.pairwise import policy as pairwise
from logikern.fitting.problem import Solver
from logikern.likelihoods.base import Likelihood
from logikern.likelihoods.softmax import Softmax
from logikern.operators.choose import Choice, choose
from logikern.structure.specification import Specification
from logikern.structure.tying import tie


@dataclass(frozen=True)
class SolverPolicy:
    """Which solver "auto" chooses, and the precision of its coefficients."""

    # Largest number of points for which dense factors are cheaper than the overhead of conjugate gradients.
    exact_up_to: int = 100
    exact_up_to_where_quadratic: int = 1500  # the same for the squared loss, which needs one factorisation
    # Classes times points from which pairwise coordinate ascent of one kernel is faster than Newton's method (letter
    # in benchmarks/solvers.py), also with a hierarchy (imclef07a in benchmarks/hierarchy_cost.py).
    pairs_from: int = 200_000
    state_share: float = 0.5  # share of the memory that coefficients and latents may take in double precision
    finest_single: float = 1e-5  # smallest tolerance for coefficients in single precision


USUAL = SolverPolicy()
logger = logging.getLogger("logikern")


@dataclass(frozen=True, eq=False)
class SolverPlan:
    """How the final fit is solved."""

    name: str  # one of `SOLVERS`, or the class of the user's solver
    operator: Choice  # how products are computed, in which precision, and with how much memory
    state: np.dtype  # of coefficients and latents
    tolerance: float
    max_steps: int
    seed: int
    fallback: "SolverPlan | None" = None  # continues if this solver stops before it converges
    own: Solver | None = None  # the user's solver
    cells: FinalCells | None = None  # neighbourhoods that are fitted one by one; None for one exact fit
    otherwise: "SolverPlan | None" = None  # used if neighbourhoods turn out to be too small

    def because(self, reason: str) -> "SolverPlan":
        """The same plan, with a sentence that says why it was chosen."""
        return replace(self, operator=replace(self.operator, reason=f"{reason} {self.operator.reason}"))

    def build(self) -> Solver:
        """Construct the solver of this plan."""
        if self.own is not None:
            return self.own
        return SOLVERS[self.name].make(Demand(self.tolerance, self.max_steps, self.operator.memory, self.seed))

    def __str__(self) -> str:
        then = "" if self.fallback is None else f" (continued by {self.fallback.name} if it stops early)"
        if self.otherwise is not None:
            cells = self.otherwise.cells
            how = f"{self.otherwise.name} on all rows" if cells is None else f"neighbourhoods of {cells.size} rows"
            then += f" (or {how} if larger neighbourhoods are much better)"
        return (
            f"{self.name}{then}, tolerance {self.tolerance:g}, at most {self.max_steps} steps, coefficients in "
            f"{self.state.name}, products in {self.operator.dtype.name}. {self.operator.reason}"
        )


def solver_name(parameters: Parameters, data: TrainingData, n_points: int) -> str:
    """The solver for `n_points` points, before pairwise coordinate ascent is considered.

    The user's own solver counts as Newton's method: it gets products, and is not used for inner fits.
    """
    if parameters.is_bias_free:
        return "exact"
    if isinstance(parameters.solver, Solver):
        return "newton"
    if parameters.solver != "auto":
        return parameters.solver
    likelihood: Likelihood = data.likelihood
    # Coarse labels are completed in every step, so fits take many steps, and digits beyond the tolerance are costly.
    quadratic = likelihood.is_quadratic
    largest = USUAL.exact_up_to_where_quadratic if quadratic else USUAL.exact_up_to
    # Coupled classes would need one matrix for all classes together.
    few = n_points <= largest and likelihood.majoriser is likelihood and not data.mixing.is_coupled
    return "exact" if few else "newton"


def _pays_by_pairs(parameters: Parameters, data: TrainingData, model: Specification) -> bool:
    """Whether pairwise coordinate ascent is faster than Newton's method for the final fit."""
    n_classes = len(data.classes)
    allowed = parameters.solver == "auto" and parameters.operator == "auto" and isinstance(data.likelihood, Softmax)
    if not allowed or len(model.kernels) > 1 or n_classes**2 > pairwise.POLICY.most_couplings:
        return False
    has_features = model.kernels[0].features(data.points[:1]) is not None
    return n_classes * len(data.weights) >= USUAL.pairs_from and not has_features


def plan_solver(
    parameters: Parameters, data: TrainingData, model: Specification, resources: Resources, seed: int
) -> SolverPlan:
    cells = plan_cells(parameters, data, model, resources)
    if cells is None:
        return _plan_whole(parameters, data, model, resources, seed)
    found = _plan_cellwise(parameters, data, model, resources, seed, cells)
    if cells.larger is not None:
        return replace(found, otherwise=_plan_cellwise(parameters, data, model, resources, seed, cells.larger))
    if parameters.divides or len(data.weights) > cells_policy.USUAL.undivided_up_to:
        return found
    with contextlib.suppress(ValueError):  # the memory suffices for neighbourhoods only
        return replace(found, otherwise=_plan_whole(parameters, data, model, resources, seed))
    return found


def _plan_whole(
    parameters: Parameters, data: TrainingData, model: Specification, resources: Resources, seed: int
) -> SolverPlan:
    """One fit of all points."""
    name = solver_name(parameters, data, len(data.weights))
    if name == "newton" and _pays_by_pairs(parameters, data, model):
        name = "smo"
    state = state_dtype(parameters, data, resources)
    operator = _plan_operator(parameters, data, model, resources, name, state)
    fallback = None
    if name == "smo" and parameters.solver == "auto":
        fallback = _plan_whole(replace(parameters, solver="newton"), data, model, resources, seed)
    own = parameters.solver if isinstance(parameters.solver, Solver) else None
    title = "free bias" if parameters.is_bias_free else name if own is None else type(own).__name__
    return SolverPlan(title, operator, state, float(parameters.tol), int(parameters.max_iter), seed, fallback, own)


def _plan_cellwise(
    parameters: Parameters,
    data: TrainingData,
    model: Specification,
    resources: Resources,
    seed: int,
    cells: FinalCells,
) -> SolverPlan:
    """Each neighbourhood has its matrices in memory while it is fitted."""
    n_matrices = _memory.fit_matrices(model.kernels[0], data, len(model.kernels))
    found = choose(model.kernels, data.points[: cells.size], "dense", parameters.precision, cells.memory, n_matrices)
    reason = f"{len(data.weights)} rows are divided into {cells}."
    state = state_dtype(parameters, data, resources)
    steps = int(parameters.max_iter)
    return SolverPlan("newton", replace(found, reason=reason), state, float(parameters.tol), steps, seed, cells=cells)


def _plan_operator(
    parameters: Parameters,
    data: TrainingData,
    model: Specification,
    resources: Resources,
    solver: str,
    state: np.dtype,
) -> Choice:
    # Single precision does not speed up small factors, and conjugate gradients would need twice the steps.
    double = solver == "exact" or (solver == "kcg" and parameters.precision == "auto")
    by_rows = solver == "smo" and parameters.operator == "auto"
    size = _memory.size_of(data, model.tying, itemsize=state.itemsize)
    found = choose(
        model.kernels,
        data.points,
        "dense" if parameters.is_bias_free else "tiled" if by_rows else parameters.operator,
        "double" if double else parameters.precision,
        _memory.room_for_fit(parameters, data, resources, solver, size, model.kernels[0]),
        _memory.fit_matrices(model.kernels[0], data, len(model.kernels)),
    )
    if by_rows:
        reason = "Rows of the kernel matrix are computed when pairwise coordinate ascent needs them."
        return replace(found, reason=reason)
    if found.name == "tiled" and parameters.operator == "auto":
        logger.info(found.reason)
    return found


def state_dtype(parameters: Parameters, data: TrainingData, resources: Resources) -> np.dtype:
    """Single precision on request, or if many classes of many rows would not fit in memory."""
    # Regressions have few outputs; with free constants, coefficients are small compared with the dense factors.
    if data.labels is None or parameters.is_bias_free:
        return np.dtype(np.float64)
    in_double = functions(_memory.size_of(data, tie("shared", data.mixing)), MODEL.newton_arrays)
    is_large = in_double > USUAL.state_share * resources.memory
    single = parameters.state_precision == "single" or (
        parameters.state_precision == "auto" and is_large and parameters.tol >= USUAL.finest_single
    )
    return np.dtype(np.float32 if single else np.float64)
