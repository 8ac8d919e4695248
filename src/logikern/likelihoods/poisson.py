"""Counts whose logarithmic rate is the latent function."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from logikern.likelihoods.base import Curvature, Expansion, Likelihood
from logikern.numerics.outcome import Array

# No count has a rate beyond exp(500); a trial step may ask for one all the same.
LARGEST_LATENT = 500.0


@dataclass(frozen=True)
class Poisson(Likelihood):
    """-log P = sum_i w_i sum_c (exp(u_ic) - t_ic u_ic + log t_ic!), targets t counts."""

    def loss_and_gradient(self, latent: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        loss = np.einsum("bn,bn->b", weights, self.losses(latent, targets))
        return loss, (_rate(latent) - targets) * weights[:, None, :]

    def expand(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        scale = np.sqrt(_rate(latent) * weights[:, None, :])
        return Expansion(*self.loss_and_gradient(latent, targets, weights), Curvature(scale, None))

    def losses(self, latent: Array, targets: Array) -> Array:
        return (_rate(latent) - targets * latent + gammaln(targets + 1.0)).sum(axis=1)

    def slope(self, latent: Array, direction: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        rate = _rate(latent)
        first = np.einsum("bn,bcn,bcn->b", weights, rate - targets, direction)
        return first, np.einsum("bn,bcn,bcn,bcn->b", weights, rate, direction, direction)

    def bend(self, latent: Array, products: Array) -> Array:
        return products


def _rate(latent: Array) -> Array:
    return np.exp(np.minimum(latent, LARGEST_LATENT))
