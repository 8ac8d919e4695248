"""How a loss at the latents of a fit answers to the covariance: the adjoint of the fit."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.fitting.newton.systems import NewtonSystem
from logikern.fitting.problem import Problem, max_norm
from logikern.likelihoods.curvature import Curvature
from logikern.numerics.conjugate_gradient import inner_products
from logikern.numerics.outcome import Array

# Solves with the majoriser's curvature for one adjoint, where labels are coarse.
MOST_SOLVES = 60


class Adjoint(NamedTuple):
    """(I + W K~)^-1 q of shape (B, C, n), the products that it cost, and whether it was found."""

    value: Array
    n_products: int
    settled: bool


class _Solved(NamedTuple):
    """(I + W K~)^-1 r and its image under K~, that of r, and the products that they cost."""

    value: Array
    image: Array
    image_of_residual: Array
    n_products: int


@dataclass(frozen=True, eq=False)
class AdjointSystem:
    """I + W K~ at the latents of a fit, W the true curvature, which that of the system may exceed.

    Parameters
    ----------
    problem : Problem
    latent : array of shape (B, C, n)
    curvature : Curvature
        Of the system.
    system : NewtonSystem
    tolerance : float
    budget : int
        Products at which a solve has failed.
    """

    problem: Problem
    latent: Array
    curvature: Curvature
    system: NewtonSystem
    tolerance: float
    budget: int

    def solve(self, pull: Array) -> Adjoint:
        """By one solve with the system; where labels are coarse, by conjugate gradients in the metric of K~."""
        first = self._solve(pull)
        if first.n_products > self.budget:
            return Adjoint(pull, first.n_products, False)
        if self.problem.is_convex:
            return Adjoint(first.value, first.n_products, True)
        return self._iterate(pull.copy(), first)

    def _iterate(self, residual: Array, solved: _Solved) -> Adjoint:
        """I + W_true K~ is symmetric in the metric of K~, as is the system's inverse, its preconditioner.

        Coarse labels may leave a fit on a saddle, where sibling classes without a leaf label of their own are
        alike. Along a direction of no positive curvature a member ends, and its adjoint leaves that direction out.
        """
        ended = np.zeros(len(residual), dtype=bool)
        value, n_products = np.zeros_like(residual), solved.n_products
        direction, image = solved.value.copy(), solved.image.copy()
        strength = inner_products(solved.image_of_residual, solved.value)
        for _ in range(MOST_SOLVES):
            product = direction + self._true_curvature(image)
            curved = inner_products(image, product)
            ended |= ~(curved > 0)
            step = np.where(ended, 0.0, strength / np.where(ended, 1.0, curved))[:, None, None]
            value += step * direction
            residual -= step * product
            before = solved.image_of_residual
            solved = self._solve(residual)
            n_products += solved.n_products
            if solved.n_products > self.budget:
                break
            if (ended | (max_norm(solved.value) <= self.tolerance)).all():
                return Adjoint(value + solved.value, n_products, True)
            # The solves are not exact: only what is new in the residual may count.
            previous, strength = strength, inner_products(solved.image_of_residual, solved.value)
            factor = np.maximum(0.0, (strength - inner_products(before, solved.value)) / np.maximum(previous, 1e-300))
            factor = factor[:, None, None]
            direction, image = solved.value + factor * direction, solved.image + factor * image
        return Adjoint(value, n_products, False)

    def _solve(self, residual: Array) -> _Solved:
        image = self.problem.covariance.matmul(residual)
        response = self.system.response(image, np.full(len(residual), self.tolerance))
        return _Solved(residual - response.value, image - response.image, image, response.n_products + 1)

    def _true_curvature(self, functions: Array) -> Array:
        product, own = self.curvature.matmul(functions), self.problem
        excess = own.likelihood.excess_curvature(self.latent, own.targets, own.weights, functions, self.curvature)
        return product if excess is None else product - excess
