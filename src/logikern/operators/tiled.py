"""The kernel matrix recomputed tile by tile in every product: linear memory."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.operators.base import KernelOperator


@dataclass(frozen=True, eq=False)
class Tiled(KernelOperator):
    """K(X, X) never stored: `tile` rows of it exist at a time.

    Only the part on and above the diagonal is evaluated; its mirror image comes
    from the same tile, which halves the cost of the kernel itself.
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
        functions = functions.astype(dtype, copy=False)
        product = np.zeros(functions.shape)
        for start in range(0, self.n_points, self.tile):
            part = slice(start, min(start + self.tile, self.n_points))
            beyond = part.stop - start
            block = np.empty((beyond, self.n_points - start), dtype)
            self.kernel.fill(block, self.X[part], self.X[start:])
            product[:, part] += functions[:, start:] @ block.T
            product[:, part.stop :] += functions[:, part] @ block[:, beyond:]
        return product

    def in_double(self) -> KernelOperator:
        return replace(self, dtype=np.dtype(np.float64))

    def diagonal(self) -> Array:
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    def rows(self, indices: Indices) -> Array:
        points = self.X[indices]
        block = np.empty((points.shape[0], self.n_points), self.dtype)
        self.kernel.fill(block, points, self.X)
        return block

    def contract_gradient(self, left: Array, right: Array) -> Array:
        return self.kernel.contract_gradient(self.X, self.X, left, right)


def tiled(kernel: Kernel, X: Any, dtype: np.dtype, memory: float, fewest: int = 16, most: int = 4096) -> Tiled:
    """Tiles of `fewest` to `most` points that stay within `memory` bytes, including two temporaries."""
    bytes_per_row = 3 * np.dtype(dtype).itemsize * X.shape[0]
    return Tiled(kernel, X, int(np.clip(memory // bytes_per_row, fewest, most)), dtype)
