"""The adjoint of a fit: the derivative of a loss at its latents with respect to the covariance."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.fitting.newton.systems import NewtonSystem
from logikern.fitting.problem import Problem, max_norm
from logikern.likelihoods.curvature import Curvature
from logikern.numerics.conjugate_gradient import inner_products
from logikern.numerics.outcome import Array


class Adjoint(NamedTuple):
    """e = (I + W K~)^-1 q and K~ e, both (B, C, n), the number of products, and whether the solve converged."""

    value: Array
    image: Array
    n_products: int
    settled: bool


class _Solved(NamedTuple):
    """(I + W K~)^-1 r and its image under K~, the image of r, and the number of products."""

    value: Array
    image: Array
    image_of_residual: Array
    n_products: int


@dataclass(frozen=True, eq=False)
class AdjointSystem:
    """I + W K~ at the latents of a fit, with the true curvature W, which the system's curvature may exceed."""

    problem: Problem
    latent: Array  # (B, C, n)
    curvature: Curvature  # the system's
    system: NewtonSystem
    tolerance: float
    budget: int  # products above which a solve has failed
    max_solves: int = 60  # solves with the majoriser's curvature for one adjoint, if labels are coarse

    def solve(self, pull: Array) -> Adjoint:
        """The adjoint by one solve with the system; for coarse labels, by conjugate gradients in the metric of K~."""
        first = self._solve(pull)
        if first.n_products > self.budget:
            return Adjoint(pull, first.image, first.n_products, False)
        if self.problem.is_convex:
            return Adjoint(first.value, first.image, first.n_products, True)
        return self._iterate(pull.copy(), first)

    def _iterate(self, residual: Array, solved: _Solved) -> Adjoint:
        """I + W_true K~ is symmetric in the metric of K~, and so is its preconditioner, the system's inverse.

        With coarse labels a fit may end at a saddle point, where sibling classes without leaf labels are equal. A
        member stops at a direction without positive curvature, and its adjoint leaves that direction out.
        """
        ended = np.zeros(len(residual), dtype=bool)
        value, n_products = np.zeros_like(residual), solved.n_products
        mapped = np.zeros_like(residual)  # K~ value
        direction, image = solved.value.copy(), solved.image.copy()
        strength = inner_products(solved.image_of_residual, solved.value)
        for _ in range(self.max_solves):
            product = direction + self._true_curvature(image)
            curved = inner_products(image, product)
            ended |= ~(curved > 0)
            step = np.where(ended, 0.0, strength / np.where(ended, 1.0, curved))[:, None, None]
            value += step * direction
            mapped += step * image
            residual -= step * product
            before = solved.image_of_residual
            solved = self._solve(residual)
            n_products += solved.n_products
            if solved.n_products > self.budget:
                break
            if (ended | (max_norm(solved.value) <= self.tolerance)).all():
                return Adjoint(value + solved.value, mapped + solved.image, n_products, True)
            # The solves are inexact, so only the change of the residual counts (Polak-Ribiere).
            previous, strength = strength, inner_products(solved.image_of_residual, solved.value)
            factor = np.maximum(0.0, (strength - inner_products(before, solved.value)) / np.maximum(previous, 1e-300))
            factor = factor[:, None, None]
            direction, image = solved.value + factor * direction, solved.image + factor * image
        return Adjoint(value, mapped, n_products, False)

    def _solve(self, residual: Array) -> _Solved:
        image = self.problem.covariance.matmul(residual)
        response = self.system.response(image, np.full(len(residual), self.tolerance))
        return _Solved(residual - response.value, image - response.image, image, response.n_products + 1)

    def _true_curvature(self, functions: Array) -> Array:
        product, own = self.curvature.matmul(functions), self.problem
        excess = own.likelihood.excess_curvature(self.latent, own.targets, own.weights, functions, self.curvature)
        return product if excess is None else product - excess
