"""Products of large matrices, on all threads."""

import numpy as np

from logikern.numerics.outcome import Array
from logikern.numerics.parallel import TILES, even_slices, for_each, slices


def multiply(left: Array, right: Array) -> Array:
    """left @ right of float64 matrices (m, k) and (k, n)."""
    result = np.empty((len(left), right.shape[1]))
    for_each(lambda rows: np.matmul(left[rows], right, out=result[rows]), even_slices(len(left), TILES.fewest_rows))
    return result


def subtract_gram(matrix: Array, rows: Array) -> None:
    """matrix -= rows rows' on and below the diagonal, for a matrix (m, m) and rows (m, n)."""

    def subtract(some: slice) -> None:
        matrix[some, : some.stop] -= rows[some] @ rows[: some.stop].T

    # The last rows are the longest: they come first, for balanced threads.
    for_each(subtract, slices(0, len(rows), TILES.triangle_rows)[::-1])


def fold_gram(rows: Array, signs: Array) -> Array:
    """rows' diag(signs) rows, with the entries above its diagonal tiles added to their mirror images.

    This halves the cost; sums of products with the entries of a symmetric matrix stay the same.

    Parameters
    ----------
    rows : array of shape (m, n)
        Rows with sign 0 must be zero.
    signs : array of shape (m,)
        1, 0 or -1.
    """
    result, tile = np.zeros((rows.shape[1],) * 2), TILES.triangle_rows
    found = np.unique(signs[signs != 0])
    kinds = [(sign, rows if len(found) == 1 else rows[signs == sign]) for sign in found]

    def fill(start: int) -> None:
        own, before = slice(start, start + tile), slice(start)
        for sign, some in kinds:
            result[own, before] += (2.0 * sign) * (some[:, own].T @ some[:, before])
            result[own, own] += sign * (some[:, own].T @ some[:, own])

    # The largest products come first, for balanced threads.
    for_each(fill, range(0, len(result), tile)[::-1])
    return result
