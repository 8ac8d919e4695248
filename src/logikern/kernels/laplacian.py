"""The Laplacian correlation: a product of one-dimensional Matern correlations of smoothness 1/2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Matrix
from .metrics import CITY_BLOCK
from .stationary import Stationary, decay


@dataclass(frozen=True)
class Laplacian(Stationary):
    """k = exp(-s), s = sum_j rate_j |x_j - z_j|.

    Each input contributes its own factor, so functions may change abruptly along one input and slowly along the
    others. This suits tables whose columns mean different things.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse length scale: one for all inputs, or one per input. Positive; learned as log(rate).
    columns : tuple of int or None, default=None
        Position of each input's rate in `rate`, if several inputs share a rate; None means that input j has rate j.
    """

    metric = CITY_BLOCK

    def to_correlation(self, distance: Matrix) -> None:
        decay(np.negative(distance, out=distance))

    def to_slope(self, distance: Matrix) -> None:
        self.to_correlation(distance)
        np.negative(distance, out=distance)
