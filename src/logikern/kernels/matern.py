"""The Matern correlations of smoothness 1/2, 3/2, 5/2: Rasmussen and Williams (2006), eq. (4.17)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .base import Matrix
from .metrics import SQUARED_EUCLIDEAN
from .stationary import Stationary, decay


@dataclass(frozen=True)
class Matern12(Stationary):
    """k = exp(-r), r = sqrt(s), s = sum_j rate_j (x_j - z_j)^2.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse squared length scale: one for all inputs, or one per input. Positive; learned as log(rate).
    columns : tuple of int or None, default=None
        Position of each input's rate in `rate`, if several inputs share a rate; None means that input j has rate j.
    """

    metric = SQUARED_EUCLIDEAN

    def to_correlation(self, squared: Matrix) -> None:
        distance = np.sqrt(squared, out=squared)
        decay(np.negative(distance, out=distance))

    def to_slope(self, squared: Matrix) -> None:
        # f' = -exp(-r) / (2 r) is infinite at r = 0, where it multiplies (x_j - z_j)^2 = 0 with limit 0.
        distance = np.sqrt(squared, out=squared)
        numerator = decay(-distance)
        numerator *= -0.5
        np.divide(numerator, distance, out=distance, where=distance > 0.0)


@dataclass(frozen=True)
class Matern32(Stationary):
    """k = (1 + a) exp(-a), a = sqrt(3 s), s = sum_j rate_j (x_j - z_j)^2.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse squared length scale: one for all inputs, or one per input. Positive; learned as log(rate).
    columns : tuple of int or None, default=None
        Position of each input's rate in `rate`, if several inputs share a rate; None means that input j has rate j.
    """

    metric = SQUARED_EUCLIDEAN
    has_bounded_slope = True

    def to_correlation(self, squared: Matrix) -> None:
        distance = _scaled_root(squared, 3.0)
        fall = decay(-distance)
        distance += 1.0
        distance *= fall

    def to_slope(self, squared: Matrix) -> None:
        # f' = -3/2 exp(-a): the root cancels.
        distance = _scaled_root(squared, 3.0)
        decay(np.negative(distance, out=distance))
        distance *= -1.5


@dataclass(frozen=True)
class Matern52(Stationary):
    """k = (1 + a + a^2 / 3) exp(-a), a = sqrt(5 s), s = sum_j rate_j (x_j - z_j)^2.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse squared length scale: one for all inputs, or one per input. Positive; learned as log(rate).
    columns : tuple of int or None, default=None
        Position of each input's rate in `rate`, if several inputs share a rate; None means that input j has rate j.
    """

    metric = SQUARED_EUCLIDEAN
    has_bounded_slope = True

    def to_correlation(self, squared: Matrix) -> None:
        distance = np.sqrt(squared)
        distance *= math.sqrt(5.0)
        squared *= 5.0 / 3.0
        squared += distance
        squared += 1.0
        squared *= decay(np.negative(distance, out=distance))

    def to_slope(self, squared: Matrix) -> None:
        # f' = -5/6 (1 + a) exp(-a): the root cancels.
        distance = _scaled_root(squared, 5.0)
        fall = decay(-distance)
        distance += 1.0
        distance *= fall
        distance *= -5.0 / 6.0


def _scaled_root(squared: Matrix, factor: float) -> Matrix:
    """sqrt(factor s), in place."""
    np.sqrt(squared, out=squared)
    squared *= math.sqrt(factor)
    return squared
