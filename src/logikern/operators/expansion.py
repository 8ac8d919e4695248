"""Functions spanned by a kernel at training points, evaluated at new points."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array
from logikern.operators.base import count_points, in_precision, product_towards


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """f_r(x) = sum_i coefficients_ri k(x, x_i), through explicit features if the kernel has them."""

    kernel: Kernel
    X: Any
    coefficients: Array  # (r, n)

    def at(self, new: Any) -> Array:
        """The functions at new points, (r, n_new); all kernel values are in memory at once (see `tiles_of`)."""
        features = self.kernel.features(new)
        if features is None:
            return product_towards(self.coefficients, self.kernel, new, self.X)
        return np.asarray((features @ self._slopes).T)

    @cached_property
    def _slopes(self) -> Array:
        """Coefficients of the features, (d, r)."""
        # Features of rows in single precision would be rounded to it.
        points = in_precision(self.X, np.dtype(np.float64))
        slopes: Array = self.kernel.features(points).T @ self.coefficients.T
        return slopes


def tiles_of(new: Any, n_points: int, entries: int) -> Iterator[Any]:
    """New points in parts, each with at most `entries` kernel values with the `n_points` points."""
    step = max(1, entries // max(1, n_points))
    for start in range(0, count_points(new), step):
        yield new[start : start + step]
