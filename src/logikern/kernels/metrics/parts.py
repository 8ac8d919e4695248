"""Parts of the city-block distance, each by the arithmetic that suits its inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.numerics.parallel import TILES, slices

from ..inputs import sum_products
from . import loops


class Part(ABC):
    """Some inputs of two sets of points, scaled by their rates.

    Attributes
    ----------
    inputs : array of int
        Places of the inputs.
    largest_norm : float
        The largest sum of absolute values of a point.
    """

    inputs: np.ndarray
    largest_norm: float

    @abstractmethod
    def add_distances(self, tile: slice, out: np.ndarray) -> None:
        """Add sum_j |x_j - z_j| for the rows of a tile and all columns to `out`, in the precision of the part."""

    @abstractmethod
    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        """sum_ik weights_ik |x_ij - z_kj| for every input of the part."""


@dataclass(frozen=True, eq=False)
class Differences(Part):
    """Dense inputs, by differences: no digits are lost.

    Parameters
    ----------
    inputs : array of int
    largest_norm : float
    rows : array, (n, d)
    blocks : array, (blocks, d, WIDTH)
        The columns, filled up with zeros.
    """

    inputs: np.ndarray
    largest_norm: float
    rows: np.ndarray
    blocks: np.ndarray

    def add_distances(self, tile: slice, out: np.ndarray) -> None:
        loops.compiled(loops.add_distances)(self.rows[tile], self.blocks, out)

    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros(len(self.inputs))
        weights = np.ascontiguousarray(weights, self.rows.dtype)
        loops.compiled(loops.contract_distances)(self.rows, self.blocks, weights, total)
        return total


def differences(rows: np.ndarray, columns: np.ndarray, inputs: np.ndarray, dtype: np.dtype) -> Differences:
    """Scaled points (n, d) and (m, d), in blocks of this precision."""
    norm = max(np.abs(rows).sum(axis=1).max(initial=0.0), np.abs(columns).sum(axis=1).max(initial=0.0))
    n_blocks = -(-len(columns) // loops.WIDTH)
    padded = np.zeros((n_blocks * loops.WIDTH, len(inputs)), dtype)
    padded[: len(columns)] = columns
    blocks = np.ascontiguousarray(padded.reshape(n_blocks, loops.WIDTH, len(inputs)).transpose(0, 2, 1))
    return Differences(inputs, float(norm), np.ascontiguousarray(rows, dtype), blocks)


@dataclass(frozen=True, eq=False)
class TwoValued(Part):
    """Inputs with two values each, by one matrix product: |x - z| = gap (a + b - 2 a b) with bits a and b.

    Gaps are rounded so that all sums are exact: equal points have distance zero, and the matrix is symmetric.

    Parameters
    ----------
    inputs : array of int
    largest_norm : float
    rows, columns : array, (n, d) and (m, d)
        Bits: whether the value is the larger one.
    gaps : array, (d,)
        Differences of both values.
    row_sums, column_sums : array, (n,) and (m,)
        Sums of the rounded gaps of all bits that are set.
    folded : array, (m, d)
        -2 times the rounded gaps times `columns`.
    """

    inputs: np.ndarray
    largest_norm: float
    rows: np.ndarray
    columns: np.ndarray
    gaps: np.ndarray
    row_sums: np.ndarray
    column_sums: np.ndarray
    folded: np.ndarray

    def add_distances(self, tile: slice, out: np.ndarray) -> None:
        rows, row_sums = self.rows[tile], self.row_sums[tile]
        for some in slices(0, len(out), TILES.summed_rows):
            product = rows[some] @ self.folded.T
            product += row_sums[some, np.newaxis]
            product += self.column_sums
            out[some] += product

    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        weights = weights.astype(self.rows.dtype, copy=False)
        total = weights.sum(axis=1, dtype=np.float64) @ self.rows
        total += weights.sum(axis=0, dtype=np.float64) @ self.columns
        return self.gaps * (total - 2.0 * sum_products(self.rows, weights @ self.columns))


def two_valued(
    rows: np.ndarray, columns: np.ndarray, gaps: np.ndarray, inputs: np.ndarray, dtype: np.dtype
) -> TwoValued:
    """From bits (n, d) and (m, d), and the difference of both values of each input (d,)."""
    norm = float(max((rows @ gaps).max(initial=0.0), (columns @ gaps).max(initial=0.0)))
    exact = round_sums(gaps, norm, dtype).astype(dtype)
    rows = rows.astype(dtype)
    columns = columns.astype(dtype)
    return TwoValued(inputs, norm, rows, columns, gaps, rows @ exact, columns @ exact, -2.0 * columns * exact)


def round_sums(values: np.ndarray, largest_sum: float, dtype: np.dtype) -> np.ndarray:
    """Values as multiples of a power of two for which sums up to twice `largest_sum` have no rounding errors."""
    if not 0.0 < largest_sum < np.inf:
        return values
    step = 2.0 ** (np.ceil(np.log2(largest_sum)) - np.finfo(dtype).nmant)
    return np.rint(values / step) * step if step > 0.0 else values


@dataclass(frozen=True, eq=False)
class SharedInputs(Part):
    """Sparse inputs: |x|_1 + |z|_1, less what inputs that are nonzero in both points save.

    Values are rounded so that all sums are exact.

    Parameters
    ----------
    inputs : array of int
    largest_norm : float
    rows : CSR matrix, (n, d)
    columns : CSC matrix, (m, d)
    row_sums, column_sums : array, (n,) and (m,)
        Sums of absolute values.
    """

    inputs: np.ndarray
    largest_norm: float
    rows: Any
    columns: Any
    row_sums: np.ndarray
    column_sums: np.ndarray

    def add_distances(self, tile: slice, out: np.ndarray) -> None:
        first, last, _ = tile.indices(len(self.row_sums))
        out += self.row_sums[tile, np.newaxis]
        out += self.column_sums
        own, others = self.rows, self.columns
        starts = own.indptr[first : last + 1]
        loops.compiled(loops.subtract_shared)(
            starts, own.indices, own.data, others.indptr, others.indices, others.data, out
        )

    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        weights = np.ascontiguousarray(weights)
        own, others = self.rows, self.columns
        total = weights.sum(axis=1, dtype=np.float64) @ abs(own)
        total += weights.sum(axis=0, dtype=np.float64) @ abs(others)
        rows = own.indptr, own.indices, own.data
        loops.compiled(loops.contract_shared)(rows, others.indptr, others.indices, others.data, weights, total)
        return total


def shared_inputs(rows: Any, columns: Any, largest_norm: float, inputs: np.ndarray) -> SharedInputs:
    """From CSR matrices (n, d) and (m, d) of this part alone, which it may change."""
    rows.data = round_sums(rows.data, largest_norm, np.dtype(np.float64))
    columns = columns.tocsc()
    columns.data = round_sums(columns.data, largest_norm, np.dtype(np.float64))
    return SharedInputs(inputs, largest_norm, rows, columns, absolute_sums(rows), absolute_sums(columns))


def absolute_sums(X: Any) -> np.ndarray:
    """sum_j |x_j| for every row of a sparse matrix (n,)."""
    return np.asarray(abs(X).sum(axis=1)).ravel()
