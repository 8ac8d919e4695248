"""The likelihood of labelled chains, and the prior covariance of their fields."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.sequences.chains import Chains, Posterior
from logikern.structure.covariance import ClassCovariance, CovarianceGradient


@dataclass(frozen=True, eq=False)
class ChainLikelihood:
    """-log P = sum_s w_s (log partition sum of chain s - score of its labels), convex in the field.

    Its gradient are expected minus observed counts, and its curvature the covariance of counts, which couples all
    places of a chain.
    """

    chains: Chains
    labels: Indices  # (n,)
    weights: Array  # (S,)

    @cached_property
    def counts(self) -> Array:
        """Weighted counts of the labels as a field."""
        return self.chains.count(self.labels, self.weights)

    def weighted(self, weights: Array) -> "ChainLikelihood":
        """The same chains with other weights."""
        return replace(self, weights=weights)

    def losses(self, posterior: Posterior, field: Array) -> Array:
        """Negative log likelihood of every chain without weights, (S,)."""
        return posterior.log_partition - self.chains.scores_of(field, self.labels)

    def loss(self, posterior: Posterior, field: Array) -> float:
        """The weighted negative log likelihood."""
        return float(self.weights @ self.losses(posterior, field))

    def gradient(self, posterior: Posterior) -> Array:
        """The gradient as a field."""
        return posterior.expect(self.weights) - self.counts

    def curve(self, posterior: Posterior, direction: Array) -> Array:
        """W times a field, W the curvature at the posterior."""
        return posterior.differentiate(self.weights, direction)


@dataclass(frozen=True, eq=False)
class FieldCovariance:
    """The prior covariance of a field: K~ at places, and independent scores of pairs, first and last labels."""

    places: ClassCovariance
    transition_variance: float

    def matmul(self, field: Array) -> Array:
        """The covariance times a field."""
        n = self.places.n_points
        return self._join(field, self.places.matmul(field[None, :, :n]))

    def accurate_matmul(self, field: Array) -> Array:
        """`matmul` with kernel values computed in float64."""
        n = self.places.n_points
        return self._join(field, self.places.accurate_matmul(np.ascontiguousarray(field[None, :, :n])))

    def _join(self, field: Array, image: Array) -> Array:
        return np.hstack([image[0], self.transition_variance * field[:, self.places.n_points :]])

    def contract_gradient(self, left: Array, right: Array) -> tuple[CovarianceGradient, float]:
        """d/d log h of sum left . (covariance right), for the covariance of places and the transition variance.

        Left and right are several fields each, (B, C, n + C + 2).
        """
        n = self.places.n_points
        places = self.places.contract_gradient(left[..., :n], right[..., :n])
        return places, self.transition_variance * float(np.vdot(left[..., n:], right[..., n:]))
