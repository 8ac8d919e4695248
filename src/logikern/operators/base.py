"""A kernel bound to points: products only."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import TILES, for_each, row_tiles, slices


class KernelOperator(ABC):
    """The matrix K(X, X) of one kernel on fixed points, seen through its products.

    Functions on the points are rows, so that the product of all of them with
    the symmetric matrix is `functions @ K`.

    Attributes
    ----------
    kernel : Kernel
    X : the points
    n_points : int
    dtype : numpy dtype in which products are computed
    """

    kernel: Kernel
    X: Any
    n_points: int
    dtype: np.dtype

    @abstractmethod
    def matmul(self, functions: Array) -> Array:
        """functions @ K, (r, n) -> (r, n), in the precision of the functions."""

    @property
    def parts(self) -> "tuple[KernelOperator, ...]":
        """Operators on consecutive points whose coupling a preconditioner may ignore; itself if all are coupled."""
        return (self,)

    @property
    def n_reads(self) -> float:
        """Number of stored values that a product reads."""
        return float(self.n_points) ** 2

    def summed_matmul(self, functions: Array) -> Array:
        """The product with the stored matrix, summed in float64; the accurate product if nothing is stored."""
        return self.accurate_matmul(functions)

    def accurate_matmul(self, functions: Array) -> Array:
        """functions @ K with kernel values in float64, not with stored values: the product of the true model."""
        return accurate_product(functions, self.kernel, self.X)

    def accurate_columns(self, functions: Array, indices: Indices) -> Array:
        """Some columns of the accurate product, (r, n) -> (r, len(indices))."""
        return product_towards(functions, self.kernel, self.X[indices], self.X)

    @abstractmethod
    def in_double(self) -> "KernelOperator":
        """The same kernel on the same points, with all products in float64."""

    @abstractmethod
    def diagonal(self) -> Array:
        """diag K, (n,)."""

    @abstractmethod
    def rows(self, indices: Indices) -> Array:
        """K[indices], (len(indices), n)."""

    @abstractmethod
    def contract_gradient(self, left: Array, right: Array) -> Array:
        """d/d log h of sum_r left[r] K right[r], one value per kernel parameter (Seeger 2008, eq. 6)."""

    def weigh_gradient(self, weights: Array) -> Array:
        """d/d log h of sum_ij weights_ij K_ij, one value per kernel parameter; weights (n, n).

        Only the part of the symmetric kernel on and below the diagonal is evaluated.
        """
        total = np.zeros(len(self.kernel.log_parameters))
        if total.size:
            for start, rows, folded in folded_tiles(weights):
                columns = self.X[: start + len(folded)]
                total += self.kernel.weigh_gradient(self.X[rows], columns, folded.astype(self.dtype))
        return total


def product_towards(functions: Array, kernel: Kernel, new: Any, X: Any) -> Array:
    """functions @ K(X, new) with values in float64, (r, n) -> (r, n_new)."""
    values = np.asarray(kernel(new, X), dtype=np.float64)
    return functions.astype(np.float64, copy=False) @ values.T


def kernel_rows(kernel: Kernel, X: Any, indices: Indices, dtype: np.dtype) -> Array:
    """K[indices], (len(indices), n), computed in `dtype`."""
    points = X[indices]
    block = np.empty((count_points(points), count_points(X)), dtype)
    kernel.fill(block, points, X)
    return block


def accurate_product(functions: Array, kernel: Kernel, X: Any) -> Array:
    """functions @ K(X, X) with values in float64, (r, n) -> (r, n); only a few tiles are in memory at a time.

    Only values on and above the diagonal are computed; those below it are the same.
    """
    functions, n = functions.astype(np.float64, copy=False), count_points(X)
    tiles = list(row_tiles(n, n))

    def multiply(first: int) -> Array:
        total = np.zeros(functions.shape)
        for tile in tiles[first :: TILES.partial_sums]:
            values = np.asarray(kernel(X[tile], X[tile.start :]), dtype=np.float64)
            add_symmetric_tile(total, functions, values, tile)
        return total

    return np.sum(for_each(multiply, range(min(TILES.partial_sums, len(tiles)))), axis=0)


def add_symmetric_tile(total: Array, functions: Array, values: Array, tile: slice) -> None:
    """Add the products of functions (r, n) with rows of K, given from the diagonal on, and with their mirror."""
    total[:, tile] += functions[:, tile.start :] @ values.T
    total[:, tile.stop :] += functions[:, tile] @ values[:, tile.stop - tile.start :]


def folded_tiles(weights: Array) -> Iterator[tuple[int, slice, Array]]:
    """Row tiles of weights (n, n) up to the diagonal, plus the transposed entries beyond it."""
    tile = TILES.triangle_rows
    for start in range(0, len(weights), tile):
        rows = slice(start, start + tile)
        folded = weights[rows, : start + tile].copy()
        folded[:, :start] += weights[:start, rows].T
        yield start, rows, folded


def contract_folded(left: Array, right: Array, weigh: Callable[[slice, slice, Array], Array]) -> Array:
    """Sum over tiles of weigh(rows, columns, weights), for weights left' right of a symmetric kernel; both (r, n).

    Weights beyond the diagonal are added to their mirror images, which halves the elementwise work.
    """

    def contract(rows: slice) -> Array:
        before, weights = slice(rows.start), left[:, rows].T @ right[:, : rows.stop]
        weights[:, before] += right[:, rows].T @ left[:, before]
        return weigh(rows, slice(rows.stop), weights)

    # The last rows are the longest: they come first, for balanced threads.
    tiles = slices(0, left.shape[1], TILES.triangle_rows)[::-1]
    return np.asarray(np.sum(for_each(contract, tiles), axis=0))


def count_points(X: Any) -> int:
    """Number of points of any kind: sparse matrices have no length, lists no shape."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def in_precision(X: Any, dtype: np.dtype) -> Any:
    """Numeric points in `dtype`, sequences of objects as an array, any other kind unchanged."""
    if not hasattr(X, "shape"):
        points = np.empty(len(X), dtype=object)
        for index, point in enumerate(X):  # np.array would split points that are lists
            points[index] = point
        return points
    is_numeric = hasattr(X, "astype") and X.dtype.kind in "fiub"
    return X.astype(dtype, copy=False) if is_numeric else X
