"""Kernels of distances with one rate, at any rate, from distances computed once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard, cast

import numpy as np

from logikern.kernels.base import Kernel
from logikern.kernels.metrics import Metric
from logikern.kernels.stationary import DistanceKernel
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import TILES, for_each, row_tiles, slices
from logikern.operators.base import KernelOperator, add_symmetric_tile, contract_folded, folded_tiles
from logikern.operators.dense import StoredOperator


@dataclass(frozen=True, eq=False)
class Isotropic(StoredOperator):
    """K = f(rate / unit * D) in memory, and the distances D of each metric, which all rates and classes share."""

    kernel: DistanceKernel  # with one rate for all inputs
    X: Any
    distances: tuple["Distances", ...] = field(repr=False)  # one per metric of the kernel
    matrix: Array = field(repr=False)  # (n, n)
    spare_memory: float

    def contract_gradient(self, left: Array, right: Array) -> Array:
        def weigh(rows: slice, columns: slice, weights: Array) -> Array:
            return self._weigh(weights, rows, columns)

        return contract_folded(left.astype(self.dtype), right.astype(self.dtype), weigh)

    def weigh_gradient(self, weights: Array) -> Array:
        total = np.zeros(len(self.kernel.log_parameters))
        for start, rows, folded in folded_tiles(weights):
            total += self._weigh(folded, rows, slice(start + len(folded)))
        return total

    def _weigh(self, weights: Array, *places: slice) -> Array:
        """d/d log h of sum_ij weights_ij K_ij over some rows, or some rows and columns."""
        scaled = scaled_distances(self.kernel, self.distances, *places)
        pulls, by_shape = self.kernel.pull(scaled, weights)
        # s is proportional to a power of the rate.
        parts = zip(self.kernel.exponents, pulls, scaled, strict=True)
        by_rate = sum(exponent * float(np.vdot(pull, own)) for exponent, pull, own in parts)
        return np.concatenate([[by_rate], by_shape])


def accurate_products(operators: Sequence[KernelOperator], functions: Sequence[Array]) -> list[Array]:
    """`accurate_matmul` of operators on the same points, each with its functions (r, n).

    Kernels with the same metrics share the distances, which take most of the time.
    """
    alike = [own for own in operators if isinstance(own, Isotropic) and own.dtype != np.float64]
    if len(alike) < max(2, len(operators)) or len({own.kernel.metrics for own in alike}) > 1:
        return [own.accurate_matmul(columns) for own, columns in zip(operators, functions, strict=True)]
    X, n = alike[0].X, alike[0].n_points
    units = np.max([metric_rates(own.kernel) for own in alike], axis=0)
    pairs, tiles = list(zip(alike[0].kernel.metrics, units.tolist(), strict=True)), list(row_tiles(n, n))

    def multiply(first: int) -> list[Array]:
        totals = [np.zeros(own.shape) for own in functions]
        for tile in tiles[first :: TILES.partial_sums]:
            beyond = X[tile.start :]
            shared = [Distances(own, own.distances(X[tile], beyond, unit, np.float64), unit) for own, unit in pairs]
            for total, operator, own in zip(totals, alike, functions, strict=True):
                scaled = scaled_distances(operator.kernel, shared)
                operator.kernel.correlate(scaled)
                add_symmetric_tile(total, own, scaled[0], tile)
        return totals

    parts = for_each(multiply, range(min(TILES.partial_sums, len(tiles))))
    return [np.sum(own, axis=0) for own in zip(*parts, strict=True)]


def is_isotropic(kernel: Kernel) -> TypeGuard[DistanceKernel]:
    """Whether the kernel is a function of distances, with one rate for all inputs."""
    return isinstance(kernel, DistanceKernel) and not isinstance(kernel.rate, tuple)


@dataclass(frozen=True, eq=False)
class Distances:
    """All distances in one metric at one rate, the unit; distances at other rates are multiples."""

    metric: Metric
    values: Array = field(repr=False)  # (n, n)
    unit: float  # a power of four: distances at another unit have the same digits
    # Rates above this multiple of the unit need distances of their own: rounding errors grow with the rate.
    largest_factor: float = 256.0

    def serve(self, rate: float) -> bool:
        """Whether the distances are accurate enough for this rate."""
        return rate / self.unit <= self.largest_factor

    def scaled_to(self, rate: float, *places: slice) -> Array:
        """Distances of some rows, or of some rows and columns, at this rate; a new array."""
        return self.values[places] * self.values.dtype.type(rate / self.unit)


def metric_rates(kernel: DistanceKernel) -> tuple[float, ...]:
    """The rate of each metric, for a kernel with one rate."""
    return cast(tuple[float, ...], kernel.metric_rates(kernel.rate))


def scaled_distances(kernel: DistanceKernel, distances: Sequence[Distances], *places: slice) -> list[Array]:
    """Distances of each metric at the kernel's rate; new arrays."""
    pairs = zip(distances, metric_rates(kernel), strict=True)
    return [own.scaled_to(rate, *places) for own, rate in pairs]


def distances_at(metric: Metric, rate: float, X: Any, dtype: np.dtype) -> Distances:
    """Distances of all pairs of points, accurate for a rate."""
    unit = 4.0 ** round(0.5 * math.log2(rate))
    return Distances(metric, metric.distances(X, X, unit, dtype), unit)


def isotropic(kernel: DistanceKernel, X: Any, distances: tuple[Distances, ...], spare_memory: float) -> Isotropic:
    """The kernel matrix from the distances: one pass over them."""
    matrix = np.empty_like(distances[0].values)

    def fill(tile: slice) -> None:
        scaled = scaled_distances(kernel, distances, tile)
        kernel.correlate(scaled)
        matrix[tile] = scaled[0]

    for_each(fill, slices(0, len(matrix), TILES.triangle_rows))
    return Isotropic(kernel, X, distances, matrix, spare_memory)
