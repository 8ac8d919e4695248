"""The kernel matrix recomputed tile by tile in every product: linear memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.operators.base import KernelOperator, in_precision


@dataclass(frozen=True, eq=False)
class Tiled(KernelOperator):
    """K(X, X) never stored: `tile` rows of it exist at a time.

    Only the part on and above the diagonal is evaluated; its mirror image comes
    from the same tile, which halves the cost of the kernel itself.

    Parameters
    ----------
    kernel : Kernel
    X : the points
        In the precision in which tiles are computed.
    tile : int
        Points per tile.
    """

    kernel: Kernel
    X: Any
    tile: int

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return self.X.shape[0]

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.X.dtype if self.X.dtype == np.float32 else np.dtype(np.float64)

    def matmul(self, functions: Array) -> Array:
        return self._product(functions.astype(self.dtype, copy=False)).astype(functions.dtype, copy=False)

    def accurate_matmul(self, functions: Array) -> Array:
        return self._product(functions)

    def _product(self, functions: Array) -> Array:
        product = np.zeros(functions.shape)
        for start in range(0, self.n_points, self.tile):
            part = slice(start, start + self.tile)
            block = self.kernel(self.X[part], self.X[start:])
            block = np.asarray(block, dtype=functions.dtype)
            product[:, part] += functions[:, start:] @ block.T
            beyond = block.shape[0]
            product[:, start + beyond :] += functions[:, part] @ block[:, beyond:]
        return product

    def diagonal(self) -> Array:
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    def rows(self, indices: Indices) -> Array:
        return self.kernel(self.X[indices], self.X)

    def contract_gradient(self, left: Array, right: Array) -> Array:
        return self.kernel.contract_gradient(self.X, self.X, left, right)


def tiled(kernel: Kernel, X: Any, dtype: np.dtype, memory: float) -> Tiled:
    """Tiles of as many points as keep a tile and its temporaries within `memory` bytes."""
    points = in_precision(X, dtype)
    bytes_per_row = 3 * np.dtype(dtype).itemsize * points.shape[0]
    return Tiled(kernel, points, int(np.clip(memory // bytes_per_row, 16, 4096)))
