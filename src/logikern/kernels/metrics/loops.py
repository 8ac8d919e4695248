"""Sums of absolute differences: compiled loops.

Everything here is plain Python; `compiled` and `compiled_sum` make it fast. Dense columns are stored in blocks of
`WIDTH` points, (blocks, d, WIDTH): the innermost loops run over points of a block, whose number is known to the
compiler.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from logikern.numerics.compilation import compile_together
from logikern.numerics.outcome import Array

# Points of a block: with 60 inputs of four bytes it stays in the cache. 128 was faster than 32, 64 and 256.
WIDTH = 128


def add_distances(rows: Array, blocks: Array, out: Array) -> None:
    """out_ik += sum_j |x_ij - z_kj| for rows (n, d) and blocks (blocks, d, WIDTH).

    Four rows and two inputs at a time: more work for each value that is loaded.
    """
    n_rows, n_inputs = rows.shape
    sums = np.zeros((4, WIDTH), rows.dtype)
    for number in range(len(blocks)):
        block = blocks[number]
        start = number * WIDTH
        n_here = min(WIDTH, out.shape[1] - start)
        for i in range(0, n_rows, 4):
            # If fewer than four rows are left, the last row is computed again.
            a, b, c, d = i, min(i + 1, n_rows - 1), min(i + 2, n_rows - 1), min(i + 3, n_rows - 1)
            sums[:] = 0.0
            for j in range(0, n_inputs - 1, 2):
                a0, b0, c0, d0 = rows[a, j], rows[b, j], rows[c, j], rows[d, j]
                a1, b1, c1, d1 = rows[a, j + 1], rows[b, j + 1], rows[c, j + 1], rows[d, j + 1]
                for k in range(WIDTH):
                    z0, z1 = block[j, k], block[j + 1, k]
                    sums[0, k] += abs(a0 - z0) + abs(a1 - z1)
                    sums[1, k] += abs(b0 - z0) + abs(b1 - z1)
                    sums[2, k] += abs(c0 - z0) + abs(c1 - z1)
                    sums[3, k] += abs(d0 - z0) + abs(d1 - z1)
            if n_inputs % 2:
                j = n_inputs - 1
                a0, b0, c0, d0 = rows[a, j], rows[b, j], rows[c, j], rows[d, j]
                for k in range(WIDTH):
                    z0 = block[j, k]
                    sums[0, k] += abs(a0 - z0)
                    sums[1, k] += abs(b0 - z0)
                    sums[2, k] += abs(c0 - z0)
                    sums[3, k] += abs(d0 - z0)
            for r in range(min(4, n_rows - i)):
                for k in range(n_here):
                    out[i + r, start + k] += sums[r, k]


def contract_distances(rows: Array, blocks: Array, weights: Array, total: Array) -> None:
    """total_j += sum_ik weights_ik |x_ij - z_kj|, four rows at a time.

    Parameters
    ----------
    rows : array of shape (n, d)
    blocks : array of shape (blocks, d, WIDTH)
    weights : array of shape (n, m)
        Same dtype as the points. Sums within a block have this dtype, too.
    total : array of shape (d,)
        float64.
    """
    n_rows, n_inputs = rows.shape
    own = np.zeros((4, WIDTH), rows.dtype)
    zero = own[0, 0]  # in the precision of the points, unlike the number 0.0
    for number in range(len(blocks)):
        block = blocks[number]
        start = number * WIDTH
        n_here = min(WIDTH, weights.shape[1] - start)
        for i in range(0, n_rows, 4):
            a, b, c, d = i, min(i + 1, n_rows - 1), min(i + 2, n_rows - 1), min(i + 3, n_rows - 1)
            own[:] = 0.0
            for r in range(min(4, n_rows - i)):
                for k in range(n_here):
                    own[r, k] = weights[i + r, start + k]
            for j in range(n_inputs):
                xa, xb, xc, xd = rows[a, j], rows[b, j], rows[c, j], rows[d, j]
                first, second = zero, zero
                for k in range(WIDTH):
                    z = block[j, k]
                    first += own[0, k] * abs(xa - z) + own[1, k] * abs(xb - z)
                    second += own[2, k] * abs(xc - z) + own[3, k] * abs(xd - z)
                total[j] += first + second


def add_unshared(rows: tuple[Array, ...], columns: tuple[Array, ...], out: Array) -> None:
    """out_ik += sum_j |x_ij - z_kj| = |x_i| + |z_k| - sum_j (|x_ij| + |z_kj| - |x_ij - z_kj|).

    A term of the last sum is zero unless both values are nonzero and have the same sign.

    Parameters
    ----------
    rows : tuple of arrays
        In CSR form: `starts`, with one entry more than `out` has rows; inputs; values; and the sum of absolute values
        of each row.
    columns : tuple of arrays
        In CSC form: `starts` of every input; the points at which it is not zero; values; and sums of each point.
    out : array of shape (n, m)
    """
    starts, inputs, values, row_sums = rows
    of_input, points, others, column_sums = columns
    for i in range(len(out)):
        own = out[i]
        for k in range(len(own)):
            own[k] += row_sums[i] + column_sums[k]
        for place in range(starts[i], starts[i + 1]):
            x, j = values[place], inputs[place]
            for other in range(of_input[j], of_input[j + 1]):
                z = others[other]
                if x > 0.0 and z > 0.0:
                    own[points[other]] -= 2 * min(x, z)
                elif x < 0.0 and z < 0.0:
                    own[points[other]] += 2 * max(x, z)


def contract_unshared(rows: tuple[Array, ...], columns: tuple[Array, ...], weights: Array, total: Array) -> None:
    """total_j += sum_ik weights_ik |x_ij - z_kj|, by the terms of `add_unshared`, with its rows and columns."""
    starts, inputs, values, _ = rows
    of_input, points, others, _ = columns
    column_weights = np.zeros(weights.shape[1])
    for i in range(len(weights)):
        own = weights[i]
        row_weight = 0.0
        for k in range(len(own)):
            row_weight += own[k]
            column_weights[k] += own[k]
        for place in range(starts[i], starts[i + 1]):
            x, j = values[place], inputs[place]
            part = 0.0
            for other in range(of_input[j], of_input[j + 1]):
                z = others[other]
                if x > 0.0 and z > 0.0:
                    part += own[points[other]] * min(x, z)
                elif x < 0.0 and z < 0.0:
                    part -= own[points[other]] * max(x, z)
            total[j] += row_weight * abs(x) - 2.0 * part
    for j in range(len(total)):
        for other in range(of_input[j], of_input[j + 1]):
            total[j] += column_weights[points[other]] * abs(others[other])


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of this file as machine code."""
    return compile_together((function,))


@cache
def compiled_sum(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of this file as machine code that may add up in any order: several terms at a time."""
    return compile_together((function,), fastmath={"reassoc", "contract", "nsz"})
