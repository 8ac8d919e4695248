"""Newton's method with preconditioned conjugate gradients: kernel products only."""

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from logikern.fitting.iteration import Budget
from logikern.fitting.newton.method import Fit, MakeSystem, NewtonSolver
from logikern.fitting.newton.systems import IterativeSystem
from logikern.fitting.pointwise.schedule import worthwhile
from logikern.fitting.pointwise.solver import RowAscent
from logikern.fitting.pointwise.system import RowSystem
from logikern.fitting.preconditioning.adaptive import Conditioning, LowRankConditioning
from logikern.fitting.problem import Callback, Problem
from logikern.likelihoods.curvature import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True)
class Newton(NewtonSolver):
    """Inexact Newton steps, each direction from conjugate gradients (Seeger 2008, sec. 5.1).

    Where points have few features a problem is begun, and often ended, point by point.

    Parameters
    ----------
    tolerance : float, default=1e-4
        For the largest absolute component of the gradient, in units of probability.
    budget : Budget
    conditioning : Conditioning
        How each system is preconditioned.
    proves : bool, default=True
        Whether the residual that ends a fit in single precision is that of kernel values in double precision.
    seed : int, default=0
        Of the order in which points are visited.
    """

    tolerance: float = 1e-4
    budget: Budget = Budget()
    conditioning: Conditioning = LowRankConditioning()
    proves: bool = True
    seed: int = 0
    close: ClassVar[bool] = True

    def begin(self, problem: Problem, start: Array | None, callback: Callback, tolerance: float) -> Fit | None:
        if not worthwhile(problem):
            return None
        budget = replace(self.budget, newton=min(RowAscent.budget.newton, self.budget.newton))
        result = RowAscent(tolerance, budget, self.seed).fit(problem, start, callback)
        covariance = problem.covariance

        @cache
        def systems() -> MakeSystem:
            return self.systems(covariance)

        def make_system(curvature: Curvature, members: Indices) -> RowSystem:
            return RowSystem(covariance, curvature, lambda: systems()(curvature, members), self.seed)

        return Fit(result, covariance, make_system)

    def systems(self, covariance: ClassCovariance) -> MakeSystem:
        condition = self.conditioning.prepare(covariance)

        def make_system(curvature: Curvature, members: Indices) -> IterativeSystem:
            return IterativeSystem(covariance, curvature, condition(curvature, members), self.budget.direction)

        return make_system
