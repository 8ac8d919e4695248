"""Squared distances that keep their digits: one matrix product, and differences where its rounding would show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..inputs import (
    Rate,
    as_points,
    inner_products,
    is_sparse,
    largest_squares,
    longest_row,
    scale_inputs,
    squared_norms,
    sum_products,
    sum_squares,
    without_inputs,
)
from .base import FARTHEST, Metric, Pair
from .single import SingleSquares, prepare_single


@dataclass(frozen=True)
class DistancePolicy:
    """Accuracy of squared distances."""

    # Rounding error of s(x, z) that the expansion ||x||^2 + ||z||^2 - 2 x'z may have. Points for which it could be
    # larger are compared by differences. A kernel changes by half of it, far below single precision.
    rounding: float = 1e-10
    # Distances below this many times their noise are computed by differences. Square roots are then right to 1e-8 of
    # the points' norm where the noise is 1e-12 of its square, instead of 1e-6.
    near: float = 1e4
    # If at least this share of pairs is near, differences of all pairs are equally fast. Otherwise near pairs are
    # corrected, `mended_entries` at a time.
    many_near: float = 0.1
    mended_entries: int = 2**18
    # Largest number of inputs of sparse points that are compared as dense inputs: centring keeps their digits.
    # Points with at most this number of inputs are compared as dense points if values are large or many points are
    # near.
    most_dense_inputs: int = 128
    # Points whose median is the centre of dense points.
    centre_sample: int = 63
    # Squared norm up to which contractions are summed in the precision of their weights.
    light_norm: float = 1e3


POLICY = DistancePolicy()


@dataclass(frozen=True)
class Block:
    """Some inputs of two sets of points, scaled so that s(x, z) is the plain squared distance, in float64."""

    rows: Any
    columns: Any
    row_norms: np.ndarray  # squared norms
    column_norms: np.ndarray
    folded: Any  # -2 times `columns`, which saves a pass over every product
    noise: float  # the expansion's rounding error is below `noise` * (||x||^2 + ||z||^2)

    @property
    def largest_norm(self) -> float:
        return float(max(self.row_norms.max(initial=0.0), self.column_norms.max(initial=0.0)))

    def are_far(self, norms: np.ndarray) -> np.ndarray:
        """Positions of the points that must be compared by differences; sparse points never are."""
        if is_sparse(self.rows) or is_sparse(self.columns):
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(~(self.noise * norms <= POLICY.rounding))

    def squared_distances(self, tile: slice, out: np.ndarray) -> np.ndarray:
        """s(x, z) for the rows of a tile and all columns, written into `out` of float64."""
        rows, norms = self.rows[tile], self.row_norms[tile]
        inner_products(rows, self.folded, out=out)
        out += norms[:, np.newaxis]
        out += self.column_norms
        self._mend_near(tile, out)
        if (far := self.are_far(norms)).size:
            out[far] = cdist(rows[far], self.columns, "sqeuclidean")
        if (far := self.are_far(self.column_norms)).size:
            out[:, far] = cdist(rows, self.columns[far], "sqeuclidean")
        return out

    def _mend_near(self, tile: slice, out: np.ndarray) -> None:
        """Compare near points by differences: the square root in Matern kernels turns an error of 1e-12 into 1e-6.

        s is small compared with ||x||^2 only if z is close to x, so ||x||^2 alone bounds the noise.
        """
        noise = (self.noise * self.row_norms[tile])[:, np.newaxis]
        rows, is_near = self.rows[tile], out <= POLICY.near * noise
        has_sparse = is_sparse(rows) or is_sparse(self.columns)
        if has_sparse:
            is_near[self.row_norms[tile] == 0] = False  # many rows may be empty, and their expansion is exact
        near, others = np.divmod(np.flatnonzero(is_near), max(1, out.shape[1]))  # np.nonzero takes 13 times as long
        may_be_dense = not has_sparse or rows.shape[1] <= POLICY.most_dense_inputs
        if len(near) > POLICY.many_near * out.size and may_be_dense:
            out[:] = cdist(_as_dense(rows), _as_dense(self.columns), "sqeuclidean")
            return
        step = max(1, POLICY.mended_entries // max(1, longest_row(rows), longest_row(self.columns)))
        for start in range(0, len(near), step):
            i, j = near[start : start + step], others[start : start + step]
            difference = rows[i] - self.columns[j]
            out[i, j] = squared_norms(difference if is_sparse(difference) else np.asarray(difference))

    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        """sum_ik weights_ik (x_ij - z_kj)^2 for every input j (d,); weights (n, m)."""
        far_rows, far_columns = self.are_far(self.row_norms), self.are_far(self.column_norms)
        total = np.zeros(self.rows.shape[1])
        if far_rows.size or far_columns.size:
            weights = weights.astype(np.float64)
            for row in far_rows:
                total += weights[row] @ (self.columns - self.rows[row]) ** 2
            weights[far_rows] = 0.0
            for column in far_columns:
                total += weights[:, column] @ (self.rows - self.columns[column]) ** 2
            weights[:, far_columns] = 0.0
        light = weights.dtype if self.largest_norm <= POLICY.light_norm else np.dtype(np.float64)
        crossed = weights.astype(light, copy=False) @ self.columns.astype(light, copy=False)  # (n, d)
        total += sum_squares(weights.sum(axis=1, dtype=np.float64), self.rows)
        total += sum_squares(weights.sum(axis=0, dtype=np.float64), self.columns)
        return total - 2.0 * sum_products(self.rows, crossed)


@dataclass(frozen=True)
class ScaledPair(Pair):
    """Two sets of points, prepared for their squared distances. Build it with `compare`."""

    # All inputs in one block, or in two: a sparse one, and a dense one of inputs with large values.
    blocks: tuple[Block, ...]
    dense_inputs: np.ndarray  # positions of the inputs of the second block, which are zero in the first one

    @property
    def shape(self) -> tuple[int, int]:
        return self.blocks[0].row_norms.shape[0], self.blocks[0].column_norms.shape[0]

    @property
    def may_be_cut(self) -> bool:
        # Distances are at most twice the sum of two norms.
        return not 4.0 * sum(block.largest_norm for block in self.blocks) <= FARTHEST

    def distances(self, tile: slice, out: np.ndarray) -> np.ndarray:
        total = out if out.dtype == np.float64 else np.empty(out.shape)
        self.blocks[0].squared_distances(tile, total)
        for block in self.blocks[1:]:
            total += block.squared_distances(tile, np.empty(total.shape))
        if self.may_be_cut:
            np.minimum(total, FARTHEST, out=total)
        if total is not out:
            out[...] = total
        return out

    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        total = self.blocks[0].contract_inputs(weights)
        for block in self.blocks[1:]:
            total[self.dense_inputs] = block.contract_inputs(weights)
        return total


def compare(X: Any, Z: Any, rate: Rate = 1.0) -> ScaledPair:
    """Prepare s(x, z) = sum_j rate_j (x_j - z_j)^2 for tiles of X against all of Z.

    Distances are computed in float64 for points of any dtype. The expansion loses digits if norms exceed
    distances: dense points are shifted by a median, which a few outliers do not move, and points that remain far from
    it are compared by differences. A shift would fill sparse points, so only their inputs with large values are
    treated as dense.
    """
    same = X is Z
    X = as_points(X, np.dtype(np.float64))
    Z = X if same else as_points(Z, np.dtype(np.float64))
    with np.errstate(over="ignore", invalid="ignore"):
        if not (is_sparse(X) or is_sparse(Z)):
            return ScaledPair((_dense_block(X, Z, rate),), np.zeros(0, dtype=np.intp))
        rows = scale_inputs(X, rate)
        columns = rows if same else scale_inputs(Z, rate)
        block = _block(rows, columns)
        heavy = _heavy_inputs(block)
        if not heavy.size:
            return ScaledPair((block,), heavy)
        rates = tuple(rate[place] for place in heavy) if isinstance(rate, tuple) else rate
        dense = _dense_block(_take_inputs(X, heavy), _take_inputs(Z, heavy), rates)
        if len(heavy) == X.shape[1]:
            return ScaledPair((dense,), heavy)
        light = _block(without_inputs(rows, heavy), without_inputs(columns, heavy))
        return ScaledPair((light, dense), heavy)


@dataclass(frozen=True)
class SquaredEuclidean(Metric):
    """s(x, z) = sum_j rate_j (x_j - z_j)^2."""

    power = 2

    def compare(self, X: Any, Z: Any, rate: Rate, dtype: np.dtype) -> ScaledPair:
        return compare(X, Z, rate)

    def in_single(self, X: Any, rate: Rate) -> SingleSquares | None:
        return None if is_sparse(X) else prepare_single(X, rate)

    def distances_from(self, centre: np.ndarray, X: Any) -> np.ndarray:
        if is_sparse(X):
            return np.maximum(squared_norms(X) - 2.0 * (X @ centre) + centre @ centre, 0.0)
        return squared_norms(X - centre)


SQUARED_EUCLIDEAN = SquaredEuclidean()


def squared_distances(X: Any, Z: Any, rate: Rate = 1.0, dtype: Any = None) -> np.ndarray:
    """s(x, z) = sum_j rate_j (x_j - z_j)^2 for all pairs (n, m).

    Parameters
    ----------
    X, Z : array or scipy sparse matrix, (n, d) and (m, d)
        Points, dense, sparse or one of each.
    rate : float or tuple of floats, default=1.0
        One weight for all inputs, or one per input.
    dtype : numpy dtype or None, default=None
        Dtype of the result; None means float32 if both sets of points are float32, and float64 otherwise.

    Returns
    -------
    array, (n, m)
        Never negative, zero for equal points, and no larger than 1e20.
    """
    return SQUARED_EUCLIDEAN.distances(X, Z, rate, dtype)


def _dense_block(X: np.ndarray, Z: np.ndarray, rate: Rate) -> Block:
    step = max(1, -(-len(Z) // POLICY.centre_sample))
    centre = np.median(Z[::step], axis=0) if len(Z) else 0.0
    columns = scale_inputs(Z - centre, rate)
    return _block(columns if X is Z else scale_inputs(X - centre, rate), columns)


def _block(rows: Any, columns: Any) -> Block:
    # Rounding errors of a sum grow as the square root of its terms (measured: below half of this at 5000).
    noise = (8.0 + max(longest_row(rows), longest_row(columns)) ** 0.5) * float(np.finfo(np.float64).eps)
    column_norms = squared_norms(columns)
    row_norms = column_norms if rows is columns else squared_norms(rows)
    return Block(rows, columns, row_norms, column_norms, -2.0 * columns, noise)


def _heavy_inputs(block: Block) -> np.ndarray:
    """The largest inputs (or all, if few); without them, every squared norm is small enough for the expansion."""
    allowed, n_inputs = POLICY.rounding / block.noise, block.rows.shape[1]
    if block.largest_norm <= allowed:
        return np.zeros(0, dtype=np.intp)
    if n_inputs <= POLICY.most_dense_inputs:
        return np.arange(n_inputs)
    largest = np.maximum(largest_squares(block.rows), largest_squares(block.columns))
    n_terms = max(1, longest_row(block.rows), longest_row(block.columns))
    order = np.argsort(-largest, kind="stable")[: POLICY.most_dense_inputs]
    return np.sort(order[largest[order] > allowed / n_terms])


def _take_inputs(X: Any, places: np.ndarray) -> np.ndarray:
    return _as_dense(X[:, places])


def _as_dense(X: Any) -> np.ndarray:
    return X.toarray() if is_sparse(X) else X
