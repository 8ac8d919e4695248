"""The city-block distance: sums of absolute differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..inputs import Rate, as_points, is_sparse, scale_inputs, without_inputs
from . import loops
from .base import FARTHEST, Metric, Pair
from .parts import Part, absolute_sums, differences, shared_inputs, two_valued

# Scaled values are cut here: their sums are finite.
_LARGEST = 1e290


@dataclass(frozen=True)
class CityBlockPolicy:
    """How sums of absolute differences are computed."""

    # Number of inputs with two values from which on a matrix product is faster than differences.
    fewest_two_valued: int = 16
    # Largest sum of absolute values for distances in single precision: they are then as accurate as the kernel values
    # of single precision that they give.
    single_norm: float = 16.0
    # Rounding error of s that sums over sparse or two-valued inputs may have. Larger values are compared by
    # differences.
    rounding: float = 1e-10
    # Largest number of sparse inputs that are compared by differences.
    most_dense_inputs: int = 128
    # Points whose median is the centre of dense points in single precision.
    centre_sample: int = 63

    @property
    def largest_sum(self) -> float:
        """Sum of absolute values up to which rounding is allowed."""
        return self.rounding / float(np.finfo(np.float64).eps)


POLICY = CityBlockPolicy()


@dataclass(frozen=True, eq=False)
class CityBlockPair(Pair):
    """Two sets of points, prepared for their city-block distances.

    Parameters
    ----------
    parts : tuple of Part
        Parts with exact sums come first.
    n_rows, n_columns, n_inputs : int
    dtype : numpy dtype
        Precision in which distances are computed.
    """

    parts: tuple[Part, ...]
    n_rows: int
    n_columns: int
    n_inputs: int
    dtype: np.dtype

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_columns

    @property
    def may_be_cut(self) -> bool:
        return not 2.0 * sum(part.largest_norm for part in self.parts) <= FARTHEST

    def distances(self, tile: slice, out: np.ndarray) -> np.ndarray:
        total = out if out.dtype == self.dtype else np.empty(out.shape, self.dtype)
        total[...] = 0.0
        for part in self.parts:
            part.add_distances(tile, total)
        if self.may_be_cut:
            np.minimum(total, FARTHEST, out=total)
        if total is not out:
            out[...] = total
        return out

    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n_inputs)
        # Heavy inputs are zero in the part of sparse ones, which comes first.
        for part in self.parts:
            total[part.inputs] = part.contract_inputs(weights)
        return total


@dataclass(frozen=True)
class CityBlock(Metric):
    """s(x, z) = sum_j rate_j |x_j - z_j|."""

    power = 1

    def compare(self, X: Any, Z: Any, rate: Rate, dtype: np.dtype) -> CityBlockPair:
        same, double = X is Z, np.dtype(np.float64)
        prepare = _prepare_sparse if is_sparse(X) or is_sparse(Z) else _prepare_dense
        X = as_points(X, double)
        Z = X if same else as_points(Z, double)
        with np.errstate(over="ignore", invalid="ignore"):
            return prepare(X, Z, rate, dtype)

    def distances_from(self, centre: np.ndarray, X: Any) -> np.ndarray:
        if not is_sparse(X):
            return np.abs(X - centre).sum(axis=1)
        # |x - c| = |c| where x is zero.
        moved = X.copy()
        moved.data = np.abs(X.data - centre[X.indices]) - np.abs(centre[X.indices])
        return np.maximum(np.asarray(moved.sum(axis=1)).ravel() + np.abs(centre).sum(), 0.0)


CITY_BLOCK = CityBlock()


def _prepare_dense(X: np.ndarray, Z: np.ndarray, rate: Rate, dtype: np.dtype) -> CityBlockPair:
    n_inputs = X.shape[1]
    centre = _centre(Z) if dtype == np.float32 else 0.0
    columns = _scale(Z - centre, rate)
    rows = columns if X is Z else _scale(X - centre, rate)
    low, high, counts = _count_values(rows, columns)
    gaps = high - low
    is_binary = (counts == 2) & (gaps <= POLICY.largest_sum / max(1, n_inputs))
    if is_binary.sum() < POLICY.fewest_two_valued:
        is_binary[:] = False
    norm = sum(np.abs(points).sum(axis=1).max(initial=0.0) for points in (rows, columns))
    work = np.dtype(np.float32) if dtype == np.float32 and norm <= POLICY.single_norm else np.dtype(np.float64)
    parts: list[Part] = []
    if (binary := np.flatnonzero(is_binary)).size:
        bits = columns[:, binary] == high[binary]
        own = bits if X is Z else rows[:, binary] == high[binary]
        parts.append(two_valued(own, bits, gaps[binary], binary, work))
    if (others := np.flatnonzero(~is_binary & (counts > 1))).size:
        parts.append(differences(rows[:, others], columns[:, others], others, work))
    return CityBlockPair(tuple(parts), len(X), len(Z), n_inputs, work)


def _count_values(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The smaller and the larger value of every input that has at most two, and the number of values up to three."""
    n_inputs = rows.shape[1]
    low, high, counts = np.zeros(n_inputs), np.zeros(n_inputs), np.zeros(n_inputs, dtype=np.intp)
    count = loops.compiled(loops.count_values)
    count(columns, low, high, counts)
    if rows is not columns:
        count(rows, low, high, counts)
    return low, high, counts


def _centre(Z: np.ndarray) -> np.ndarray | float:
    step = max(1, -(-len(Z) // POLICY.centre_sample))
    return np.median(Z[::step], axis=0) if len(Z) else 0.0


def _scale(X: Any, rate: Rate) -> Any:
    """X_j rate_j; dense points are contiguous, and sparse ones have no entry twice."""
    scaled = scale_inputs(X, rate, power=1.0)
    if not is_sparse(scaled):
        return np.clip(np.ascontiguousarray(scaled), -_LARGEST, _LARGEST)
    scaled.sum_duplicates()
    np.clip(scaled.data, -_LARGEST, _LARGEST, out=scaled.data)
    return scaled


def _prepare_sparse(X: Any, Z: Any, rate: Rate, dtype: np.dtype) -> CityBlockPair:
    same, n_inputs = X is Z, X.shape[1]
    rows = _scale(sparse.csr_array(X), rate)
    columns = rows if same else _scale(sparse.csr_array(Z), rate)
    heavy = _heavy_inputs(rows, columns)
    parts: list[Part] = []
    if heavy.size:
        parts.append(differences(rows[:, heavy].toarray(), columns[:, heavy].toarray(), heavy, np.dtype(np.float64)))
    rows = without_inputs(rows, heavy)
    columns = rows.copy() if same else without_inputs(columns, heavy)
    norm = _largest_norm(rows, columns)
    parts.insert(0, shared_inputs(rows, columns, norm, np.arange(n_inputs)))
    return CityBlockPair(tuple(parts), X.shape[0], Z.shape[0], n_inputs, np.dtype(np.float64))


def _heavy_inputs(rows: Any, columns: Any) -> np.ndarray:
    """The largest inputs, without which every norm is small enough for sums that cancel."""
    if _largest_norm(rows, columns) <= POLICY.largest_sum:
        return np.zeros(0, dtype=np.intp)
    largest = np.maximum(*(np.ravel(abs(points).max(axis=0).toarray()) for points in (rows, columns)))
    n_terms = max(1, *(np.diff(points.indptr).max(initial=0) for points in (rows, columns)))
    order = np.argsort(-largest, kind="stable")[: POLICY.most_dense_inputs]
    return np.sort(order[largest[order] > POLICY.largest_sum / n_terms])


def _largest_norm(rows: Any, columns: Any) -> float:
    return float(max(absolute_sums(points).max(initial=0.0) for points in (rows, columns)))
