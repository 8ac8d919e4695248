"""Operations on points with numeric inputs that differ between dense and sparse."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

Rate: TypeAlias = float | tuple[float, ...]


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy sparse array or matrix."""
    return bool(sparse.issparse(X))


def common_dtype(X: Any, Z: Any) -> np.dtype:
    """float32 if both are float32, float64 otherwise (integers included)."""
    return np.result_type(X.dtype, Z.dtype, np.float32)


def as_points(X: Any, dtype: np.dtype) -> Any:
    """X as array or CSR matrix of this dtype, without a copy if it is one already."""
    if is_sparse(X):
        return X.tocsr().astype(dtype, copy=False)
    return np.asarray(X, dtype=dtype)


def scale_inputs(X: Any, rate: Rate, power: float = 0.5) -> Any:
    """A copy of X whose input j is multiplied by rate_j^power.

    With power 1/2, the rates weight squared distances and inner products of the scaled points; with power 1, they
    weight sums of absolute differences. Rates cost O(n d) and never a pass over an (n, m) matrix.
    """
    if not isinstance(rate, tuple):
        return X * rate**power
    if len(rate) != X.shape[1]:
        raise ValueError(
            f"`rate` must have one value per input, but has {len(rate)} values for {X.shape[1]} inputs. "
            "Pass one number for all inputs, or one for each column of `X`."
        )
    factors = (np.asarray(rate) ** power).astype(X.dtype)
    if not is_sparse(X):
        return X * factors
    scaled = X.copy()
    scaled.data *= factors[scaled.indices]
    return scaled


def inner_products(X: Any, Z: Any, out: np.ndarray | None = None) -> np.ndarray:
    """X Z' as an array (n, m), written into `out` if given."""
    if not (is_sparse(X) or is_sparse(Z)):
        return np.matmul(X, Z.T, out=out)
    product = X @ Z.T
    if is_sparse(product):
        return product.toarray(out=out)
    if out is None:
        return product
    out[...] = product
    return out


def squared_norms(X: Any) -> np.ndarray:
    """x'x for every row x (n,)."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def longest_row(X: Any) -> int:
    """The largest number of terms that are summed in a squared norm."""
    if is_sparse(X):
        return int(np.diff(X.indptr).max(initial=0))
    return X.shape[1]


def largest_squares(X: Any) -> np.ndarray:
    """max_i x_ij^2 for every input j (d,)."""
    largest = abs(X).max(axis=0)
    return np.asarray(largest.toarray() if is_sparse(largest) else largest, dtype=np.float64).ravel() ** 2


def without_inputs(X: Any, places: np.ndarray) -> Any:
    """A copy of X in which some inputs are zero."""
    if not is_sparse(X):
        kept = X.copy()
        kept[:, places] = 0.0
        return kept
    dropped = np.zeros(X.shape[1], dtype=bool)
    dropped[places] = True
    kept = X.copy()
    kept.data[dropped[kept.indices]] = 0.0
    kept.eliminate_zeros()
    return kept


def sum_products(X: Any, Y: np.ndarray) -> np.ndarray:
    """sum_i x_ij y_ij for every input j (d,); Y is dense."""
    if is_sparse(X):
        return np.asarray(X.multiply(Y).sum(axis=0)).ravel()
    return np.einsum("ij,ij->j", X, Y)


def sum_squares(weights: np.ndarray, X: Any) -> np.ndarray:
    """sum_i weights_i x_ij^2 for every input j (d,)."""
    return weights @ (X.multiply(X) if is_sparse(X) else X * X)


def join_columns(X: Any, Y: Any) -> Any:
    """[X, Y], sparse if either is."""
    if is_sparse(X) or is_sparse(Y):
        return sparse.hstack([X, Y], format="csr")
    return np.hstack([X, Y])
