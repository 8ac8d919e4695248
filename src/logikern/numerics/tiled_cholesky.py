"""Cholesky factors and inverses in tiles, on all threads.

LAPACK would run on one core here. Tiles cost more operations, so they are faster only with several threads and large
matrices. The result does not depend on the number of threads.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from logikern.numerics import lapack
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import TILES, for_each, n_threads, slices

Item = TypeVar("Item")
Result = TypeVar("Result")


def factor_pays(n_rows: int) -> bool:
    """Whether `factorise` is faster here than LAPACK on one core."""
    return n_threads() > 1 and n_rows >= TILES.factor_from


def inverse_pays(n_rows: int) -> bool:
    """Whether `write_inverse` and `invert_lower` are faster here than LAPACK on one core."""
    return n_threads() > 1 and n_rows >= TILES.inverse_from


def for_each_block(function: Callable[[Item], Result], items: Sequence[Item], n_rows: int) -> list[Result]:
    """`for_each` for functions that factorise matrices of this size.

    All threads get the same number of items. Remaining items are done one after the other, each on all threads.
    """
    n_left = len(items) % n_threads()
    if not inverse_pays(n_rows) or 2 * n_left > n_threads():
        return for_each(function, items)
    n_even = len(items) - n_left
    return for_each(function, items[:n_even]) + [function(item) for item in items[n_even:]]


def factorise(matrix: Array) -> bool:
    """Write L of matrix = L L' over its lower triangle; False where it is not positive definite.

    The matrix (n, n) is in Fortran order. The part above its diagonal is not changed.
    """
    for tile in _tiles(0, len(matrix)):
        before, corner = slice(tile.start), matrix[tile, tile]
        above = np.triu(corner, 1)

        def update(rows: slice, tile: slice = tile, before: slice = before) -> None:
            matrix[rows, tile] -= matrix[rows, before] @ matrix[tile, before].T

        def divide(rows: slice, tile: slice = tile) -> None:
            lapack.divide_by_upper(matrix[rows, tile], matrix[tile, tile])

        if tile.start:
            for_each(update, _tiles(tile.start, len(matrix)))
            corner[...] = np.tril(corner) + above
        if not lapack.factorise(corner):
            return False
        for_each(divide, _tiles(tile.stop, len(matrix)))
    return True


def invert_lower(lower: Array) -> Array:
    """L^-1 of a matrix (n, n) in Fortran order, whose entries above the diagonal are not read."""
    inverse = np.zeros_like(lower)

    def fill(tile: slice) -> None:
        inverse[tile.start :, tile] = _solve_columns(lower, tile)

    for_each(fill, _tiles(0, len(lower)))
    return inverse


def write_inverse(lower: Array, inverse: Array) -> None:
    """Write (L L')^-1 on and above the diagonal of a matrix in Fortran order, which may be L itself.

    On and below the diagonal, columns from j on are L_j^-T L_j^-1 times columns of the identity, where L_j is L
    without its first j rows and columns: tiles of columns depend on L alone.
    """
    tiles = _tiles(0, len(lower))

    def fill(tile: slice) -> Array:
        columns, size = _solve_columns(lower, tile), tile.stop - tile.start
        lapack.solve_upper(lower[tile.start :, tile.start :], columns)
        inverse[tile, tile.stop :] = columns[size:].T
        return columns[:size].copy()

    for tile, corner in zip(tiles, for_each(fill, tiles), strict=True):
        inverse[tile, tile] = corner  # last: other tiles still needed L there


def _solve_columns(lower: Array, tile: slice) -> Array:
    """L^-1 on and below the diagonal, a tile of columns."""
    columns = np.eye(len(lower) - tile.start, tile.stop - tile.start, order="F")
    lapack.solve_lower(lower[tile.start :, tile.start :], columns)
    return columns


def _tiles(start: int, stop: int) -> list[slice]:
    return slices(start, stop, TILES.cholesky_rows)
