"""Inverses of symmetric matrices, in place where LAPACK allows it."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from logikern.numerics.outcome import Array

MIRROR_TILE = 256


def invert(matrix: Array) -> Array:
    """The inverse of a symmetric matrix, by Cholesky; by LU where it is not positive definite.

    Parameters
    ----------
    matrix : array of shape (n, n)
        In rows; overwritten.
    """
    diagonal = matrix.diagonal().copy()
    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)  # the transposed view is what LAPACK can overwrite
    if failed:
        return _invert_indefinite(matrix, diagonal)
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    return mirror(inverse.T)


def _invert_indefinite(matrix: Array, diagonal: Array) -> Array:
    """From the part below the diagonal, which a failed factorisation leaves alone."""
    whole = np.tril(matrix, -1)
    whole += whole.T
    np.fill_diagonal(whole, diagonal)
    try:
        return np.linalg.inv(whole)
    except np.linalg.LinAlgError:
        return np.full_like(whole, np.nan)


def mirror(matrix: Array) -> Array:
    """Copy the part above the diagonal to the one below it, in place."""
    n = len(matrix)
    for start in range(0, n, MIRROR_TILE):
        rows = slice(start, start + MIRROR_TILE)
        for left in range(0, start, MIRROR_TILE):
            columns = slice(left, left + MIRROR_TILE)
            matrix[rows, columns] = matrix[columns, rows].T
        block = matrix[rows, rows]
        block[...] = np.triu(block) + np.triu(block, 1).T
    return matrix
