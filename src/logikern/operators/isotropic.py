"""Kernels of the distance alone, at any rate, from distances computed once."""

from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np

from logikern.kernels.base import Kernel
from logikern.kernels.distance import squared_distances
from logikern.kernels.stationary import Stationary
from logikern.kernels.tiles import row_tiles
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import for_each
from logikern.operators.dense import StoredOperator


@dataclass(frozen=True, eq=False)
class Isotropic(StoredOperator):
    """K = f(rate * D) in memory, beside the squared distances D, which all rates and classes share.

    Parameters
    ----------
    kernel : Stationary
        With one rate for all inputs.
    X : the points
    distances : array of shape (n, n)
        Squared distances at rate one.
    matrix : array of shape (n, n)
    """

    kernel: Stationary
    X: Any
    distances: Array = field(repr=False)
    matrix: Array = field(repr=False)

    def contract_gradient(self, left: Array, right: Array) -> Array:
        left, right = left.astype(self.dtype), right.astype(self.dtype)
        has_shape = len(self.kernel.log_parameters) > 1

        def contract(tile: slice) -> Array:
            total = np.zeros(len(self.kernel.log_parameters))
            scaled = self.distances[tile] * self.dtype.type(self.kernel.rate)
            pull = scaled.copy()
            self.kernel.to_slope(pull)
            pull *= scaled  # dK / d log(rate) = f'(s) s
            total[0] += np.vdot(left[:, tile] @ pull, right)
            if has_shape:
                total[1:] += self.kernel.weigh_shape_gradient(scaled, left[:, tile].T @ right)
            return total

        return np.sum(for_each(contract, row_tiles(*self.matrix.shape)), axis=0)


def is_isotropic(kernel: Kernel) -> TypeGuard[Stationary]:
    """Whether the kernel is a function of the distance, with one rate for all inputs."""
    return isinstance(kernel, Stationary) and not isinstance(kernel.rate, tuple)


def isotropic(kernel: Stationary, X: Any, distances: Array) -> Isotropic:
    """The kernel matrix from the distances: one pass over them."""
    matrix = np.empty_like(distances)

    def fill(tile: slice) -> None:
        np.multiply(distances[tile], distances.dtype.type(kernel.rate), out=matrix[tile])
        kernel.to_correlation(matrix[tile])

    for_each(fill, row_tiles(*distances.shape))
    return Isotropic(kernel, X, distances, matrix)


def distances_between(X: Any) -> Array:
    """All squared distances, in the precision of the points, zero on the diagonal."""
    return squared_distances(X, X)
