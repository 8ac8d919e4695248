"""The approximate leave-one-out loss of one fit and its exact gradient; Cawley & Talbot (2008) for any likelihood."""

from dataclasses import dataclass

import numpy as np

from logikern.criteria.base import Criterion, Evaluation, unusable
from logikern.criteria.cavity import Cavity
from logikern.fitting.contrasts import Contrast, contrast_of
from logikern.fitting.descent import NewtonSolver
from logikern.fitting.exact import dense_blocks, weigh_blocks
from logikern.fitting.free_bias import FreeBias
from logikern.fitting.groups import partition
from logikern.fitting.posterior import ExactPosterior
from logikern.fitting.problem import FitResult, Problem, ignore
from logikern.likelihoods.base import Curvature, Likelihood
from logikern.numerics.outcome import Array, Outcome
from logikern.structure.covariance import ClassCovariance, CovarianceGradient


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
    """

    likelihood: Likelihood
    targets: Array
    weights: Array
    solver: NewtonSolver
    groups: Array | None = None

    @property
    def loss_weights(self) -> Array:
        return self.weights[self.weights > 0]

    def _problem(self, covariance: ClassCovariance) -> Problem:
        return Problem(covariance, self.likelihood, self.targets, self.weights[None])

    def evaluate(self, covariance: ClassCovariance, start: Array | None, tolerance: float) -> Evaluation:
        problem = self._problem(covariance)
        tolerance = min(tolerance, self.solver.tolerance)
        if np.isinf(covariance.bias_variance):
            result = FreeBias(tolerance, self.solver.budget).fit(problem, start)
        else:
            result = self.solver.run(problem, start, ignore, tolerance).result
        if not result.outcome.converged:
            return unusable(result.outcome, result.n_products)
        try:
            expanded = expand(problem, result, self.groups)
        except np.linalg.LinAlgError:
            return unusable(Outcome.INDEFINITE, result.n_products)
        left_out = expanded.leave_out()
        losses = self.likelihood.losses(left_out[None], self.targets)[0]
        return Evaluation(
            value=float(np.average(losses, weights=self.weights)),
            gradient=expanded.gradient(left_out),
            losses=losses[self.weights > 0],
            state=result.latent,
            outcome=result.outcome,
            n_products=result.n_products + 1,
        )


def expand(problem: Problem, result: FitResult, groups: Array | None = None) -> "FittedExpansion":
    """The posterior at the optimum of a problem with one weighting."""
    curvature = problem.likelihood.expand(result.latent, problem.targets, problem.weights).curvature
    contrast = contrast_of(curvature)
    blocks = dense_blocks(problem.covariance)
    seen = contrast.curvature(curvature)
    posterior = ExactPosterior(
        contrast.covariances(blocks),
        seen,
        partition(groups, problem.shape[2]),
        free_bias=bool(np.isinf(problem.covariance.bias_variance)),
    )
    return FittedExpansion(problem, result, contrast, curvature, blocks, posterior, Cavity(posterior.batches, seen))


@dataclass(frozen=True, eq=False)
class FittedExpansion:
    """The second-order expansion at a fit, and what it says of points left out. Build it by `expand`.

    Parameters
    ----------
    problem : Problem
        With one weighting.
    result : FitResult
    contrast : Contrast
    curvature : Curvature
    blocks : array of shape (C, n, n)
    posterior : ExactPosterior
    cavity : Cavity
    """

    problem: Problem
    result: FitResult
    contrast: Contrast
    curvature: Curvature
    blocks: Array
    posterior: ExactPosterior
    cavity: Cavity

    def leave_out(self) -> Array:
        """Latents z of every point without its group, (C, n)."""
        amplified = self.cavity.amplify(self.contrast.reduce(self.result.dual[0]))
        return self.result.latent[0] - self.contrast.lift(self.cavity.covary(amplified))

    def gradient(self, left_out: Array) -> CovarianceGradient:
        """Derivatives of the weighted mean loss at the latents that `leave_out` gave."""
        problem, contrast, cavity = self.problem, self.contrast, self.cavity
        weights = problem.weights / problem.weights.sum()
        _, losses = problem.likelihood.loss_and_gradient(left_out[None], problem.targets, weights)
        dual = contrast.reduce(self.result.dual[0])
        right, left = cavity.amplify(dual), cavity.amplify(contrast.reduce(losses[0]))  # a, b
        sensitivity = self.posterior.sensitivity(left, right)
        products = sensitivity.products - cavity.pull(left) * cavity.pull(right)
        bent = problem.likelihood.bend(self.result.latent, contrast.lift_products(products, self.curvature)[None])
        pull = left + contrast.reduce(bent[0])  # h
        adjoint = pull - self.posterior.scale * self.posterior.respond(pull)  # T h
        pairs = zip(dual, adjoint, sensitivity.weights, strict=True)
        weights_of_functions = [np.outer(own, other) - inner for own, other, inner in pairs]
        function_of = contrast.function_of(problem.covariance.n_classes)
        return weigh_blocks(problem.covariance, self.blocks, weights_of_functions, function_of)
