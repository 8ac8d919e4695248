"""The kernel matrix, computed once and kept."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.operators.base import KernelOperator, in_precision

ACCURATE_TILE = 256


@dataclass(frozen=True, eq=False)
class Dense(KernelOperator):
    """K(X, X) in memory; a product is one call of the BLAS.

    With float32 storage the functions are cast, not the matrix: a float64 block
    would make NumPy copy the whole matrix to float64 for every product.

    Parameters
    ----------
    kernel : Kernel
    X : the points
    matrix : array of shape (n, n)
        The stored matrix, float32 or float64.
    """

    kernel: Kernel
    X: Any
    matrix: Array = field(repr=False)

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return self.matrix.shape[0]

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.matrix.dtype

    def matmul(self, functions: Array) -> Array:
        product = functions.astype(self.matrix.dtype, copy=False) @ self.matrix
        return product.astype(np.float64, copy=False)

    def accurate_matmul(self, functions: Array) -> Array:
        if self.matrix.dtype == np.float64:
            return self.matmul(functions)
        product = np.empty(functions.shape)
        for start in range(0, self.n_points, ACCURATE_TILE):
            part = slice(start, start + ACCURATE_TILE)
            product[:, part] = functions @ self.matrix[part].astype(np.float64).T
        return product

    def diagonal(self) -> Array:
        return self.matrix.diagonal().astype(np.float64)

    def rows(self, indices: Indices) -> Array:
        return self.matrix[indices]

    def contract_gradient(self, left: Array, right: Array) -> Array:
        return self.kernel.contract_gradient(self.X, self.X, left, right)


def dense(kernel: Kernel, X: Any, dtype: np.dtype) -> Dense:
    """Compute K(X, X) and keep it in `dtype`."""
    points = in_precision(X, dtype)
    return Dense(kernel, X, np.asarray(kernel(points, points), dtype=dtype))
