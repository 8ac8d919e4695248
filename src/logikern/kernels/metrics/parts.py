"""Parts of the city-block distance, each by the arithmetic that suits its inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import loops


class Part(ABC):
    """Some inputs of two sets of points, scaled by their rates.

    Attributes
    ----------
    inputs : array of int
        Positions of the inputs.
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
    """Dense inputs, by differences: no digits are lost."""

    inputs: np.ndarray
    largest_norm: float
    rows: np.ndarray  # (n, d)
    blocks: np.ndarray  # (blocks, d, WIDTH): the columns, padded with zeros

    def add_distances(self, tile: slice, out: np.ndarray) -> None:
        loops.compiled(loops.add_distances)(self.rows[tile], self.blocks, out)

    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros(len(self.inputs))
        weights = np.ascontiguousarray(weights, self.rows.dtype)
        loops.compiled_sum(loops.contract_distances)(self.rows, self.blocks, weights, total)
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
class Unshared(Part):
    """Sparse inputs: |x|_1 + |z|_1, minus a correction for inputs that are nonzero in both points.

    Values are rounded so that all sums are exact: equal points have distance zero, and the matrix is symmetric.
    """

    inputs: np.ndarray
    largest_norm: float
    rows: Any  # (n, d)
    columns: Any  # (m, d)
    # (n,) and (m,): sums of absolute values.
    row_sums: np.ndarray
    column_sums: np.ndarray

    def add_distances(self, tile: slice, out: np.ndarray) -> None:
        loops.compiled(loops.add_unshared)(self._in_rows(tile), self._by_input, out)

    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros(len(self.inputs))
        columns, weights = self._by_input, np.ascontiguousarray(weights)
        loops.compiled_sum(loops.contract_unshared)(self._in_rows(slice(None)), columns, weights, total)
        return total

    def _in_rows(self, tile: slice) -> tuple[np.ndarray, ...]:
        first, last, _ = tile.indices(len(self.row_sums))
        return self.rows.indptr[first : last + 1], self.rows.indices, self.rows.data, self.row_sums[tile]

    @property
    def _by_input(self) -> tuple[np.ndarray, ...]:
        return self.columns.indptr, self.columns.indices, self.columns.data, self.column_sums


def unshared(rows: Any, columns: Any, inputs: np.ndarray, dtype: np.dtype) -> Unshared:
    """The part for CSR matrices (n, d) and (m, d) of float64."""
    norm = float(max(absolute_sums(points).max(initial=0.0) for points in (rows, columns)))
    rows, columns = rows.copy(), columns.tocsc(copy=True)
    for points in (rows, columns):
        points.data = round_sums(points.data, norm, dtype).astype(dtype)
    return Unshared(inputs, norm, rows, columns, absolute_sums(rows), absolute_sums(columns))


def round_sums(values: np.ndarray, largest_sum: float, dtype: np.dtype) -> np.ndarray:
    """Values as multiples of a power of two for which sums up to twice `largest_sum` have no rounding errors."""
    if not 0.0 < largest_sum < np.inf:
        return values
    step = 2.0 ** (np.ceil(np.log2(largest_sum)) - np.finfo(dtype).nmant)
    return np.rint(values / step) * step if step > 0.0 else values


def absolute_sums(X: Any) -> np.ndarray:
    """sum_j |x_j| for every row of a sparse matrix (n,)."""
    return np.asarray(abs(X).sum(axis=1)).ravel()
