"""Products with X X' that never form it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.operators.base import KernelOperator


@dataclass(frozen=True, eq=False)
class FeatureProduct(KernelOperator):
    """K = F F' for an explicit feature matrix F, sparse or dense (Seeger 2008, App. D.3).

    A product costs two passes over F; memory is that of F and of one block of
    functions in feature space.

    Parameters
    ----------
    kernel : Kernel
        A kernel with `features`.
    X : the points
    features : array or sparse array of shape (n, d)
    """

    kernel: Kernel
    X: Any
    features: Any

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return self.features.shape[0]

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.features.dtype

    @property
    def n_reads(self) -> float:
        stored = self.features.nnz if hasattr(self.features, "nnz") else self.features.size
        return 2.0 * stored

    def matmul(self, functions: Array) -> Array:
        columns = np.ascontiguousarray(functions.T, dtype=self.features.dtype)
        product = self.features @ (self.features.T @ columns)
        return np.ascontiguousarray(product.T, dtype=np.float64)

    def accurate_matmul(self, functions: Array) -> Array:
        if self.features.dtype == np.float64:
            return self.matmul(functions)
        wide = self.features.astype(np.float64)
        return np.ascontiguousarray((wide @ (wide.T @ functions.T)).T)

    def diagonal(self) -> Array:
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    def rows(self, indices: Indices) -> Array:
        block = self.features[indices] @ self.features.T
        return block if isinstance(block, np.ndarray) else block.toarray()

    def contract_gradient(self, left: Array, right: Array) -> Array:
        return self.kernel.contract_gradient(self.X, self.X, left, right)
