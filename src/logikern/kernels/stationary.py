"""Kernels of a weighted distance: each is defined by a metric, a profile f and its slope."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from logikern.numerics.parallel import for_each, row_tiles

from .base import Kernel, Matrix, Points, Vector
from .inputs import Rate, common_dtype
from .metrics import FARTHEST, Metric, Pair, SingleSquares
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
class DistanceKernel(Kernel):
    """A function of one or more weighted distances s_m(x, z), equal to one where they are zero.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        One for all inputs, or one per input (automatic relevance determination). Positive; learned as log(rate).
    columns : tuple of int or None, default=None
        Which of the rates each input has: input j has rate[columns[j]]. Inputs that encode one column of a table,
        such as the levels of a category, share its rate. None gives input j the rate j. Used only if there are
        several rates; not learned.
    """

    rate: Rate = positive(1.0, per_input=True, role=RATES[0])
    columns: tuple[int, ...] | None = places("rate")

    @property
    @abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """The metric of each s_m."""

    @property
    @abstractmethod
    def exponents(self) -> tuple[float, ...]:
        """The power of the rate in each s_m."""

    @abstractmethod
    def metric_rates(self, rate: Rate) -> tuple[Rate, ...]:
        """The weights of inputs in each s_m, for a rate of all inputs or of each."""

    @abstractmethod
    def correlate(self, distances: Sequence[Matrix]) -> None:
        """Replace the first of the distances s_m by k, in place; the others may be overwritten."""

    @abstractmethod
    def pull(self, distances: Sequence[Matrix], weights: Matrix) -> tuple[list[Matrix], Vector]:
        """weights * dk/ds_m for every m; and d/d log h of sum_ij weights_ij k_ij for all h but the rates."""

    def __call__(self, X: Points, Z: Points) -> Matrix:
        result = np.empty((X.shape[0], Z.shape[0]), common_dtype(X, Z))
        self.fill(result, X, Z)
        return result

    def fill(self, out: Matrix, X: Points, Z: Points) -> None:
        first, *others = self._compare(X, Z, out.dtype)

        def fill(tile: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                distances = [first.distances(tile, out=out[tile])]
                distances += [pair.distances(tile, out=np.empty_like(out[tile])) for pair in others]
                self.correlate(distances)

        for_each(fill, row_tiles(*first.shape))
        if X is Z:
            np.fill_diagonal(out, 1.0)

    def diagonal(self, X: Points) -> Vector:
        return np.ones(X.shape[0], np.result_type(X.dtype, np.float32))

    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        dtype = np.result_type(weights, np.float32)
        pairs = self._compare(X, Z, dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            distances = [pair.distances(slice(None), out=np.empty(pair.shape, dtype)) for pair in pairs]
            pulls, by_shape = self.pull(distances, weights)
        by_rate = np.zeros(np.size(self.rate))
        for pair, own, distance, exponent in zip(pairs, pulls, distances, self.exponents, strict=True):
            if pair.may_be_cut:
                own[distance >= FARTHEST] = 0.0  # k is zero there, and its slope times s may not be finite
            by_rate += exponent * self._by_rate(pair, own, distance)
        return np.concatenate([by_rate, by_shape])

    def spread_rate(self, n_inputs: int, columns: tuple[int, ...] | None = None) -> DistanceKernel:
        """The same kernel with its one rate repeated for every input, or for every column."""
        columns = columns if self.columns is None else self.columns
        n_rates = n_inputs if columns is None else max(columns) + 1
        return replace(self, rate=(cast(float, self.rate),) * n_rates, columns=columns)

    def input_rates(self, n_inputs: int) -> Rate:
        """One rate for all inputs, or the rate of each."""
        if not isinstance(self.rate, tuple) or self.columns is None:
            return self.rate
        if len(self.columns) != n_inputs:
            raise ValueError(
                f"`columns` must name a rate for every input, but has {len(self.columns)} entries for {n_inputs} "
                "inputs. Pass one for each column of `X`."
            )
        return tuple(self.rate[place] for place in self.columns)

    def sum_by_rate(self, by_input: Vector) -> Vector:
        """Sum over the inputs of each rate, from the contribution of each input (d,)."""
        if not isinstance(self.rate, tuple):
            return np.array([by_input.sum()])
        return by_input if self.columns is None else np.bincount(self.columns, by_input, len(self.rate))

    def _compare(self, X: Points, Z: Points, dtype: np.dtype) -> list[Pair]:
        rates = zip(self.metrics, self.metric_rates(self.input_rates(X.shape[1])), strict=True)
        return [metric.compare(X, Z, own, dtype) for metric, own in rates]

    def _by_rate(self, pair: Pair, pull: Matrix, distance: Matrix) -> Vector:
        """sum_ij pull_ij s_ij, or the contribution of the inputs of each rate."""
        if not isinstance(self.rate, tuple):
            return np.array([np.vdot(pull, distance)])
        return self.sum_by_rate(pair.contract_inputs(pull))


@dataclass(frozen=True)
class Stationary(DistanceKernel):
    """k(x, z) = f(s), s = sum_j rate_j |x_j - z_j|^power, with f(0) = 1.

    A subclass sets `metric`, which determines s, and implements f and its derivative.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Inverse length scale, raised to the power of the metric: one number for all inputs, or one per input.
    columns : tuple of int or None, default=None
        Position of each input's rate in `rate`, if several inputs share a rate; None means that input j has rate j.
    """

    exponents = (1.0,)
    # Whether |f'| <= 2 everywhere: small errors of s are then small errors of k. This fails for a root at s = 0.
    has_bounded_slope: ClassVar[bool] = False

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """The metric that determines s."""

    @abstractmethod
    def to_correlation(self, distance: Matrix) -> None:
        """Replace s by f(s), in place."""

    @abstractmethod
    def to_slope(self, distance: Matrix) -> None:
        """Replace s by f'(s), in place; where s = 0 and f' is infinite, by any finite value."""

    def weigh_shape_gradient(self, distance: Matrix, weights: Matrix) -> Vector:
        """Derivative of sum_ij weights_ij f(s_ij) with respect to log h, for all parameters h except the rates."""
        return np.zeros(0)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (self.metric,)

    def metric_rates(self, rate: Rate) -> tuple[Rate, ...]:
        return (rate,)

    def in_single(self, X: Points) -> SingleSquares | None:
        """Points prepared for values in single precision, with errors up to 1e-4; None if not supported."""
        return self.metric.in_single(X, self.input_rates(X.shape[1])) if self.has_bounded_slope else None

    def correlate(self, distances: Sequence[Matrix]) -> None:
        self.to_correlation(distances[0])

    def pull(self, distances: Sequence[Matrix], weights: Matrix) -> tuple[list[Matrix], Vector]:
        slope = distances[0].copy()
        self.to_slope(slope)
        slope *= weights
        return [slope], self.weigh_shape_gradient(distances[0], weights)
