"""Which solver makes the final fit, with which products and in which precision."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.estimators import _memory
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._memory import Resources
from logikern.estimators._parameters import Parameters
from logikern.fitting.footprint import MODEL, functions
from logikern.fitting.functional_cg import KernelGradient
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.free_bias import FreeBias
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.pairwise import policy as pairwise
from logikern.fitting.pairwise.solver import Smo
from logikern.fitting.preconditioning.adaptive import LowRankConditioning
from logikern.likelihoods.base import Likelihood
from logikern.likelihoods.softmax import Softmax
from logikern.operators.choose import Choice, choose
from logikern.structure.specification import Specification
from logikern.structure.tying import tie


@dataclass(frozen=True)
class SolverPolicy:
    """Which solver "auto" takes, and in which precision it keeps coefficients.

    Parameters
    ----------
    exact_up_to : int, default=100
        Points up to which dense factors are cheaper than the bookkeeping of conjugate gradients.
    exact_up_to_where_quadratic : int, default=1500
        The same for the squared loss, which needs one factorisation.
    pairs_from : int, default=200_000
        Classes times points from which pairwise training of one kernel is faster than Newton's method (letter in
        benchmarks/solvers.py), also with a hierarchy (imclef07a in benchmarks/hierarchy_cost.py).
    state_share : float, default=0.5
        Share of the memory that coefficients and latents may take in double precision.
    finest_single : float, default=1e-5
        Smallest tolerance for coefficients in single precision.
    exact_tolerance, free_bias_tolerance, search_tolerance : float, default=1e-10, 1e-8, 1e-2
        Of dense factors, of fits without a penalty on constants, and of inner fits before a search sets its own.
    gradient_steps, sweeps : int, default=100, 20
        Steps of conjugate gradients, and sweeps of pairwise training, for each step that `max_iter` allows.
    conditioning_share, rows_share : float, default=0.15, 0.3
        Shares of the room for kernel values that the preconditioner and kept kernel rows may take.
    """

    exact_up_to: int = 100
    exact_up_to_where_quadratic: int = 1500
    pairs_from: int = 200_000
    state_share: float = 0.5
    finest_single: float = 1e-5
    exact_tolerance: float = 1e-10
    free_bias_tolerance: float = 1e-8
    search_tolerance: float = 1e-2
    gradient_steps: int = 100
    sweeps: int = 20
    conditioning_share: float = 0.15
    rows_share: float = 0.3


USUAL = SolverPolicy()
logger = logging.getLogger("logikern")


@dataclass(frozen=True, eq=False)
class SolverPlan:
    """How the final fit is solved.

    Parameters
    ----------
    name : {"newton", "exact", "kcg", "smo", "free bias"}
    operator : Choice
        How products are computed, in which precision, and with how much memory.
    state : dtype
        Of coefficients and latents.
    tolerance : float
    max_steps : int
    seed : int
    fallback : SolverPlan or None, default=None
        Continues where this solver stops before it converges.
    """

    name: str
    operator: Choice
    state: np.dtype
    tolerance: float
    max_steps: int
    seed: int
    fallback: "SolverPlan | None" = None

    def build(self) -> Any:
        """The solver itself."""
        return _BUILDERS[self.name](self)

    def __str__(self) -> str:
        then = "" if self.fallback is None else f", {self.fallback.name} if that stops early"
        return (
            f"{self.name}{then}, tolerance {self.tolerance:g}, at most {self.max_steps} steps, coefficients in "
            f"{self.state.name}, products in {self.operator.dtype.name}. {self.operator.reason}"
        )


def solver_name(parameters: Parameters, data: TrainingData, n_points: int) -> str:
    """The solver for so many points, before pairwise training is considered."""
    if parameters.is_bias_free:
        return "exact"
    if parameters.solver != "auto":
        return parameters.solver
    likelihood: Likelihood = data.likelihood
    # Labels that are completed in every step take many steps; digits beyond the tolerance would cost most of them.
    quadratic = likelihood.is_quadratic
    largest = USUAL.exact_up_to_where_quadratic if quadratic else USUAL.exact_up_to
    is_coupled = data.tree is not None  # one matrix for all classes together
    few = n_points <= largest and likelihood.majoriser is likelihood and not is_coupled
    return "exact" if few else "newton"


def _pays_by_pairs(parameters: Parameters, data: TrainingData, model: Specification) -> bool:
    """Whether pairwise training is faster than Newton's method for the final fit."""
    n_classes = len(data.classes)
    allowed = parameters.solver == "auto" and parameters.operator == "auto" and isinstance(data.likelihood, Softmax)
    if not allowed or len(model.kernels) > 1 or n_classes**2 > pairwise.POLICY.most_couplings:
        return False
    has_features = model.kernels[0].features(data.points[:1]) is not None
    return n_classes * len(data.weights) >= USUAL.pairs_from and not has_features


def plan_solver(
    parameters: Parameters, data: TrainingData, model: Specification, resources: Resources, seed: int
) -> SolverPlan:
    name = solver_name(parameters, data, len(data.weights))
    if name == "newton" and _pays_by_pairs(parameters, data, model):
        name = "smo"
    state = state_dtype(parameters, data, resources)
    operator = _plan_operator(parameters, data, model, resources, name, state)
    fallback = None
    if name == "smo" and parameters.solver == "auto":
        fallback = plan_solver(replace(parameters, solver="newton"), data, model, resources, seed)
    own = "free bias" if parameters.is_bias_free else name
    return SolverPlan(own, operator, state, float(parameters.tol), int(parameters.max_iter), seed, fallback)


def _plan_operator(
    parameters: Parameters,
    data: TrainingData,
    model: Specification,
    resources: Resources,
    solver: str,
    state: np.dtype,
) -> Choice:
    # Factors of few points gain no time from single precision, and conjugate gradients would need twice the steps.
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
        return replace(found, reason="Rows of the kernel matrix are computed as pairwise training needs them.")
    if found.name == "tiled" and parameters.operator == "auto":
        logger.info(found.reason)
    return found


def state_dtype(parameters: Parameters, data: TrainingData, resources: Resources) -> np.dtype:
    """Single precision on request, or if many classes of many rows would not fit in memory."""
    if data.labels is None:
        return np.dtype(np.float64)  # numbers have few outputs
    in_double = functions(_memory.size_of(data, tie("shared", data.mixing)), MODEL.newton_arrays)
    is_large = in_double > USUAL.state_share * resources.memory
    single = parameters.state_precision == "single" or (
        parameters.state_precision == "auto" and is_large and parameters.tol >= USUAL.finest_single
    )
    return np.dtype(np.float32 if single else np.float64)


def refitting_solver(bias_variance: float, tolerance: float, memory: float, seed: int) -> Any:
    """The solver for many fits to nearly the same rows, with a preconditioner of this many bytes."""
    if np.isinf(bias_variance):
        return FreeBias(tolerance)
    return Newton(tolerance, conditioning=LowRankConditioning(memory=memory, seed=seed), seed=seed)


def inner_solver(is_exact: bool, memory: float, seed: int) -> Any:
    """The solver of a criterion's fits; Newton's tolerance is set by the search."""
    if is_exact:
        return Exact(USUAL.exact_tolerance)
    # The criterion checks latents itself, at a sample of the points.
    conditioning = LowRankConditioning(memory=memory, seed=seed)
    return Newton(USUAL.search_tolerance, conditioning=conditioning, verifies=False, seed=seed)


def _newton(plan: SolverPlan) -> Newton:
    conditioning = LowRankConditioning(memory=USUAL.conditioning_share * plan.operator.memory, seed=plan.seed)
    return Newton(plan.tolerance, Budget(newton=plan.max_steps), conditioning, seed=plan.seed)


def _exact(plan: SolverPlan) -> Exact:
    # Newton converges quadratically: the digits beyond the tolerance cost one more step.
    return Exact(min(plan.tolerance, USUAL.exact_tolerance), Budget(newton=plan.max_steps))


def _free_bias(plan: SolverPlan) -> FreeBias:
    return FreeBias(min(plan.tolerance, USUAL.free_bias_tolerance), Budget(newton=plan.max_steps))


def _kernel_gradient(plan: SolverPlan) -> KernelGradient:
    steps = USUAL.gradient_steps * plan.max_steps
    return KernelGradient(plan.tolerance, Budget(newton=steps, products=2 * steps))


def _smo(plan: SolverPlan) -> Smo:
    sweeps = USUAL.sweeps * plan.max_steps
    memory = USUAL.rows_share * plan.operator.memory
    return Smo(plan.tolerance, budget=Budget(newton=sweeps, products=2 * sweeps), memory=memory, seed=plan.seed)


_BUILDERS: dict[str, Callable[[SolverPlan], Any]] = {
    "newton": _newton,
    "exact": _exact,
    "free bias": _free_bias,
    "kcg": _kernel_gradient,
    "smo": _smo,
}
