"""Kernels of the weighted distance: each is defined by a profile f and its slope."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from logikern.numerics.parallel import for_each, row_tiles

from .base import Kernel, Matrix, Points, Vector
from .distance import FARTHEST, compare
from .inputs import Rate, common_dtype
from .parameters import RATES, positive


def decay(exponent: Matrix) -> Matrix:
    """exp(exponent) for exponent <= 0, in place; never below 50 times the smallest normal number.

    Denormal numbers carry no information for a kernel, but cost up to 20 times as much, here and in every product.
    """
    floor = float(np.log(np.finfo(exponent.dtype).tiny)) + 4.0
    # A check is cheaper than a write.
    if exponent.min(initial=0.0) < floor:
        np.maximum(exponent, floor, out=exponent)
    return np.exp(exponent, out=exponent)


@dataclass(frozen=True)
class Stationary(Kernel):
    """k(x, z) = f(s), s = sum_j rate_j (x_j - z_j)^2, with f(0) = 1.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse squared length scale: one for all inputs, or one per input (automatic relevance
        determination). Positive; learned as log(rate).
    """

    rate: Rate = positive(1.0, per_input=True, role=RATES[0])

    @abstractmethod
    def to_correlation(self, squared: Matrix) -> None:
        """Replace s by f(s), in place."""

    @abstractmethod
    def to_slope(self, squared: Matrix) -> None:
        """Replace s by f'(s), in place; any finite value where s = 0 and f' is infinite."""

    def weigh_shape_gradient(self, squared: Matrix, weights: Matrix) -> Vector:
        """d/d log h of sum_ij weights_ij f(s_ij) by the parameters h of f, without the rates."""
        return np.zeros(0)

    def __call__(self, X: Points, Z: Points) -> Matrix:
        result = np.empty((X.shape[0], Z.shape[0]), common_dtype(X, Z))
        self.fill(result, X, Z)
        return result

    def fill(self, out: Matrix, X: Points, Z: Points) -> None:
        pair = compare(X, Z, self.rate)

        def fill(tile: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                self.to_correlation(pair.squared_distances(tile, out=out[tile]))

        for_each(fill, row_tiles(*pair.shape))
        if X is Z:
            np.fill_diagonal(out, 1.0)

    def diagonal(self, X: Points) -> Vector:
        return np.ones(X.shape[0], np.result_type(X.dtype, np.float32))

    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        # d k / d log(rate_j) = f'(s) rate_j (x_j - z_j)^2, and the sum over j of the last two factors is s.
        pair = compare(X, Z, self.rate)
        squared = np.empty(pair.shape, np.result_type(weights, np.float32))
        with np.errstate(over="ignore", invalid="ignore"):
            pair.squared_distances(slice(None), out=squared)
        pull = squared.copy()
        self.to_slope(pull)
        pull *= weights
        if pair.may_be_cut:
            pull[squared >= FARTHEST] = 0.0  # f is zero there, and its slope times s may not be finite
        by_rate = pair.contract_inputs(pull) if isinstance(self.rate, tuple) else [np.vdot(pull, squared)]
        return np.concatenate([by_rate, self.weigh_shape_gradient(squared, weights)])
