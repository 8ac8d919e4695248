"""Squared loss: regression, and the case in which every second-order formula is exact."""

from dataclasses import dataclass

import numpy as np

from logikern.likelihoods.base import Expansion, Likelihood
from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.outcome import Array


@dataclass(frozen=True)
class Squared(Likelihood):
    """-log P = sum_i w_i sum_c (u_ic - t_ic)^2 / 2, targets t any numbers; a weight is an inverse noise variance."""

    @property
    def is_quadratic(self) -> bool:
        return True

    @property
    def has_separate_functions(self) -> bool:
        return True

    def gap(self, dual: Array, latent: Array, targets: Array, weights: Array) -> Array:
        # The conjugate at -b is b' W^-1 b / 2 - b' t, so the gap is |W (u - t) + b|^2 / (2 W).
        residual = (latent - targets) * weights[:, None, :] + dual
        inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
        return 0.5 * np.einsum("bn,bcn,bcn->b", inverse, residual, residual)

    def loss_and_gradient(self, latent: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        residual = latent - targets
        loss = 0.5 * np.einsum("bn,bcn,bcn->b", weights, residual, residual)
        return loss, residual * weights[:, None, :]

    def expand(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        scale = np.broadcast_to(np.sqrt(weights)[:, None, :], latent.shape).copy()
        return Expansion(*self.loss_and_gradient(latent, targets, weights), PointwiseCurvature(scale, None))

    def losses(self, latent: Array, targets: Array) -> Array:
        return 0.5 * np.square(latent - targets).sum(axis=1)

    def derivatives_along(
        self, latent: Array, direction: Array, targets: Array, weights: Array
    ) -> tuple[Array, Array]:
        first = np.einsum("bn,bcn,bcn->b", weights, latent - targets, direction)
        return first, np.einsum("bn,bcn,bcn->b", weights, direction, direction)

    def third_derivative(self, latent: Array, products: Array) -> Array:
        return np.zeros_like(products)
