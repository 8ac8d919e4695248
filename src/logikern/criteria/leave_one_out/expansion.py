"""The second-order expansion at a fit, and the latents of points left out that follow from it."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from logikern.criteria.leave_one_out.cavity import Cavity
from logikern.criteria.leave_one_out.groups import partition
from logikern.criteria.leave_one_out.low_rank_posterior import LowRankPosterior, LowRankSensitivity, weigh_landmarks
from logikern.criteria.leave_one_out.low_rank_system import LowRankSystems, landmarked_operators
from logikern.criteria.leave_one_out.posterior import ExactPosterior, Sensitivity
from logikern.fitting.newton.contrasts import contrast_of
from logikern.fitting.newton.dense import DenseSystems, dense_blocks, weigh_blocks
from logikern.fitting.newton.joint import weigh_joint
from logikern.fitting.newton.method import Fit
from logikern.fitting.problem import FitResult, Problem
from logikern.likelihoods.curvature import as_pointwise
from logikern.numerics.outcome import Array
from logikern.structure.covariance import CovarianceGradient


class FittedExpansion(ABC):
    """Q and W at the optimum of a problem with one weighting; a subclass computes Q.

    Points with equal labels in `groups` are left out together; None leaves out one point at a time.
    """

    def __init__(self, problem: Problem, result: FitResult, groups: Array | None = None):
        self.problem = problem
        self.result = result
        self.groups = partition(groups, problem.shape[2])
        expansion = problem.likelihood.expand(result.latent, problem.targets, problem.weights)
        self.curvature = as_pointwise(expansion.curvature)
        self.contrast = contrast_of(self.curvature)
        self.seen = self.contrast.curvature(self.curvature)
        self.dual = self.contrast.reduce(result.dual[0])  # (F, n)
        self.function_of = self.contrast.function_of(problem.covariance.n_classes)
        self.posterior = self._posterior()
        self.cavity = Cavity(self.posterior.batches, self.seen)

    @property
    @abstractmethod
    def method(self) -> str:
        """How Q is computed, for reports."""

    @abstractmethod
    def _posterior(self) -> Any:
        """Q, with `batches` and `sensitivity`."""

    @abstractmethod
    def _contract(self, pull: Array, found: Any) -> CovarianceGradient:
        """alpha' dK T h minus the change of sum_g b_g' Q_gg a_g with K~; h is the gradient in the latents, (F, n)."""

    def leave_out(self) -> Array:
        """Latents z of every point, predicted without its group, (C, n)."""
        moved = self.cavity.covary(self.cavity.amplify(self.dual))
        return self.result.latent[0] - self.contrast.lift(moved)

    def gradient(self, pull: Array) -> CovarianceGradient:
        """Derivatives of a loss from its gradient with respect to the latents of `leave_out`, (C, n)."""
        problem, contrast, cavity = self.problem, self.contrast, self.cavity
        right, left = cavity.amplify(self.dual), cavity.amplify(contrast.reduce(pull))  # a, b
        found = self.posterior.sensitivity(left, right)
        products = found.products - cavity.pull(left) * cavity.pull(right)
        bent = problem.likelihood.third_derivative(
            self.result.latent, contrast.lift_products(products, self.curvature)[None]
        )
        return self._contract(left + contrast.reduce(bent[0]), found)


class ExactExpansion(FittedExpansion):
    """Expansion with dense blocks of K~, from the systems of the fit if given: only the refits are approximated."""

    def __init__(
        self,
        problem: Problem,
        result: FitResult,
        groups: Array | None = None,
        systems: DenseSystems | None = None,
    ):
        self.systems = systems or DenseSystems(dense_blocks(problem.covariance))
        super().__init__(problem, result, groups)

    @property
    def method(self) -> str:
        return "exact"

    def _posterior(self) -> ExactPosterior:
        free_bias = bool(np.isinf(self.problem.covariance.bias_variance))
        return ExactPosterior(self.systems.seen(self.contrast), self.seen, self.groups, free_bias)

    def _contract(self, pull: Array, found: Sensitivity) -> CovarianceGradient:
        adjoint = pull - self.seen.scale[0] * self.posterior.respond(pull)  # T h
        n_blocks, covariance = len(found.weights), self.problem.covariance
        pairs = zip(self.dual.reshape(n_blocks, -1), adjoint.reshape(n_blocks, -1), found.weights, strict=True)
        weights = [np.subtract(np.outer(own, other), inner, out=inner) for own, other, inner in pairs]
        if covariance.mixing.is_coupled:
            return weigh_joint(covariance, weights[0], self.contrast.see(np.eye(covariance.n_classes)))
        return weigh_blocks(covariance, self.systems.blocks, weights, self.function_of)


class LowRankExpansion(FittedExpansion):
    """Expansion with Q from a covariance approximated by landmarks; the fit may have used another covariance.

    The gradient is exact for the approximated value at fixed landmarks.

    Parameters
    ----------
    problem : Problem
    fit : Fit
    systems : LowRankSystems
    tolerance : float
        Tolerance of the fit.
    groups : array of shape (n,) or None, default=None
    adjoint_accuracy : float, default=0.3
        Tolerance of the adjoint solve, relative to `tolerance`.
    """

    def __init__(
        self,
        problem: Problem,
        fit: Fit,
        systems: LowRankSystems,
        tolerance: float,
        groups: Array | None = None,
        adjoint_accuracy: float = 0.3,
    ):
        self.fit = fit
        self.adjoint_accuracy = adjoint_accuracy
        self.systems = systems
        self.tolerance = tolerance
        super().__init__(problem, fit.result, groups)

    @property
    def method(self) -> str:
        ranks = [len(operator.nystrom.landmarks) for operator in landmarked_operators(self.systems.covariance)]
        return f"low rank, from {max(ranks)} landmarks"

    def _posterior(self) -> LowRankPosterior:
        return LowRankPosterior(self.systems.seen(self.contrast), self.seen, self.groups)

    def _contract(self, pull: Array, found: LowRankSensitivity) -> CovarianceGradient:
        whole = self.contrast.expand(pull)[None]
        system = self.fit.make_system(self.curvature, np.arange(1))
        accuracy = np.array([self.adjoint_accuracy * self.tolerance * np.abs(whole).max()])
        response = system.response(self.fit.covariance.matmul(whole), accuracy)
        through_fit = self.fit.covariance.contract_gradient(self.result.dual, whole - response.value)
        through_posterior = weigh_landmarks(self.systems.covariance, self.posterior, found, self.function_of)
        return _difference(through_fit, through_posterior)


def _difference(first: CovarianceGradient, second: CovarianceGradient) -> CovarianceGradient:
    return CovarianceGradient(
        tuple(one - other for one, other in zip(first.kernels, second.kernels, strict=True)),
        first.variances - second.variances,
        first.bias_variance - second.bias_variance,
    )
