"""The polynomial kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Kernel, Matrix, Points, Vector
from .inputs import (
    Rate,
    as_points,
    common_dtype,
    inner_products,
    scale_inputs,
    squared_norms,
    sum_products,
)
from .parameters import RATES, positive, whole


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (offset + sum_j rate_j x_j z_j)^degree.

    The rate keeps kernel values of unscaled tables small: without it, an input of 1000 gives 1e18 at degree 3.

    Parameters
    ----------
    rate : float or tuple of floats, default=1.0
        Weight of each product x_j z_j: one for all inputs, or one per input. Positive; learned as log(rate).
    offset : float, default=1.0
        Weight of the lower degrees. Positive; learned as log(offset).
    degree : int, default=3
        At least 1. It is not learned.
    """

    rate: Rate = positive(1.0, per_input=True, role=RATES[0])
    offset: float = positive(1.0)
    degree: int = whole(3)

    def __call__(self, X: Points, Z: Points) -> Matrix:
        rows, columns = self._scaled(X, Z)
        return self._to_power(inner_products(rows, columns), self.degree)

    def diagonal(self, X: Points) -> Vector:
        return self._to_power(squared_norms(self._scaled(X, X)[0]), self.degree)

    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        # With b = offset + x'z (scaled): dk/db = degree b^(degree - 1), and b is linear in rates and offset.
        rows, columns = self._scaled(X, Z)
        products = inner_products(rows, columns)
        pull = self._to_power(products.copy(), self.degree - 1)
        pull *= self.degree
        pull *= weights
        if isinstance(self.rate, tuple):
            by_rate = sum_products(rows, pull @ columns)
        else:
            by_rate = np.array([np.vdot(pull, products)])
        return np.append(by_rate, self.offset * pull.sum())

    def _scaled(self, X: Points, Z: Points) -> tuple[Points, Points]:
        dtype = common_dtype(X, Z)
        rows = scale_inputs(as_points(X, dtype), self.rate)
        return rows, rows if X is Z else scale_inputs(as_points(Z, dtype), self.rate)

    def _to_power(self, products: Matrix, degree: int) -> Matrix:
        """(offset + products)^degree, in place."""
        products += self.offset
        return np.power(products, degree, out=products)
