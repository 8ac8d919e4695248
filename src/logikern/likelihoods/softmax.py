"""The multiple logistic likelihood of Seeger (2008), sec. 2."""

from dataclasses import dataclass

import numpy as np

from logikern.likelihoods.base import Expansion, Likelihood
from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import soft_maximum

# Lead of the labelled class where predictions are corrected at the start of a fit: a probability of 0.98 for two
# classes. Newton's method takes many steps to increase smaller leads.
LARGEST_LEAD = 4.0


@dataclass(frozen=True)
class Softmax(Likelihood):
    """-log P = sum_i w_i (log sum_c exp(u_ic) - sum_c q_ic u_ic), targets q distributions over classes."""

    def loss_and_gradient(self, latent: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        soft = soft_maximum(latent)
        return _loss(soft.log_total, latent, targets, weights), _gradient(soft.probabilities, targets, weights)

    def expand(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        soft = soft_maximum(latent)
        null = np.sqrt(soft.probabilities)
        curvature = PointwiseCurvature(scale=null * np.sqrt(weights)[:, None, :], null=null)
        return Expansion(
            _loss(soft.log_total, latent, targets, weights),
            _gradient(soft.probabilities, targets, weights),
            curvature,
        )

    @property
    def has_entropy_dual(self) -> bool:
        return True

    def smoothed_label_latents(self, targets: Array) -> Array:
        # The mean of the target and the uniform distribution: the usual start for generalised linear models.
        latent = np.log(0.5 * targets + 0.5 / targets.shape[-2])
        return latent - latent.mean(axis=-2, keepdims=True)

    def correct_predictions(self, latent: Array, targets: Array) -> Array:
        """Raise the latent of the most probable target where it leads the other classes by too little.

        The required lead is the median lead over all points, limited to the range from 0 to `LARGEST_LEAD`.
        """
        points, labels = np.arange(latent.shape[-1]), np.argmax(targets, axis=0)
        others = latent.copy()
        others[labels, points] = -np.inf
        lead = latent[labels, points] - others.max(axis=0)
        corrected = latent.copy()
        corrected[labels, points] += np.maximum(np.clip(np.median(lead), 0.0, LARGEST_LEAD) - lead, 0.0)
        return corrected - corrected.mean(axis=0)

    def losses(self, latent: Array, targets: Array) -> Array:
        return soft_maximum(latent).log_total - np.einsum("...cn,...cn->...n", targets, latent)

    def derivatives_along(
        self, latent: Array, direction: Array, targets: Array, weights: Array
    ) -> tuple[Array, Array]:
        probabilities = soft_maximum(latent).probabilities
        weighted = probabilities * direction
        mean = weighted.sum(axis=1)  # (B, n)
        first = mean - np.einsum("...cn,...cn->...n", targets, direction)
        second = np.einsum("bcn,bcn->bn", weighted, direction) - mean**2
        return np.einsum("bn,bn->b", weights, first), np.einsum("bn,bn->b", weights, second)

    def third_derivative(self, latent: Array, products: Array) -> Array:
        # x' W y is a covariance under pi, and its derivative the third central moment.
        return products - soft_maximum(latent).probabilities * products.sum(axis=1, keepdims=True)


def _loss(log_total: Array, latent: Array, targets: Array, weights: Array) -> Array:
    explained = np.einsum("...cn,...cn->...n", targets, latent)
    return np.einsum("bn,bn->b", weights, log_total - explained)


def _gradient(probabilities: Array, targets: Array, weights: Array) -> Array:
    probabilities -= targets
    probabilities *= weights[:, None, :]
    return probabilities
