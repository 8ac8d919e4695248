"""Symmetric matrices: solves and inverses in place, by Cholesky where they are positive definite."""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from logikern.numerics.outcome import Array

MIRROR_TILE = 64

Solve = Callable[[Array], Array]


def solver(matrix: Array) -> Solve:
    """x -> matrix^-1 x by Cholesky; by LU where the matrix is not positive definite.

    Parameters
    ----------
    matrix : array of shape (n, n)
        In rows; overwritten.
    """
    diagonal = matrix.diagonal().copy()
    # The transposed view is what LAPACK can overwrite, half of it.
    factor, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if not failed:
        return lambda right: dpotrs(factor, right, lower=1)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)
        pivoted = lu_factor(_recover(matrix, diagonal), check_finite=False)
    return lambda right: lu_solve(pivoted, right, check_finite=False)


def invert(matrix: Array) -> Array:
    """The inverse, by Cholesky or by LU; not-a-number where there is none.

    Parameters
    ----------
    matrix : array of shape (n, n)
        In rows; overwritten.
    """
    diagonal = matrix.diagonal().copy()
    factor, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if not failed:
        return mirror(dpotri(factor, lower=1, overwrite_c=1)[0].T)
    try:
        return np.linalg.inv(_recover(matrix, diagonal))
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def solver_and_inverse(matrix: Array) -> tuple[Solve, Array]:
    """Both: a product with the inverse is less accurate than a solve where the matrix is ill-conditioned.

    Parameters
    ----------
    matrix : array of shape (n, n)
        In rows; overwritten.
    """
    diagonal = matrix.diagonal().copy()
    factor, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        whole = _recover(matrix, diagonal)
        return solver(whole.copy()), invert(whole)
    return lambda right: dpotrs(factor, right, lower=1)[0], mirror(dpotri(factor, lower=1)[0].T)


def _recover(matrix: Array, diagonal: Array) -> Array:
    """A matrix from the part below its diagonal, which a failed factorisation leaves alone."""
    whole = np.tril(matrix, -1)
    whole += whole.T
    np.fill_diagonal(whole, diagonal)
    return whole


def mirror(matrix: Array) -> Array:
    """Copy the part above the diagonal to the one below it, in place."""
    for start in range(0, len(matrix), MIRROR_TILE):
        rows = slice(start, start + MIRROR_TILE)
        matrix[rows, :start] = matrix[:start, rows].T
        block = matrix[rows, rows]
        block[...] = np.triu(block) + np.triu(block, 1).T
    return matrix
