"""Newton's method for a whole problem: precision, coarse labels and continuation."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from logikern.fitting.iteration import Budget
from logikern.fitting.newton.descent import Descent, MakeSystem, Start, is_slow
from logikern.fitting.newton.policy import NewtonPolicy
from logikern.fitting.problem import Callback, FitResult, InterruptedFitError, Problem, Solver, no_callback
from logikern.numerics.outcome import Array, Outcome
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True, eq=False)
class Fit:
    """A result, with the covariance and the systems that gave it."""

    result: FitResult
    covariance: ClassCovariance
    make_system: MakeSystem


class NewtonSolver(Solver):
    """Newton's method; a subclass says how its systems are solved.

    `merges_classes` says whether the systems accept curvatures that merge classes (`Likelihood.expand_closely`), and
    `verifies` whether convergence in single precision is verified by kernel values in double precision.
    """

    tolerance: float
    budget: Budget
    policy: NewtonPolicy
    merges_classes: ClassVar[bool] = False
    verifies: bool = True

    @abstractmethod
    def systems(self, covariance: ClassCovariance) -> MakeSystem:
        """Prepare what all systems of a covariance share; a criterion uses them after the fit."""

    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        return self.run(problem, start, callback, self.tolerance).result

    def run(self, problem: Problem, start: Array | None, callback: Callback, tolerance: float) -> "Fit":
        """Fit, and keep the systems for later use.

        Single precision has a short budget. If it does not converge, as at large variances, the fit continues from
        its latents in double precision.
        """
        rough = None if problem.is_convex or start is not None else self._fit_fully_labelled_points(problem)
        if rough is not None:
            fit = self.run(problem, rough.latent, callback, tolerance)
            # The rough steps minimise another loss, but their products count for this fit.
            return replace(fit, result=fit.result.after(replace(rough, trace=())))
        begun = self.begin(problem, start, callback, tolerance)
        if begun is None:
            return self._descend(problem, start, callback, tolerance)
        ascent = begun.result
        if ascent.outcome.converged or self.budget.exhausted(ascent.trace[-1].step, ascent.n_products):
            return begun
        improved = ascent.trace[-1].loss < ascent.trace[0].loss
        try:
            fit = self._descend(problem, ascent if improved else start, callback, tolerance)
        except InterruptedFitError as interruption:
            raise InterruptedFitError(interruption.result.after(ascent)) from None
        return replace(fit, result=fit.result.after(ascent))

    def begin(self, problem: Problem, start: Array | None, callback: Callback, tolerance: float) -> "Fit | None":
        """The fit of another solver that suits the problem better; None if there is no such solver."""
        return None

    def _descend(self, problem: Problem, start: Start, callback: Callback, tolerance: float) -> "Fit":
        is_single = problem.covariance.is_single
        budget = self.budget.shortened() if is_single else self.budget
        make_system = self.systems(problem.covariance)
        descent = Descent(make_system, tolerance, budget, self.merges_classes, self.verifies, self.policy)
        result = descent.run(problem, start, callback)
        if result.outcome.converged:
            return Fit(result, problem.covariance, make_system)
        if start is None and problem.is_convex and is_slow(result.trace[-1], self.policy):
            del make_system, descent  # with thousands of classes they take gigabytes
            return self._continue_from_smaller_covariance(problem, result, callback, tolerance)
        if not is_single:
            return Fit(result, problem.covariance, make_system)
        # Continue from the new latents, not from the result that this fit started from.
        onward: Start = None if isinstance(start, FitResult) else start
        onward = result.latent if np.isfinite(result.latent).all() else onward
        double = replace(problem, covariance=problem.covariance.in_double())
        descent = replace(descent, make_system=self.systems(double.covariance), budget=self.budget)
        return Fit(descent.run(double, onward, callback).after(result), double.covariance, descent.make_system)

    def _continue_from_smaller_covariance(
        self, problem: Problem, begun: FitResult, callback: Callback, tolerance: float
    ) -> "Fit":
        """Fit under a smaller covariance first (Marteau-Ferey, Bach & Rudi 2019), from smoothed labels if known.

        Steps from its latents are longer than steps from zero, though each takes more products.
        """
        smaller = replace(problem, covariance=problem.covariance.scaled(self.policy.continuation_factor))
        labels = problem.likelihood.smoothed_label_latents(problem.targets)
        start = None if labels is None else np.broadcast_to(labels, problem.shape).astype(problem.dtype)
        try:
            rough = self.run(smaller, start, no_callback, max(tolerance, self.policy.continuation_tolerance)).result
        except InterruptedFitError:
            raise InterruptedFitError(begun) from None
        if rough.outcome is Outcome.STALLED:
            result = replace(begun, outcomes=rough.outcomes, n_products=begun.n_products + rough.n_products)
            return Fit(result, problem.covariance, self.systems(problem.covariance))
        fit = self.run(problem, rough.latent, callback, tolerance)
        return replace(fit, result=fit.result.after(replace(rough, trace=())).after(begun))

    def _fit_fully_labelled_points(self, problem: Problem) -> FitResult | None:
        """A rough fit without coarse labels, from which coarse labels are completed.

        At zero all classes below a coarse label are equally probable, and convergence from there is slow.
        """
        targets, weights = problem.likelihood.fully_labelled_part(problem.targets, problem.weights)
        if not weights.any(axis=1).all():
            return None
        part = replace(problem, likelihood=problem.likelihood.majoriser, targets=targets, weights=weights)
        return self.run(part, None, no_callback, self.policy.labelled_tolerance).result
