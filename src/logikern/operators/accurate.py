"""An operator whose every product is summed in float64, for fits that single precision cannot finish."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.operators.base import KernelOperator


@dataclass(frozen=True, eq=False)
class Accurate(KernelOperator):
    """The same stored matrix as another operator, with its accurate product as the only one.

    Parameters
    ----------
    inner : KernelOperator
    """

    inner: KernelOperator

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.inner.kernel

    @property
    def X(self) -> Any:  # noqa: N802
        return self.inner.X

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return self.inner.n_points

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return np.dtype(np.float64)

    def matmul(self, functions: Array) -> Array:
        return self.inner.accurate_matmul(functions)

    def accurate_matmul(self, functions: Array) -> Array:
        return self.inner.accurate_matmul(functions)

    def diagonal(self) -> Array:
        return self.inner.diagonal()

    def rows(self, indices: Indices) -> Array:
        return self.inner.rows(indices).astype(np.float64)

    def contract_gradient(self, left: Array, right: Array) -> Array:
        return self.inner.contract_gradient(left, right)
