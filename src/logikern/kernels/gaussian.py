"""The Gaussian correlation of Seeger (2008), eq. (7), at unit variance."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Matrix
from .metrics import SQUARED_EUCLIDEAN
from .stationary import Stationary, decay


@dataclass(frozen=True)
class Gaussian(Stationary):
    """k = exp(-s / 2), s = sum_j rate_j (x_j - z_j)^2.

    The variance v_c of Seeger (2008), eq. (7), is not a parameter of the kernel, because it belongs to a class
    (`variance` of the estimators).

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse squared length scale, w_c in eq. (7): one for all inputs, or one per input. Positive; learned as
        log(rate).
    columns : tuple of int or None, default=None
        Position of each input's rate in `rate`, if several inputs share a rate; None means that input j has rate j.
    """

    metric = SQUARED_EUCLIDEAN
    has_bounded_slope = True

    def to_correlation(self, squared: Matrix) -> None:
        squared *= -0.5
        decay(squared)

    def to_slope(self, squared: Matrix) -> None:
        self.to_correlation(squared)
        squared *= -0.5
