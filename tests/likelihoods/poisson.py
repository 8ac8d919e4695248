"""Counts whose logarithmic rate is the latent function."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from logikern.likelihoods.base import Expansion, Likelihood
from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.outcome import Array


@dataclass(frozen=True)
class Poisson(Likelihood):
    """-log P = sum_i w_i sum_c (exp(u_ic) - t_ic u_ic + log t_ic!), targets t counts."""

    largest_latent: float = 500.0  # rates stay below exp of this: a trial step may go far beyond any count

    def _rate(self, latent: Array) -> Array:
        return np.exp(np.minimum(latent, self.largest_latent))

    def loss_and_gradient(self, latent: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        loss = np.einsum("bn,bn->b", weights, self.losses(latent, targets))
        return loss, (self._rate(latent) - targets) * weights[:, None, :]

    def expand(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        scale = np.sqrt(self._rate(latent) * weights[:, None, :])
        return Expansion(*self.loss_and_gradient(latent, targets, weights), PointwiseCurvature(scale, None))

    def losses(self, latent: Array, targets: Array) -> Array:
        return (self._rate(latent) - targets * latent + gammaln(targets + 1.0)).sum(axis=1)

    def derivatives_along(
        self, latent: Array, direction: Array, targets: Array, weights: Array
    ) -> tuple[Array, Array]:
        rate = self._rate(latent)
        first = np.einsum("bn,bcn,bcn->b", weights, rate - targets, direction)
        return first, np.einsum("bn,bcn,bcn,bcn->b", weights, rate, direction, direction)

    def third_derivative(self, latent: Array, products: Array) -> Array:
        return products
