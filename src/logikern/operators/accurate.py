"""An operator whose every product is summed in float64, for fits that single precision cannot finish."""

from dataclasses import dataclass

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.operators.base import DerivedOperator, KernelOperator


@dataclass(frozen=True, eq=False)
class Accurate(DerivedOperator):
    """The same stored matrix as another operator, with its accurate product as the only one.

    Parameters
    ----------
    inner : KernelOperator
    """

    inner: KernelOperator

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
