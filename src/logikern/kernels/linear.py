"""The linear kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Kernel, Matrix, Points, Vector
from .inputs import as_points, common_dtype, inner_products, squared_norms


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x'z.

    The kernel has no parameters, because the variance belongs to the classes (`variance` of the estimators). The
    inputs are the features, so the kernel matrix is never needed.
    """

    def __call__(self, X: Points, Z: Points) -> Matrix:
        dtype = common_dtype(X, Z)
        return inner_products(as_points(X, dtype), as_points(Z, dtype))

    def diagonal(self, X: Points) -> Vector:
        return squared_norms(as_points(X, common_dtype(X, X)))

    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        return np.zeros(0)

    def features(self, X: Points) -> Any:
        return as_points(X, common_dtype(X, X))
