"""Products of few functions with the rows of a stored matrix: compiled loops.

The BLAS copies a matrix into blocks before it multiplies, which takes longer than the product itself if there are few
functions. Here each row is read once, eight rows and two functions at a time: of the shapes from 1 by 10 to 12 by 2,
with sums that fit into 32 registers, this one was the fastest for 6 to 10 functions. Everything is plain Python;
`compiled` makes it fast.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from logikern.numerics.compilation import compile_together
from logikern.numerics.outcome import Array

# Columns at a time: eight rows of them stay in the cache.
WIDTH = 16384
ROWS = 8


def add_products(rows: tuple[Array, ...], first: Array, second: Array, sums: Array) -> None:
    """sums_0r += sum_k first_k rows_rk and sums_1r += sum_k second_k rows_rk for eight rows."""
    a, b, c, d, e, f, g, h = rows
    zero = np.zeros(1, sums.dtype)[0]  # of the precision of the matrix, unlike the number 0.0
    a0, b0, c0, d0, e0, f0, g0, h0 = zero, zero, zero, zero, zero, zero, zero, zero
    a1, b1, c1, d1, e1, f1, g1, h1 = zero, zero, zero, zero, zero, zero, zero, zero
    for k in range(first.shape[0]):
        x, y = first[k], second[k]
        a0, a1 = a0 + x * a[k], a1 + y * a[k]
        b0, b1 = b0 + x * b[k], b1 + y * b[k]
        c0, c1 = c0 + x * c[k], c1 + y * c[k]
        d0, d1 = d0 + x * d[k], d1 + y * d[k]
        e0, e1 = e0 + x * e[k], e1 + y * e[k]
        f0, f1 = f0 + x * f[k], f1 + y * f[k]
        g0, g1 = g0 + x * g[k], g1 + y * g[k]
        h0, h1 = h0 + x * h[k], h1 + y * h[k]
    for r, own in enumerate((a0, b0, c0, d0, e0, f0, g0, h0)):
        sums[0, r] += own
    for r, own in enumerate((a1, b1, c1, d1, e1, f1, g1, h1)):
        sums[1, r] += own


def take_rows(matrix: Array, start: int, last: int, columns: tuple[int, int]) -> tuple[Array, ...]:
    """Some columns of eight rows; the last row is repeated if there are fewer than eight."""
    low, high = columns
    return (
        matrix[start][low:high],
        matrix[min(start + 1, last)][low:high],
        matrix[min(start + 2, last)][low:high],
        matrix[min(start + 3, last)][low:high],
        matrix[min(start + 4, last)][low:high],
        matrix[min(start + 5, last)][low:high],
        matrix[min(start + 6, last)][low:high],
        matrix[min(start + 7, last)][low:high],
    )


def multiply_rows(functions: Array, matrix: Array, start: int, stop: int, out: Array) -> None:
    """out_ci = sum_k functions_ck matrix_ik for the rows i from `start` up to `stop`.

    Parameters
    ----------
    functions : array of shape (r, n)
        r must be even, and the dtype must be the dtype of the matrix.
    matrix : array of shape (m, n)
        Stored by rows.
    out : array of shape (r, m)
    """
    n_functions, n_columns = functions.shape
    sums = np.zeros((n_functions, ROWS), matrix.dtype)
    for i in range(start, stop, ROWS):
        sums[:] = 0.0
        for low in range(0, n_columns, WIDTH):
            high = min(low + WIDTH, n_columns)
            rows = take_rows(matrix, i, stop - 1, (low, high))
            for c in range(0, n_functions, 2):
                add_products(rows, functions[c][low:high], functions[c + 1][low:high], sums[c : c + 2])
        for c in range(n_functions):
            for r in range(min(ROWS, stop - i)):
                out[c, i + r] = sums[c, r]


@cache
def compiled() -> Callable[..., None]:
    """`multiply_rows` as machine code. Sums may be reordered, but infinite values and NaN keep their meaning."""
    return compile_together([add_products, take_rows, multiply_rows], fastmath={"reassoc", "contract", "nsz"})
