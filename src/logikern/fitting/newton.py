"""Newton's method with preconditioned conjugate gradients: kernel products only."""

from dataclasses import dataclass

import numpy as np

from logikern.fitting.conditioning import Conditioning, LowRankConditioning
from logikern.fitting.descent import Budget, descend
from logikern.fitting.problem import FitResult, Problem, Solver, Watch, ignore
from logikern.fitting.systems import IterativeSystem
from logikern.likelihoods.base import Curvature
from logikern.numerics.outcome import Array, Indices


@dataclass(frozen=True)
class Newton(Solver):
    """Inexact Newton steps, each direction from conjugate gradients (Seeger 2008, sec. 5.1).

    Parameters
    ----------
    tolerance : float, default=1e-4
        For the largest absolute component of the gradient, in units of probability.
    budget : Budget
    conditioning : Conditioning
        How each system is preconditioned.
    """

    tolerance: float = 1e-4
    budget: Budget = Budget()
    conditioning: Conditioning = LowRankConditioning()

    def fit(self, problem: Problem, start: Array | None = None, watch: Watch = ignore) -> FitResult:
        condition = self.conditioning.prepare(problem.covariance)

        def make_system(curvature: Curvature, members: Indices) -> IterativeSystem:
            return IterativeSystem(
                problem.covariance, curvature, condition(curvature, members), self.budget.direction
            )

        with np.errstate(over="ignore", invalid="ignore"):
            return descend(problem, start, watch, make_system, self.tolerance, self.budget)
