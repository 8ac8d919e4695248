"""Newton's method with preconditioned conjugate gradients: kernel products only."""

from dataclasses import dataclass

import numpy as np

from logikern.fitting.conditioning import Condition, Conditioning, LowRankConditioning
from logikern.fitting.descent import Budget, descend
from logikern.fitting.preconditioner import Preconditioner
from logikern.fitting.problem import FitResult, Problem, Solver, Watch, ignore
from logikern.fitting.systems import IterativeSystem
from logikern.likelihoods.base import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.structure.covariance import ClassCovariance


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
        return self.fit_with(self.conditioning.prepare(problem.covariance), problem, start, watch)

    def fit_with(
        self, condition: Condition, problem: Problem, start: Array | None = None, watch: Watch = ignore
    ) -> FitResult:
        """Fit with preconditioners prepared before: a criterion goes on to use them."""

        def make_system(curvature: Curvature, members: Indices) -> IterativeSystem:
            return self.system(problem.covariance, curvature, condition(curvature, members))

        with np.errstate(over="ignore", invalid="ignore"):
            return descend(problem, start, watch, make_system, self.tolerance, self.budget)

    def system(
        self, covariance: ClassCovariance, curvature: Curvature, preconditioner: Preconditioner
    ) -> IterativeSystem:
        """The Newton system at one curvature."""
        return IterativeSystem(covariance, curvature, preconditioner, self.budget.direction)
