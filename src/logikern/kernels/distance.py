"""Squared distances by one matrix product, accurate where the expansion cancels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.numerics.parallel import for_each

from .inputs import (
    Rate,
    as_points,
    common_dtype,
    inner_products,
    is_sparse,
    longest_row,
    scale_inputs,
    squared_norms,
    sum_products,
    sum_squares,
)
from .tiles import row_tiles


@dataclass(frozen=True)
class ScaledPair:
    """Two sets of points, shifted and scaled so that s(x, z) is their plain squared distance.

    Build it by `compare`.

    Parameters
    ----------
    rows, columns : array or CSR matrix, (n, d) and (m, d)
        The points.
    row_norms, column_norms : array, (n,) and (m,)
        Their squared norms.
    folded : array or CSR matrix, (m, d)
        -2 times `columns`, which saves a pass over every product.
    noise : float
        Distances below `noise` * ||x||^2 are rounding errors of the expansion.
    """

    rows: Any
    columns: Any
    row_norms: np.ndarray
    column_norms: np.ndarray
    folded: Any
    noise: float

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        return self.row_norms.shape[0], self.column_norms.shape[0]

    @property
    def dtype(self) -> np.dtype:
        """Type of the distances."""
        return self.row_norms.dtype

    def squared_distances(self, tile: slice, out: np.ndarray) -> np.ndarray:
        """s(x, z) for the rows of a tile and all columns, written into `out`."""
        norms = self.row_norms[tile, np.newaxis]
        inner_products(self.rows[tile], self.folded, out=out)
        out += norms
        out += self.column_norms
        # s is small beside ||x||^2 only if z is close to x, so the noise can be told from ||x||^2 alone. This
        # also makes the distance of a point to itself exactly zero, whatever tile or copy it comes from:
        # the square root in Matern kernels would turn an error of 1e-6 into one of 1e-3.
        np.copyto(out, 0.0, where=out <= self.noise * norms)
        return out

    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        """sum_ik weights_ik (x_ij - z_kj)^2 for every input j (d,); weights (n, m)."""
        crossed = weights @ self.columns  # (n, d)
        return (
            sum_squares(weights.sum(axis=1), self.rows)
            + sum_squares(weights.sum(axis=0), self.columns)
            - 2.0 * sum_products(self.rows, crossed)
        )


def compare(X: Any, Z: Any, rate: Rate = 1.0) -> ScaledPair:
    """Prepare s(x, z) = sum_j rate_j (x_j - z_j)^2 for tiles of X against all of Z.

    Dense points are shifted by the mean of Z first: the expansion ||x||^2 + ||z||^2 - 2 x'z loses as many
    digits as the norms exceed the distance, and in float32 there are only seven. Sparse points stay as they
    are, since a shift would fill them.
    """
    dtype = common_dtype(X, Z)
    same = X is Z
    X, Z = as_points(X, dtype), as_points(Z, dtype)
    shift = 0.0 if is_sparse(X) or is_sparse(Z) or not len(Z) else Z.mean(axis=0)
    columns = _transform(Z, shift, rate)
    rows = columns if same else _transform(X, shift, rate)
    # Rounding errors of a sum grow as the square root of its terms (measured: below half of this at 5000).
    noise = (8.0 + longest_row(rows) ** 0.5) * float(np.finfo(dtype).eps)
    return ScaledPair(rows, columns, squared_norms(rows), squared_norms(columns), -2.0 * columns, noise)


def squared_distances(X: Any, Z: Any, rate: Rate = 1.0) -> np.ndarray:
    """s(x, z) = sum_j rate_j (x_j - z_j)^2 for all pairs (n, m).

    Parameters
    ----------
    X, Z : array or scipy sparse matrix, (n, d) and (m, d)
        Points, dense, sparse or one of each.
    rate : float or tuple of floats, default=1.0
        One weight for all inputs, or one per input.

    Returns
    -------
    array, (n, m)
        In float32 if both sets are; never negative, and zero for equal points.
    """
    pair = compare(X, Z, rate)
    result = np.empty(pair.shape, pair.dtype)
    for_each(lambda tile: pair.squared_distances(tile, out=result[tile]), row_tiles(*pair.shape))
    if X is Z:
        np.fill_diagonal(result, 0.0)
    return result


def _transform(X: Any, shift: Any, rate: Rate) -> Any:
    if is_sparse(X):
        return scale_inputs(X, rate)
    return scale_inputs(X - shift, rate)
