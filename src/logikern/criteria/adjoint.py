"""The adjoint of a fit: the derivative of a loss at its latents with respect to the covariance."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.fitting.newton.systems import NewtonSystem, Response, StoppingRule
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


@dataclass(frozen=True, eq=False)
class AdjointSystem:
    """I + W K~ at the latents of a fit, with the true curvature W, which the system's curvature may exceed."""

    problem: Problem
    latent: Array  # (B, C, n)
    curvature: Curvature  # the curvature of the system
    system: NewtonSystem
    tolerance: float
    budget: int  # after this number of products, a solve has failed
    max_solves: int = 60  # most solves with the majoriser's curvature for one adjoint, if labels are coarse
    # Fraction of the gain in the quadratic model that these solves may miss. With 0.02 they take as many products in
    # total.
    missed_gain: float = 0.1
    finest: float = 0.1  # smallest residual of these solves, in units of the tolerance

    def solve(self, pull: Array) -> Adjoint:
        """The adjoint by one solve with the system; for coarse labels, by conjugate gradients in the metric of K~."""
        if not self.problem.is_convex:
            return self._iterate(pull.copy())
        image = self.problem.covariance.matmul(pull)
        response = self.system.response(image, np.full(len(pull), self.tolerance))
        n_products = response.n_products + 1
        return Adjoint(pull - response.value, image - response.image, n_products, n_products <= self.budget)

    def _iterate(self, residual: Array) -> Adjoint:
        """I + W_true K~ is symmetric in the metric of K~, and so is its preconditioner, the system's inverse.

        With coarse labels a fit may end at a saddle point, where sibling classes without leaf labels are equal. A
        member stops at a direction without positive curvature, and its adjoint leaves that direction out.
        """
        ended = np.zeros(len(residual), dtype=bool)
        value, mapped = np.zeros_like(residual), np.zeros_like(residual)  # e and K~ e
        solved = self._precondition(residual)
        n_products = solved.n_products
        direction, image = solved.value.copy(), solved.image.copy()
        strength = inner_products(residual, solved.image)
        for _ in range(self.max_solves):
            product = direction + self._true_curvature(image)
            curved = inner_products(image, product)
            ended |= ~(curved > 0)
            step = np.where(ended, 0.0, strength / np.where(ended, 1.0, curved))[:, None, None]
            value += step * direction
            mapped += step * image
            before, residual = residual, residual - step * product
            solved = self._precondition(residual)
            n_products += solved.n_products
            if solved.n_products > self.budget:
                break
            if (ended | (max_norm(solved.value) <= self.tolerance)).all():
                return Adjoint(value + solved.value, mapped + solved.image, n_products, True)
            # The solves are inexact, so only the change of the residual counts (Polak-Ribiere).
            previous, strength = strength, inner_products(residual, solved.image)
            factor = np.maximum(0.0, (strength - inner_products(before, solved.image)) / np.maximum(previous, 1e-300))
            factor = factor[:, None, None]
            direction, image = solved.value + factor * direction, solved.image + factor * image
        return Adjoint(value, mapped, n_products, False)

    def _precondition(self, residual: Array) -> Response:
        """A rough solve with the system."""
        missed = np.full(len(residual), self.missed_gain)
        return self.system.solve(residual, StoppingRule(np.full(len(residual), self.finest * self.tolerance), missed))

    def _true_curvature(self, functions: Array) -> Array:
        product, own = self.curvature.matmul(functions), self.problem
        excess = own.likelihood.excess_curvature(self.latent, own.targets, own.weights, functions, self.curvature)
        return product if excess is None else product - excess
