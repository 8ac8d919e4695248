"""The rational quadratic correlation: Rasmussen and Williams (2006), eq. (4.19)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Matrix, Vector
from .metrics import SQUARED_EUCLIDEAN
from .parameters import positive
from .stationary import Stationary, decay


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """k = (1 + s / (2 alpha))^-alpha, s = sum_j rate_j (x_j - z_j)^2.

    This is a mixture of Gaussian kernels over all rates; the Gaussian kernel is the limit for large alpha. Values
    of s above 1e20 count as 1e20, which matters only for small alpha.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse squared length scale: one for all inputs, or one per input. Positive; learned as log(rate).
    alpha : float, default=1.0
        Large values make the mixture narrow. Positive; learned as log(alpha).
    columns : tuple of int or None, default=None
        Position of each input's rate in `rate`, if several inputs share a rate; None means that input j has rate j.
    """

    metric = SQUARED_EUCLIDEAN
    has_bounded_slope = True
    alpha: float = positive(1.0)

    def to_correlation(self, squared: Matrix) -> None:
        self._to_power(squared, -self.alpha)

    def to_slope(self, squared: Matrix) -> None:
        self._to_power(squared, -self.alpha - 1.0)
        squared *= -0.5

    def weigh_shape_gradient(self, squared: Matrix, weights: Matrix) -> Vector:
        # With u = s / (2 alpha): d k / d log(alpha) = alpha k (u / (1 + u) - log(1 + u)).
        ratio = squared / (2.0 * self.alpha)
        logarithm = np.log1p(ratio)
        derivative = ratio / (1.0 + ratio) - logarithm
        derivative *= decay(-self.alpha * logarithm)
        return np.array([self.alpha * np.vdot(derivative, weights)])

    def _to_power(self, squared: Matrix, power: float) -> None:
        """Replace s by (1 + s / (2 alpha))^power, using log1p because the sum is rounded for large alpha."""
        squared *= 0.5 / self.alpha
        np.log1p(squared, out=squared)
        squared *= power
        decay(squared)
