"""Kernels of a weighted distance: each is defined by a metric, a profile f and its slope."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from logikern.numerics.parallel import for_each, row_tiles

from .base import Kernel, Matrix, Points, Vector
from .inputs import Rate, common_dtype
from .metrics import FARTHEST, Metric, Pair
from .parameters import RATES, places, positive


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
    """k(x, z) = f(s), s = sum_j rate_j |x_j - z_j|^power, with f(0) = 1.

    A subclass sets `metric`, which says what s is, and implements f and its slope.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse length scale to the power of the metric: one for all inputs, or one per input (automatic relevance
        determination). Positive; learned as log(rate).
    columns : tuple of int or None, default=None
        Which of the rates each input has: input j has rate[columns[j]]. Inputs that encode one column of a table,
        such as the levels of a category, share its rate. None gives input j the rate j. Used only if there are
        several rates; not learned.
    """

    rate: Rate = positive(1.0, per_input=True, role=RATES[0])
    columns: tuple[int, ...] | None = places("rate")

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """What s is."""

    @abstractmethod
    def to_correlation(self, distance: Matrix) -> None:
        """Replace s by f(s), in place."""

    @abstractmethod
    def to_slope(self, distance: Matrix) -> None:
        """Replace s by f'(s), in place; any finite value where s = 0 and f' is infinite."""

    def weigh_shape_gradient(self, distance: Matrix, weights: Matrix) -> Vector:
        """d/d log h of sum_ij weights_ij f(s_ij) by the parameters h of f, without the rates."""
        return np.zeros(0)

    def __call__(self, X: Points, Z: Points) -> Matrix:
        result = np.empty((X.shape[0], Z.shape[0]), common_dtype(X, Z))
        self.fill(result, X, Z)
        return result

    def fill(self, out: Matrix, X: Points, Z: Points) -> None:
        pair = self._compare(X, Z, out.dtype)

        def fill(tile: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                self.to_correlation(pair.distances(tile, out=out[tile]))

        for_each(fill, row_tiles(*pair.shape))
        if X is Z:
            np.fill_diagonal(out, 1.0)

    def diagonal(self, X: Points) -> Vector:
        return np.ones(X.shape[0], np.result_type(X.dtype, np.float32))

    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        # d k / d log(rate_j) = f'(s) s_j, where s_j is what the inputs of a rate add to s.
        dtype = np.result_type(weights, np.float32)
        pair = self._compare(X, Z, dtype)
        distance = np.empty(pair.shape, dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            pair.distances(slice(None), out=distance)
        pull = distance.copy()
        self.to_slope(pull)
        pull *= weights
        if pair.may_be_cut:
            pull[distance >= FARTHEST] = 0.0  # f is zero there, and its slope times s may not be finite
        return np.concatenate([self._by_rate(pair, pull, distance), self.weigh_shape_gradient(distance, weights)])

    def spread_rate(self, n_inputs: int, columns: tuple[int, ...] | None = None) -> Stationary:
        """The same kernel with its one rate repeated for every input, or for every one of its columns."""
        columns = columns if self.columns is None else self.columns
        n_rates = n_inputs if columns is None else max(columns) + 1
        return replace(self, rate=(cast(float, self.rate),) * n_rates, columns=columns)

    def _compare(self, X: Points, Z: Points, dtype: np.dtype) -> Pair:
        rate, columns = self.rate, self.columns
        if isinstance(rate, tuple) and columns is not None:
            if len(columns) != X.shape[1]:
                raise ValueError(
                    f"`columns` must name a rate for every input, but has {len(columns)} places for {X.shape[1]} "
                    "inputs. Pass as many as `X` has columns."
                )
            rate = tuple(rate[place] for place in columns)
        return self.metric.compare(X, Z, rate, dtype)

    def _by_rate(self, pair: Pair, pull: Matrix, distance: Matrix) -> Vector:
        """sum_ij pull_ij s_ij, or what the inputs of each rate add to it."""
        if not isinstance(self.rate, tuple):
            return np.array([np.vdot(pull, distance)])
        by_input = pair.contract_inputs(pull)
        return by_input if self.columns is None else np.bincount(self.columns, by_input, len(self.rate))
