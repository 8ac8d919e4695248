"""Newton's method with preconditioned conjugate gradients: kernel products only."""

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from logikern.fitting.iteration import Budget
from logikern.fitting.newton.method import Fit, MakeSystem, NewtonSolver
from logikern.fitting.newton.policy import POLICY, NewtonPolicy
from logikern.fitting.newton.systems import IterativeSystem
from logikern.fitting.pointwise import schedule
from logikern.fitting.pointwise.solver import PointwiseAscent
from logikern.fitting.pointwise.system import PointwiseSystem
from logikern.fitting.preconditioning.adaptive import Conditioning, LowRankConditioning
from logikern.fitting.problem import Callback, Problem
from logikern.likelihoods.curvature import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True)
class Newton(NewtonSolver):
    """Inexact Newton steps, each direction from conjugate gradients (Seeger 2008, sec. 5.1).

    Problems whose points have few features are begun, and often finished, point by point.

    Parameters
    ----------
    tolerance : float, default=1e-4
        For the largest absolute component of the gradient, in units of probability.
    budget : Budget
    conditioning : Conditioning
        How each system is preconditioned.
    verifies : bool, default=True
        Whether convergence in single precision is verified by kernel values in double precision.
    seed : int, default=0
        Seed of the order in which points are visited.
    policy : NewtonPolicy
    pointwise : PointwisePolicy
    """

    tolerance: float = 1e-4
    budget: Budget = Budget()
    conditioning: Conditioning = LowRankConditioning()
    verifies: bool = True
    seed: int = 0
    policy: NewtonPolicy = POLICY
    pointwise: schedule.PointwisePolicy = schedule.POLICY
    merges_classes: ClassVar[bool] = True

    def begin(self, problem: Problem, start: Array | None, callback: Callback, tolerance: float) -> Fit | None:
        if not schedule.is_worthwhile(problem, self.pointwise):
            return None
        budget = replace(self.budget, newton=min(self.pointwise.rounds, self.budget.newton))
        result = PointwiseAscent(tolerance, budget, self.seed, self.pointwise).fit(problem, start, callback)
        covariance = problem.covariance

        @cache
        def systems() -> MakeSystem:
            return self.systems(covariance)

        def make_system(curvature: Curvature, members: Indices) -> PointwiseSystem:
            otherwise = lambda: systems()(curvature, members)  # noqa: E731
            return PointwiseSystem(covariance, curvature, otherwise, self.seed, self.pointwise)

        return Fit(result, covariance, make_system)

    def systems(self, covariance: ClassCovariance) -> MakeSystem:
        condition, most = self.conditioning.prepare(covariance), self.budget.direction

        def make_system(curvature: Curvature, members: Indices) -> IterativeSystem:
            return IterativeSystem(covariance, curvature, condition(curvature, members), most, self.policy)

        return make_system
