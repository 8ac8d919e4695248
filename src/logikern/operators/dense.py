"""The kernel matrix, computed once and kept."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import TILES, even_slices, for_each, slices
from logikern.operators.base import KernelOperator, accurate_product, contract_folded
from logikern.operators.loops import compiled
from logikern.operators.tiled import tiled


@dataclass(frozen=True)
class ProductPolicy:
    """When compiled loops multiply a stored matrix instead of the BLAS."""

    # Largest number of functions. With 10,000 points in single precision, loops take 0.4 to 0.5 of the CPU time of
    # the BLAS for 6 to 10 functions, 0.6 for 16, 0.7 for 24, and 0.8 for 32.
    most_functions: int = 24
    # Fewest entries of the matrix: with fewer, a fit would save less time than the compiler takes to load.
    fewest_entries: float = 4e7

    def loops_pay(self, functions: Array, matrix: Array) -> bool:
        return 2 <= len(functions) <= self.most_functions and matrix.size >= self.fewest_entries


POLICY = ProductPolicy()


class StoredOperator(KernelOperator):
    """An operator whose matrix is in memory: a product is one call of the BLAS.

    Attributes
    ----------
    matrix : array of shape (n, n)
        float32 or float64.
    spare_memory : float
        Bytes that an additional matrix of float64 may take.
    """

    matrix: Array
    spare_memory: float

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return self.matrix.shape[0]

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.matrix.dtype

    def matmul(self, functions: Array) -> Array:
        return symmetric_product(functions, self.matrix)

    def summed_matmul(self, functions: Array) -> Array:
        return summed_product(functions, self.matrix)

    def accurate_matmul(self, functions: Array) -> Array:
        if self.dtype == np.float64:
            return product(functions, self.matrix)
        return accurate_product(functions, self.kernel, self.X)

    def in_double(self) -> KernelOperator:
        if self.dtype == np.float64:
            return self
        double = np.dtype(np.float64)
        if double.itemsize * self.n_points**2 > self.spare_memory:
            return tiled(self.kernel, self.X, double, self.spare_memory)
        return dense(self.kernel, self.X, double)

    def diagonal(self) -> Array:
        return self.matrix.diagonal().astype(np.float64)

    def rows(self, indices: Indices) -> Array:
        return self.matrix[indices]


@dataclass(frozen=True, eq=False)
class Dense(StoredOperator):
    """K(X, X) in memory."""

    kernel: Kernel
    X: Any
    matrix: Array = field(repr=False)  # (n, n): the stored matrix, float32 or float64
    spare_memory: float = np.inf

    def contract_gradient(self, left: Array, right: Array) -> Array:
        if self.kernel.is_pairwise or not self.kernel.log_parameters.size:
            return self.kernel.contract_gradient(self.X, self.X, left.astype(self.dtype), right.astype(self.dtype))

        def weigh(rows: slice, columns: slice, weights: Array) -> Array:
            return self.kernel.weigh_gradient(self.X[rows], self.X[columns], weights)

        return contract_folded(left.astype(self.dtype), right.astype(self.dtype), weigh)


def product(functions: Array, matrix: Array) -> Array:
    """functions @ matrix in the precision of the matrix, returned in the precision of the functions.

    The functions are cast, not the matrix: otherwise NumPy would copy the whole matrix to float64 for every product.
    """
    result = np.empty((len(functions), matrix.shape[1]), dtype=functions.dtype)
    functions = functions.astype(matrix.dtype, copy=False)

    def multiply(columns: slice) -> None:
        result[:, columns] = functions @ matrix[:, columns]

    for_each(multiply, even_slices(matrix.shape[1], TILES.fewest_columns))
    return result


def symmetric_product(functions: Array, matrix: Array) -> Array:
    """functions @ matrix for a symmetric matrix, a few rows at a time, which reduces packing in the BLAS."""
    if len(functions) == 1:
        return product(functions, matrix)
    if POLICY.loops_pay(functions, matrix):
        return few_products(functions, matrix)
    result = np.empty(functions.shape, dtype=functions.dtype)
    columns = functions.astype(matrix.dtype, copy=False).T

    def multiply(part: slice) -> None:
        for rows in slices(part.start, part.stop, TILES.product_rows):
            result[:, rows] = (matrix[rows] @ columns).T

    for_each(multiply, even_slices(len(matrix), TILES.fewest_columns))
    return result


def few_products(functions: Array, matrix: Array) -> Array:
    """functions @ matrix for a symmetric matrix and few functions, by compiled loops that read it once."""
    n_functions, multiply_rows = len(functions), compiled()
    own = np.zeros((n_functions + n_functions % 2, len(matrix)), matrix.dtype)
    own[:n_functions] = functions
    result = np.empty_like(own)
    parts = even_slices(len(matrix), TILES.fewest_columns)
    for_each(lambda rows: multiply_rows(own, matrix, rows.start, rows.stop, result), parts)
    return result[:n_functions].astype(functions.dtype, copy=False)


def summed_product(functions: Array, matrix: Array) -> Array:
    """functions @ matrix summed in float64; the matrix is cast a few rows at a time."""
    if matrix.dtype == np.float64:
        return product(functions, matrix)
    result = np.zeros((len(functions), matrix.shape[1]))

    def multiply(columns: slice) -> None:
        for part in slices(0, len(matrix), TILES.summed_rows):
            result[:, columns] += functions[:, part] @ matrix[part, columns].astype(np.float64)

    for_each(multiply, even_slices(matrix.shape[1], TILES.fewest_columns))
    return result


def dense(kernel: Kernel, X: Any, dtype: np.dtype, spare_memory: float = np.inf) -> Dense:
    """Compute K(X, X) and keep it in `dtype`."""
    matrix = np.empty((X.shape[0], X.shape[0]), dtype)
    kernel.fill(matrix, X, X)
    return Dense(kernel, X, matrix, spare_memory)
