"""The approximate leave-one-out loss of one fit and its exact gradient; Cawley & Talbot (2008) for any likelihood."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from logikern.criteria.base import Criterion, Evaluation, unusable
from logikern.criteria.expansion import ExactExpansion, FittedExpansion, LowRankExpansion
from logikern.fitting.descent import NewtonSolver
from logikern.fitting.exact import systems_of
from logikern.fitting.free_bias import FreeBias
from logikern.fitting.problem import FitResult, Problem, ignore
from logikern.likelihoods.base import Likelihood
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Criterion):
    """Psi = sum_i w_i loss(z_i) / sum w, z_i the latents of point i after one Newton step without it.

    With Q = (K~^-1 + W)^-1 and J_i = (I - W_i Q_ii)^-1, z_i = u_i - Q_ii J_i alpha_i. Let l_i be the gradient of
    the loss at z_i, a_i = J_i alpha_i, b_i = J_i l_i and T = I - W Q. Then
    d Psi = alpha' dK T h - sum_i (T b_i)' dK (T a_i), where h = b + d/du of sum_i b_i' (Q W Q)_ii a_i at fixed Q,
    less the part of each point's own W: the path through the fitted latents, which Cawley & Talbot leave out.
    A group of points is left out like one point of more functions.

    Parameters
    ----------
    likelihood : Likelihood
    targets : array of shape (C, n)
    weights : array of shape (n,)
    solver : NewtonSolver
        Its tolerance is the loosest that is allowed.
    groups : array of shape (n,) or None, default=None
        Points of equal labels are left out together; None leaves out one at a time.
    landmarks : tuple of integer arrays, one per operator, or None, default=None
        Points from which Q is approximated in O(n (C r)^2), with the fit and its derivative still those of the
        whole kernel matrix; None computes Q exactly in O(C n^3). They need a finite bias variance.
    """

    likelihood: Likelihood
    targets: Array
    weights: Array
    solver: NewtonSolver
    groups: Array | None = None
    landmarks: tuple[Indices, ...] | None = None

    @property
    def method(self) -> str:
        """How Q is computed, in words for people."""
        if self.landmarks is None:
            return "exact"
        return f"low rank, from {max(len(own) for own in self.landmarks)} landmarks"

    @property
    def loss_weights(self) -> Array:
        return self.weights[self.weights > 0]

    def _problem(self, covariance: ClassCovariance) -> Problem:
        return Problem(covariance, self.likelihood, self.targets, self.weights[None])

    def evaluate(self, covariance: ClassCovariance, start: Array | None, tolerance: float) -> Evaluation:
        tolerance = min(tolerance, self.solver.tolerance)
        result, expand = self._fit(self._problem(covariance), start, tolerance)
        if not result.outcome.converged:
            return unusable(result.outcome, result.n_products)
        try:
            expansion = expand()
        except np.linalg.LinAlgError:
            return unusable(Outcome.INDEFINITE, result.n_products)
        left_out = expansion.leave_out()
        losses = self.likelihood.losses(left_out[None], self.targets)[0]
        return Evaluation(
            value=float(np.average(losses, weights=self.weights)),
            gradient=expansion.gradient(left_out),
            losses=losses[self.weights > 0],
            state=result.latent,
            outcome=result.outcome,
            n_products=result.n_products + 1,
        )

    def _fit(
        self, problem: Problem, start: Array | None, tolerance: float
    ) -> tuple[FitResult, Callable[[], FittedExpansion]]:
        """A fit to all points, and its expansion for whoever wants it."""
        if np.isinf(problem.covariance.bias_variance):
            result = FreeBias(tolerance, self.solver.budget).fit(problem, start)
            return result, lambda: ExactExpansion(problem, result, self.groups)
        fit = self.solver.run(problem, start, ignore, tolerance)
        if self.landmarks is None:
            return fit.result, lambda: ExactExpansion(problem, fit.result, self.groups, systems_of(fit))
        landmarks = self.landmarks
        return fit.result, lambda: LowRankExpansion(problem, fit, landmarks, tolerance, self.groups)
