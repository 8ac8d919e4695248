"""Solvers by name, with the memory that each needs, and the solvers used for inner fits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.fitting import footprint
from logikern.fitting.footprint import Size
from logikern.fitting.functional_cg import KernelGradient
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.free_bias import FreeBias
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.newton.method import NewtonSolver
from logikern.fitting.pairwise.solver import Smo
from logikern.fitting.preconditioning.adaptive import LowRankConditioning
from logikern.fitting.problem import Solver


@dataclass(frozen=True)
class SolverSettings:
    """Settings of solvers that are not parameters of an estimator."""

    # Tolerances with dense factors, for fits without a penalty on constants, and of inner fits before a search sets
    # its own.
    exact_tolerance: float = 1e-10
    free_bias_tolerance: float = 1e-8
    search_tolerance: float = 0.1
    # Steps of conjugate gradients, and sweeps of pairwise coordinate ascent, for each step that `max_iter` allows.
    gradient_steps: int = 100
    sweeps: int = 20
    # Shares of the memory for kernel values that the preconditioner and cached kernel rows may take.
    conditioning_share: float = 0.15
    rows_share: float = 0.3


USUAL = SolverSettings()


class Demand(NamedTuple):
    """The requirements of a final fit; `memory` is the memory for kernel values in bytes."""

    tolerance: float
    max_steps: int
    memory: float
    seed: int


class SolverKind(NamedTuple):
    """How a solver is made, and the bytes that it needs besides kernel values."""

    make: Callable[[Demand], Solver]
    footprint: Callable[[Size], float]


def _newton(demand: Demand) -> Newton:
    conditioning = LowRankConditioning(memory=USUAL.conditioning_share * demand.memory, seed=demand.seed)
    return Newton(demand.tolerance, Budget(newton=demand.max_steps), conditioning, seed=demand.seed)


def _exact(demand: Demand) -> Exact:
    # Newton converges quadratically: the digits beyond the tolerance cost one more step.
    return Exact(min(demand.tolerance, USUAL.exact_tolerance), Budget(newton=demand.max_steps))


def _free_bias(demand: Demand) -> FreeBias:
    return FreeBias(min(demand.tolerance, USUAL.free_bias_tolerance), Budget(newton=demand.max_steps))


def _kernel_gradient(demand: Demand) -> KernelGradient:
    steps = USUAL.gradient_steps * demand.max_steps
    return KernelGradient(demand.tolerance, Budget(newton=steps, products=2 * steps))


def _smo(demand: Demand) -> Smo:
    sweeps = USUAL.sweeps * demand.max_steps
    memory = USUAL.rows_share * demand.memory
    return Smo(demand.tolerance, budget=Budget(newton=sweeps, products=2 * sweeps), memory=memory, seed=demand.seed)


SOLVERS = {
    "newton": SolverKind(_newton, footprint.newton),
    "exact": SolverKind(_exact, footprint.exact),
    "kcg": SolverKind(_kernel_gradient, footprint.kernel_gradient),
    "smo": SolverKind(_smo, footprint.pairs),
    "free bias": SolverKind(_free_bias, footprint.exact),
}


def inner_solver(is_exact: bool, memory: float, seed: int, tolerance: float | None = None) -> NewtonSolver:
    """The solver of a criterion's fits; Newton's tolerance is set by the search."""
    if is_exact:
        return Exact(USUAL.exact_tolerance)
    # The criterion checks latents itself, at a sample of the points.
    conditioning = LowRankConditioning(memory=memory, seed=seed)
    return Newton(tolerance or USUAL.search_tolerance, conditioning=conditioning, verifies=False, seed=seed)


def refitting_solver(bias_variance: float, tolerance: float, memory: float, seed: int) -> Solver:
    """The solver for many fits to nearly the same rows, with a preconditioner of this many bytes."""
    if np.isinf(bias_variance):
        return FreeBias(tolerance)
    return Newton(tolerance, conditioning=LowRankConditioning(memory=memory, seed=seed), seed=seed)
