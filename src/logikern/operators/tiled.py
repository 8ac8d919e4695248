"""The kernel matrix recomputed tile by tile in every product: linear memory."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.kernels.inputs import is_sparse
from logikern.kernels.metrics import SingleSquares
from logikern.kernels.stationary import Stationary
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, n_threads, slices
from logikern.operators.base import KernelOperator, kernel_rows


@dataclass(frozen=True)
class TiledPolicy:
    """Sizes of tiles."""

    # Points on a side. With 54 inputs and 64 functions, tiles of 256 take a tenth longer because of the calls, and
    # tiles of 1024 take the same time. The smallest tiles take 0.4 MB for each thread, whatever the memory.
    fewest: int = 128
    most: int = 512
    # The same for sparse points, which take longer to prepare.
    most_sparse: int = 2048
    # Bytes of each value: three arrays of float64, of which two are temporary.
    bytes_per_value: int = 24


POLICY = TiledPolicy()


@dataclass(frozen=True, eq=False)
class Tiled(KernelOperator):
    """K(X, X) never stored: each thread computes one tile of `tile` by `tile` values at a time.

    Only the part on and above the diagonal is evaluated; its mirror image comes from the same tile, which halves the
    cost of the kernel itself. In single precision, smooth kernels of near points have distances in single precision
    too, with errors of kernel values up to 1e-4; solvers verify the result by `accurate_matmul`.
    """

    kernel: Kernel
    X: Any
    tile: int  # points per tile
    dtype: np.dtype  # dtype of kernel values and products

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return self.X.shape[0]

    def matmul(self, functions: Array) -> Array:
        return self._product(functions, self.dtype).astype(functions.dtype, copy=False)

    def accurate_matmul(self, functions: Array) -> Array:
        return self._product(functions, np.dtype(np.float64))

    def _product(self, functions: Array, dtype: np.dtype) -> Array:
        functions, product = functions.astype(dtype, copy=False), np.zeros(functions.shape)
        for rows in slices(0, self.n_points, self.tile):

            def multiply(columns: slice, rows: slice = rows) -> Array:
                values = self._values(rows, columns, dtype)
                if columns != rows:
                    product[:, columns] += functions[:, rows] @ values
                return functions[:, columns] @ values.T

            # Tiles of the same rows have different columns: threads add to different parts of the product.
            for part in for_each(multiply, slices(rows.start, self.n_points, self.tile)):
                product[:, rows] += part
        return product

    def _values(self, rows: slice, columns: slice, dtype: np.dtype) -> Array:
        """Kernel values between two sets of points."""
        values = np.empty((rows.stop - rows.start, columns.stop - columns.start), dtype)
        single = self._in_single if dtype == np.float32 else None
        if single is not None and single.write(values, rows, columns):
            self.kernel.to_correlation(values)  # type: ignore[attr-defined]
        else:
            points = self.X[rows]
            # The same object tells the kernel that the diagonal is known.
            self.kernel.fill(values, points, points if rows == columns else self.X[columns])
        return values

    @cached_property
    def _in_single(self) -> SingleSquares | None:
        return self.kernel.in_single(self.X) if isinstance(self.kernel, Stationary) else None

    def in_double(self) -> KernelOperator:
        return replace(self, dtype=np.dtype(np.float64))

    def diagonal(self) -> Array:
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    def rows(self, indices: Indices) -> Array:
        return kernel_rows(self.kernel, self.X, indices, self.dtype)

    def contract_gradient(self, left: Array, right: Array) -> Array:
        return self.kernel.contract_gradient(self.X, self.X, left, right)


def tiled(kernel: Kernel, X: Any, dtype: np.dtype, memory: float, policy: TiledPolicy = POLICY) -> Tiled:
    """Tiles that need at most `memory` bytes for all threads together, within the limits on their size."""
    side = math.sqrt(memory / (policy.bytes_per_value * n_threads()))
    most = policy.most_sparse if is_sparse(X) else policy.most
    return Tiled(kernel, X, int(np.clip(side, policy.fewest, most)), dtype)
