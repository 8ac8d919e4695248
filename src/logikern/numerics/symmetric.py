"""Symmetric matrices: solves and inverses in place, by Cholesky where they are positive definite."""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve
from scipy.linalg.lapack import dpotrs, dtrtri

from logikern.numerics import lapack, tiled_cholesky
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import TILES, for_each

Solve = Callable[[Array], Array]


def solver(matrix: Array) -> Solve:
    """x -> matrix^-1 x by Cholesky, or by LU if the matrix is not positive definite; the matrix is overwritten."""
    factor, whole = _cholesky(matrix)
    return _solve_by(factor) if factor is not None else _solve_by_pivots(whole)


def invert(matrix: Array) -> Array:
    """The inverse, by Cholesky or by LU; NaN if the matrix is singular. Overwrites the matrix (n, n)."""
    factor, whole = _cholesky(matrix)
    return _inverse_by(factor, overwrite=True) if factor is not None else _inverse_by_pivots(whole)


def solver_and_inverse(matrix: Array) -> tuple[Solve, Array]:
    """Solver and inverse: for ill-conditioned matrices, a solve is more accurate than a product with the inverse."""
    factor, whole = _cholesky(matrix)
    if factor is None:
        return _solve_by_pivots(whole), _inverse_by_pivots(whole)
    return _solve_by(factor), _inverse_by(factor, overwrite=False)


def inverse_root(matrix: Array) -> Array:
    """R, upper triangular, with R R' = matrix^-1. Overwrites the matrix (n, n), which must be positive definite."""
    factor, _ = _cholesky(matrix)
    if factor is None:
        raise np.linalg.LinAlgError("The matrix is not positive definite.")
    if tiled_cholesky.inverse_pays(len(factor)):
        return tiled_cholesky.invert_lower(factor).T
    return np.triu(dtrtri(factor, lower=1)[0].T)


def _cholesky(matrix: Array) -> tuple[Array | None, Array]:
    """The factor in LAPACK's layout, written over the matrix; or None, and the original matrix."""
    diagonal = matrix.diagonal().copy()
    # LAPACK needs Fortran order, so it overwrites half of the transposed view.
    factor = matrix.T
    method = tiled_cholesky if tiled_cholesky.factor_pays(len(factor)) else lapack
    return (factor, matrix) if method.factorise(factor) else (None, _recover(matrix, diagonal))


def _solve_by(factor: Array) -> Solve:
    return lambda right: dpotrs(factor, right, lower=1)[0]


def _solve_by_pivots(whole: Array) -> Solve:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)
        pivoted = lu_factor(whole, check_finite=False)
    return lambda right: lu_solve(pivoted, right, check_finite=False)


def _inverse_by(factor: Array, overwrite: bool) -> Array:
    if tiled_cholesky.inverse_pays(len(factor)):
        inverse = factor if overwrite else np.empty_like(factor)
        tiled_cholesky.write_inverse(factor, inverse)
        return mirror(inverse).T
    inverse = factor if overwrite else factor.copy(order="F")
    lapack.invert_factor(inverse)
    return mirror(inverse.T)


def _inverse_by_pivots(whole: Array) -> Array:
    try:
        return np.linalg.inv(whole)
    except np.linalg.LinAlgError:
        return np.full_like(whole, np.nan)


def _recover(matrix: Array, diagonal: Array) -> Array:
    """A matrix from the part below its diagonal, which a failed factorisation does not change."""
    whole = np.tril(matrix, -1)
    whole += whole.T
    np.fill_diagonal(whole, diagonal)
    return whole


def mirror(matrix: Array) -> Array:
    """Copy the part above the diagonal to the part below it, in place."""

    def copy(start: int) -> None:
        rows = slice(start, start + TILES.mirror_rows)
        matrix[rows, :start] = matrix[:start, rows].T
        block = matrix[rows, rows]
        block[...] = np.triu(block) + np.triu(block, 1).T

    for_each(copy, range(0, len(matrix), TILES.mirror_rows))
    return matrix
