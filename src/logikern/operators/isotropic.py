"""Stationary kernels with one rate, at any rate, from distances computed once."""

import math
from dataclasses import dataclass, field
from typing import Any, TypeGuard, cast

import numpy as np

from logikern.kernels.base import Kernel
from logikern.kernels.metrics import Metric
from logikern.kernels.stationary import Stationary
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import for_each, row_tiles
from logikern.operators.base import folded_tiles
from logikern.operators.dense import StoredOperator


@dataclass(frozen=True, eq=False)
class Isotropic(StoredOperator):
    """K = f(rate / unit * D) in memory, beside the distances D, which all rates and classes share."""

    kernel: Stationary  # with one rate for all inputs
    X: Any
    distances: "Distances" = field(repr=False)
    matrix: Array = field(repr=False)  # (n, n)
    spare_memory: float

    def contract_gradient(self, left: Array, right: Array) -> Array:
        left, right = left.astype(self.dtype), right.astype(self.dtype)
        has_shape = len(self.kernel.log_parameters) > 1

        def contract(tile: slice) -> Array:
            total = np.zeros(len(self.kernel.log_parameters))
            scaled = self.distances.scaled_for(self.kernel, tile)
            total[0] += np.vdot(left[:, tile] @ _rate_derivative(self.kernel, scaled), right)
            if has_shape:
                total[1:] += self.kernel.weigh_shape_gradient(scaled, left[:, tile].T @ right)
            return total

        return np.sum(for_each(contract, row_tiles(*self.matrix.shape)), axis=0)

    def weigh_gradient(self, weights: Array) -> Array:
        kernel, total = self.kernel, np.zeros(len(self.kernel.log_parameters))
        for start, rows, folded in folded_tiles(weights):
            scaled = self.distances.scaled_for(kernel, rows, slice(start + len(folded)))
            total[0] += np.vdot(_rate_derivative(kernel, scaled), folded)
            if len(total) > 1:
                total[1:] += kernel.weigh_shape_gradient(scaled, folded)
        return total


def _rate_derivative(kernel: Stationary, scaled: Array) -> Array:
    """dK / d log(rate) = f'(s) s at scaled distances."""
    slope = scaled.copy()
    kernel.to_slope(slope)
    slope *= scaled
    return slope


def is_isotropic(kernel: Kernel) -> TypeGuard[Stationary]:
    """Whether the kernel is a function of the distance, with one rate for all inputs."""
    return isinstance(kernel, Stationary) and not isinstance(kernel.rate, tuple)


@dataclass(frozen=True, eq=False)
class Distances:
    """All distances of one metric at a rate, the unit, from which those at other rates follow."""

    metric: Metric
    values: Array = field(repr=False)  # (n, n)
    unit: float  # a power of four: distances at another unit have the same digits
    # Rates above this times the unit need distances of their own: rounding errors grow with the rate.
    largest_factor: float = 256.0

    def serve(self, kernel: Stationary) -> bool:
        """Whether the distances are of the kernel's metric, and accurate enough for its rate."""
        return self.metric == kernel.metric and self.factor(kernel) <= self.largest_factor

    def factor(self, kernel: Stationary) -> float:
        """The kernel's rate in units of the distances' rate."""
        return cast(float, kernel.rate) / self.unit

    def scaled_for(self, kernel: Stationary, *places: slice) -> Array:
        """Distances of some rows, or of some rows and columns, at the kernel's rate; a new array."""
        return self.values[places] * self.values.dtype.type(self.factor(kernel))


def distances_for(kernel: Stationary, X: Any, dtype: np.dtype) -> Distances:
    """Distances of all pairs of points, accurate for the kernel's rate."""
    unit = 4.0 ** round(0.5 * math.log2(cast(float, kernel.rate)))
    return Distances(kernel.metric, kernel.metric.distances(X, X, unit, dtype), unit)


def isotropic(kernel: Stationary, X: Any, distances: Distances, spare_memory: float) -> Isotropic:
    """The kernel matrix from the distances: one pass over them."""
    matrix = np.empty_like(distances.values)
    factor = matrix.dtype.type(distances.factor(kernel))

    def fill(tile: slice) -> None:
        np.multiply(distances.values[tile], factor, out=matrix[tile])
        kernel.to_correlation(matrix[tile])

    for_each(fill, row_tiles(*matrix.shape))
    return Isotropic(kernel, X, distances, matrix, spare_memory)
