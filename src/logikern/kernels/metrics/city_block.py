"""The city-block distance: sums of absolute differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..inputs import Rate, as_points, is_sparse, scale_inputs, without_inputs
from .base import FARTHEST, Metric, Pair
from .parts import Part, absolute_sums, differences, unshared

# Scaled values are cut here: their sums are finite.
_LARGEST = 1e290


@dataclass(frozen=True)
class CityBlockPolicy:
    """How sums of absolute differences are computed."""

    # An input is rare if at most this share of the points differs from its median. With at least `fewest_rare` rare
    # inputs, sums over shared values are faster than differences.
    rare: float = 0.1
    fewest_rare: int = 24
    # Largest sum of absolute values for distances in single precision. Below it, distances are as accurate as the
    # kernel values in single precision that they give.
    single_norm: float = 16.0
    # Rounding error of s that sums over rare or sparse inputs may have. Larger values are compared by differences.
    rounding: float = 1e-10
    # Largest number of sparse inputs that are compared by differences.
    most_dense_inputs: int = 128
    # Points whose median is the centre of dense points.
    centre_sample: int = 63

    @property
    def largest_sum(self) -> float:
        """Sum of absolute values up to which rounding is allowed."""
        return self.rounding / float(np.finfo(np.float64).eps)


POLICY = CityBlockPolicy()


@dataclass(frozen=True, eq=False)
class CityBlockPair(Pair):
    """Two sets of points, prepared for their city-block distances."""

    parts: tuple[Part, ...]  # parts with exact sums come first
    n_rows: int
    n_columns: int
    n_inputs: int
    dtype: np.dtype  # precision in which distances are computed

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
        moved.sum_duplicates()
        own = centre[moved.indices]
        moved.data = np.abs(moved.data - own) - np.abs(own)
        return np.maximum(np.asarray(moved.sum(axis=1)).ravel() + np.abs(centre).sum(), 0.0)


CITY_BLOCK = CityBlock()


def _prepare_dense(X: np.ndarray, Z: np.ndarray, rate: Rate, dtype: np.dtype) -> CityBlockPair:
    centre = _centre(Z)
    columns = _scale(Z - centre, rate)
    rows = columns if X is Z else _scale(X - centre, rate)
    norm = sum(np.abs(points).sum(axis=1).max(initial=0.0) for points in (rows, columns))
    work = np.dtype(np.float32) if dtype == np.float32 and norm <= POLICY.single_norm else np.dtype(np.float64)
    # Inputs with one common value, such as levels of a category, are zero at most of the centred points.
    is_rare = np.count_nonzero(columns, axis=0) <= POLICY.rare * len(columns)
    if not POLICY.fewest_rare <= is_rare.sum() or norm > POLICY.largest_sum:
        is_rare[:] = False
    rare, others = np.flatnonzero(is_rare), np.flatnonzero(~is_rare)
    parts: list[Part] = []
    if rare.size:
        parts.append(unshared(sparse.csr_array(rows[:, rare]), sparse.csr_array(columns[:, rare]), rare, work))
    if others.size:
        own = (rows[:, others], columns[:, others]) if rare.size else (rows, columns)
        parts.append(differences(*own, others, work))
    return CityBlockPair(tuple(parts), len(X), len(Z), X.shape[1], work)


def _centre(Z: np.ndarray) -> np.ndarray | float:
    step = max(1, -(-len(Z) // POLICY.centre_sample))
    return np.median(Z[::step], axis=0) if len(Z) else 0.0


def _scale(X: Any, rate: Rate) -> Any:
    """X_j rate_j; dense points are contiguous, and sparse points have no duplicate entries."""
    scaled = scale_inputs(X, rate, power=1.0)
    if is_sparse(scaled):
        scaled.sum_duplicates()
        np.clip(scaled.data, -_LARGEST, _LARGEST, out=scaled.data)
        return scaled
    scaled = np.ascontiguousarray(scaled)
    return np.clip(scaled, -_LARGEST, _LARGEST, out=scaled)


def _prepare_sparse(X: Any, Z: Any, rate: Rate, dtype: np.dtype) -> CityBlockPair:
    double, n_inputs = np.dtype(np.float64), X.shape[1]
    rows = _scale(sparse.csr_array(X), rate)
    columns = rows if X is Z else _scale(sparse.csr_array(Z), rate)
    heavy = _heavy_inputs(rows, columns)
    parts: list[Part] = []
    if heavy.size:
        parts.append(differences(rows[:, heavy].toarray(), columns[:, heavy].toarray(), heavy, double))
        rows, columns = without_inputs(rows, heavy), without_inputs(columns, heavy)
    # Heavy inputs are zero in this part, which comes first.
    parts.insert(0, unshared(rows, columns, np.arange(n_inputs), double))
    return CityBlockPair(tuple(parts), X.shape[0], Z.shape[0], n_inputs, double)


def _heavy_inputs(rows: Any, columns: Any) -> np.ndarray:
    """The largest inputs; without them, every norm is small enough for sums that cancel."""
    if max(absolute_sums(points).max(initial=0.0) for points in (rows, columns)) <= POLICY.largest_sum:
        return np.zeros(0, dtype=np.intp)
    largest = np.maximum(*(np.ravel(abs(points).max(axis=0).toarray()) for points in (rows, columns)))
    n_terms = max(1, *(np.diff(points.indptr).max(initial=0) for points in (rows, columns)))
    order = np.argsort(-largest, kind="stable")[: POLICY.most_dense_inputs]
    return np.sort(order[largest[order] > POLICY.largest_sum / n_terms])
