"""The matrices of Woodbury's formula, one for each weighting."""

import numpy as np
from scipy.linalg.lapack import dpotrf

from logikern.fitting.factors import CovarianceFactors
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import for_each

# Rows of the matrix that are computed at a time.
ROW_CHUNK = 128


def woodbury_factors(factors: CovarianceFactors, per_class: Array, coupled: bool) -> list[tuple[Array, bool]]:
    """Cholesky factors of I + G' B^-1 G for each member of the batch, for `cho_solve`.

    Parameters
    ----------
    factors : CovarianceFactors
    per_class : array of shape (B, C, n)
        T_c of `LowRank`.
    coupled : bool
        Whether the curvature couples classes.
    """
    return for_each(lambda own: _robust_cholesky(_gram(factors, own, coupled)), per_class)


def _gram(factors: CovarianceFactors, per_class: Array, coupled: bool) -> Array:
    """G' B^-1 G; the part below the diagonal is computed."""
    offsets = factors.offsets
    strength = factors.mixing.adjoint(per_class)  # T_p, (P, n)
    total = per_class.sum(axis=0) if coupled else np.inf
    total = np.where(total > 0, total, 1.0)
    matrix = np.zeros((offsets[-1],) * 2)
    stacked = factors.borrow()

    def own_block(piece: int) -> Array:
        rows, own = slice(offsets[piece], offsets[piece + 1]), strength[factors.function_of[piece]]
        factors.scale_rows(piece, np.sqrt(np.maximum(own - own**2 / total, 0.0)), stacked[rows])
        block = stacked[rows] @ stacked[rows].T
        if coupled:
            factors.scale_rows(piece, own / np.sqrt(total), stacked[rows])
        return block

    def couple_rows(rows: slice) -> None:
        np.negative(stacked[rows] @ stacked[: rows.stop].T, out=matrix[rows, : rows.stop])

    pieces = range(len(offsets) - 1)
    blocks = for_each(own_block, pieces)
    if coupled:
        # The last rows are the longest: they come first, so that threads end together.
        for_each(couple_rows, _row_chunks(len(matrix))[::-1])
    for piece in pieces:
        rows = slice(offsets[piece], offsets[piece + 1])
        matrix[rows, rows] = blocks[piece]
        upper = [place for place in factors.above[piece] if offsets[place + 1] > offsets[place]]
        if upper and rows.stop > rows.start:
            _add_path(factors, matrix, piece, upper, strength[factors.function_of[piece]])
    factors.scratch.append(stacked)
    return matrix


def _add_path(factors: CovarianceFactors, matrix: Array, piece: int, upper: list[int], strength: Array) -> None:
    """F_q T_q F_p' for every function p above the piece q."""
    offsets = factors.offsets
    rows = slice(offsets[piece], offsets[piece + 1])
    own = np.empty((rows.stop - rows.start, len(strength)), dtype=factors.factors[0].dtype)
    factors.scale_rows(piece, strength, own)
    images: dict[int, Array] = {}
    for place in upper:
        number = factors.assignment[place]
        if number not in images:
            images[number] = own @ factors.factors[number].T
        columns = slice(offsets[place], offsets[place + 1])
        matrix[rows, columns] += factors.deviations[place] * images[number]


def _row_chunks(length: int) -> list[slice]:
    """Rows of a matrix in pieces for one product each."""
    return [slice(start, min(start + ROW_CHUNK, length)) for start in range(0, length, ROW_CHUNK)]


def _robust_cholesky(matrix: Array) -> tuple[Array, bool]:
    """Factor of I + matrix from the part below the diagonal; a growing ridge if rounding made it indefinite."""
    matrix.flat[:: len(matrix) + 1] += 1.0
    ridge = 0.0
    for _ in range(8):
        # In the order of LAPACK rows are columns, so what is below the diagonal is above it.
        upper, failed = dpotrf(matrix.T, lower=False, clean=False)
        if not failed:
            return upper, False
        added = max(9 * ridge, 1e-7 * float(np.trace(matrix)) / len(matrix))
        matrix.flat[:: len(matrix) + 1] += added
        ridge += added
    return np.diag(np.sqrt(np.maximum(np.diag(matrix), 0.0) + 1.0)), False
