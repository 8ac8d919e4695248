"""A weighted mean of a Gaussian and a Laplacian correlation: smooth trends, and steps along single inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .base import Matrix, Vector
from .inputs import Rate
from .metrics import CITY_BLOCK, SQUARED_EUCLIDEAN
from .parameters import positive
from .stationary import DistanceKernel, decay


@dataclass(frozen=True)
class GaussianLaplacian(DistanceKernel):
    """k = (exp(-s / 2) + share exp(-roughness t)) / (1 + share).

    Here s = sum_j rate_j (x_j - z_j)^2, and t = sum_j sqrt(rate_j) |x_j - z_j|.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse squared length scale: one for all inputs, or one per input. Positive; learned as log(rate).
    roughness : float, default=1.0
        Length scale of the Gaussian divided by the length scale of the Laplacian. Positive; learned as
        log(roughness).
    share : float, default=1.0
        Weight of the Laplacian relative to the Gaussian. Positive; learned as log(share).
    columns : tuple of int or None, default=None
        Position of each input's rate in `rate`, if several inputs share a rate; None means that input j has rate j.
    """

    roughness: float = positive(1.0)
    share: float = positive(1.0)

    metrics = (SQUARED_EUCLIDEAN, CITY_BLOCK)
    exponents = (1.0, 0.5)

    def metric_rates(self, rate: Rate) -> tuple[Rate, ...]:
        if isinstance(rate, tuple):
            return rate, tuple(self.roughness * own**0.5 for own in rate)
        return rate, self.roughness * rate**0.5

    def correlate(self, distances: Sequence[Matrix]) -> None:
        smooth, rough = self._parts(*distances)
        share = smooth.dtype.type(self.share)
        rough *= share
        smooth += rough
        smooth /= smooth.dtype.type(1.0) + share  # exactly one on the diagonal

    def pull(self, distances: Sequence[Matrix], weights: Matrix) -> tuple[list[Matrix], Vector]:
        smooth, rough = self._parts(*(distance.copy() for distance in distances))
        smooth *= weights
        rough *= weights
        of_rough = self.share / (1.0 + self.share)
        # d k / d log(share) = share / (1 + share)^2 (rough - smooth).
        by_share = of_rough * (1.0 - of_rough) * (float(rough.sum()) - float(smooth.sum()))
        smooth *= -0.5 * (1.0 - of_rough)
        rough *= -of_rough
        return [smooth, rough], np.array([np.vdot(rough, distances[1]), by_share])

    @staticmethod
    def _parts(squared: Matrix, city_block: Matrix) -> tuple[Matrix, Matrix]:
        """Both correlations at their distances, in place."""
        squared *= -0.5
        return decay(squared), decay(np.negative(city_block, out=city_block))
