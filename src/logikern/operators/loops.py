"""Products of few functions with the rows of a stored matrix: compiled loops.

The BLAS copies a matrix into blocks before it multiplies, which takes longer than the product itself if there are few
functions. Here each row is read once, four rows and four functions at a time. Everything is plain Python; `compiled`
makes it fast.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from logikern.numerics.compilation import compile_together
from logikern.numerics.outcome import Array

# Columns at a time: four rows of them and eight functions stay in the cache.
WIDTH = 8192


def add_four(rows: tuple[Array, ...], functions: Array, first: int, span: tuple[int, int], sums: Array) -> None:
    """sums_cr += sum_k functions_ck rows_rk for four functions from `first` on, over a span of columns."""
    start, stop = span
    a, b, c, d = rows[0][start:stop], rows[1][start:stop], rows[2][start:stop], rows[3][start:stop]
    p, q = functions[first][start:stop], functions[first + 1][start:stop]
    r, s = functions[first + 2][start:stop], functions[first + 3][start:stop]
    zero = np.zeros(1, sums.dtype)[0]  # of the precision of the matrix, unlike the number 0.0
    pa, pb, pc, pd, qa, qb, qc, qd = zero, zero, zero, zero, zero, zero, zero, zero
    ra, rb, rc, rd, sa, sb, sc, sd = zero, zero, zero, zero, zero, zero, zero, zero
    for k in range(a.shape[0]):
        pa, pb, pc, pd = pa + p[k] * a[k], pb + p[k] * b[k], pc + p[k] * c[k], pd + p[k] * d[k]
        qa, qb, qc, qd = qa + q[k] * a[k], qb + q[k] * b[k], qc + q[k] * c[k], qd + q[k] * d[k]
        ra, rb, rc, rd = ra + r[k] * a[k], rb + r[k] * b[k], rc + r[k] * c[k], rd + r[k] * d[k]
        sa, sb, sc, sd = sa + s[k] * a[k], sb + s[k] * b[k], sc + s[k] * c[k], sd + s[k] * d[k]
    _add(sums[first], pa, pb, pc, pd)
    _add(sums[first + 1], qa, qb, qc, qd)
    _add(sums[first + 2], ra, rb, rc, rd)
    _add(sums[first + 3], sa, sb, sc, sd)


def add_two(rows: tuple[Array, ...], functions: Array, first: int, span: tuple[int, int], sums: Array) -> None:
    """The same for two functions."""
    start, stop = span
    a, b, c, d = rows[0][start:stop], rows[1][start:stop], rows[2][start:stop], rows[3][start:stop]
    p, q = functions[first][start:stop], functions[first + 1][start:stop]
    zero = np.zeros(1, sums.dtype)[0]
    pa, pb, pc, pd, qa, qb, qc, qd = zero, zero, zero, zero, zero, zero, zero, zero
    for k in range(a.shape[0]):
        pa, pb, pc, pd = pa + p[k] * a[k], pb + p[k] * b[k], pc + p[k] * c[k], pd + p[k] * d[k]
        qa, qb, qc, qd = qa + q[k] * a[k], qb + q[k] * b[k], qc + q[k] * c[k], qd + q[k] * d[k]
    _add(sums[first], pa, pb, pc, pd)
    _add(sums[first + 1], qa, qb, qc, qd)


def _add(own: Array, a: Any, b: Any, c: Any, d: Any) -> None:
    own[0] += a
    own[1] += b
    own[2] += c
    own[3] += d


def multiply_rows(functions: Array, matrix: Array, start: int, stop: int, out: Array) -> None:
    """out_ci = sum_k functions_ck matrix_ik for the rows i from `start` up to `stop`.

    Parameters
    ----------
    functions : array of shape (r, n)
        An even number of them, in the dtype of the matrix.
    matrix : array of shape (m, n)
        By rows.
    out : array of shape (r, m)
    """
    n_functions, n_columns = functions.shape
    sums = np.zeros((n_functions, 4), matrix.dtype)
    for i in range(start, stop, 4):
        # The last rows may stand for missing ones, which are computed twice.
        last = stop - 1
        rows = (matrix[i], matrix[min(i + 1, last)], matrix[min(i + 2, last)], matrix[min(i + 3, last)])
        sums[:] = 0.0
        for first in range(0, n_columns, WIDTH):
            span = (first, min(first + WIDTH, n_columns))
            for c in range(0, n_functions - 3, 4):
                add_four(rows, functions, c, span, sums)
            if n_functions % 4:
                add_two(rows, functions, n_functions - 2, span, sums)
        for c in range(n_functions):
            for r in range(min(4, stop - i)):
                out[c, i + r] = sums[c, r]


@cache
def compiled() -> Callable[..., None]:
    """`multiply_rows` as machine code. Sums may be reordered, but infinite values and NaN keep their meaning."""
    return compile_together([_add, add_four, add_two, multiply_rows], fastmath={"reassoc", "contract", "nsz"})
