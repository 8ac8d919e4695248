"""Products with X X' that never form it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.operators.base import KernelOperator

# Functions that are multiplied at a time: few enough for their sums in feature space to stay in the cache.
BLOCK = 64


def function_blocks(n_functions: int) -> list[slice]:
    """Functions in blocks of `BLOCK`."""
    return [slice(start, start + BLOCK) for start in range(0, n_functions, BLOCK)]


@dataclass(frozen=True, eq=False)
class FeatureProduct(KernelOperator):
    """K = F F' for an explicit feature matrix F, sparse or dense (Seeger 2008, App. D.3).

    A product costs two passes over F; memory holds F and one block of
    functions in feature space.
    """

    kernel: Kernel  # a kernel with `features`
    X: Any
    features: Any  # (n, d): in the precision of products
    transposed: Any  # (d, n): the same, stored by rows

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
        return self._product(functions, self.features, self.transposed)

    def accurate_matmul(self, functions: Array) -> Array:
        return self.in_double().matmul(functions.astype(np.float64, copy=False))

    def in_double(self) -> "FeatureProduct":
        if self.features.dtype == np.float64:
            return self
        # A transpose of sparse features shares their memory.
        features = self.kernel.features(self.X)
        return FeatureProduct(self.kernel, self.X, features, features.T)

    def _product(self, functions: Array, features: Any, transposed: Any) -> Array:
        result = np.empty(functions.shape, dtype=functions.dtype)

        def multiply(block: slice) -> None:
            columns = np.ascontiguousarray(functions[block].T, dtype=features.dtype)
            result[block] = (features @ (transposed @ columns)).T

        for_each(multiply, function_blocks(len(functions)))
        return result

    def diagonal(self) -> Array:
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    def rows(self, indices: Indices) -> Array:
        block = self.features[indices] @ self.features.T
        return block if isinstance(block, np.ndarray) else block.toarray()

    def contract_gradient(self, left: Array, right: Array) -> Array:
        return self.kernel.contract_gradient(self.X, self.X, left, right)


def feature_product(kernel: Kernel, X: Any, dtype: np.dtype) -> FeatureProduct:
    """The operator of a kernel with features; features that no point has are dropped."""
    features: Any = kernel.features(X).astype(dtype, copy=False)
    if hasattr(features, "nnz"):
        used = np.flatnonzero(np.bincount(features.indices, minlength=features.shape[1]))
        features = features[:, used].tocsr() if len(used) < features.shape[1] else features
        return FeatureProduct(kernel, X, features, features.T.tocsr())
    return FeatureProduct(kernel, X, features, features.T)
