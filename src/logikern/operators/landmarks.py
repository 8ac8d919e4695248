"""Kernel matrices approximated from a few of their rows, and the derivatives of the approximation."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpstrf

from logikern.kernels.base import Kernel
from logikern.kernels.stationary import DistanceKernel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import TILES, slices
from logikern.numerics.pivoted_cholesky import randomly_pivoted_cholesky
from logikern.operators.base import KernelOperator


class Nystrom(NamedTuple):
    """K ~ K_nL (K_LL + jitter)^-1 K_Ln + diag(residual), with the right diagonal."""

    landmarks: Indices  # (r,)
    rows: Array  # (r, n): K_Ln
    factor: Array  # (r, n): its product with its transpose is the first part
    interpolation: Array  # (r, n): (K_LL + jitter)^-1 K_Ln
    diagonal: Array  # (n,)
    residual: Array  # (n,)


class PairWeights(NamedTuple):
    """Weights M of all pairs of points; N = (M + M') / 2 is given by its product with the interpolation."""

    diagonal: Array  # (n,): diagonal of M
    beyond: Array  # (r, n): interpolation 2 (N - diag N)


def random_landmarks(operator: KernelOperator, rank: int, seed: int = 0) -> Indices:
    """At most `rank` points by randomly pivoted Cholesky: from rows of the matrix alone."""
    random = np.random.default_rng(seed)
    return np.sort(randomly_pivoted_cholesky(operator.rows, operator.diagonal(), rank, random).pivots)


def enough_landmarks(matrix: Array, missed: float, largest: int) -> Indices | None:
    """Points that leave a residual diagonal of at most `missed`, by pivoted Cholesky; None if too many."""
    _, pivots, rank, _ = dpstrf(matrix.T, tol=missed, lower=1)
    return np.sort(pivots[:rank] - 1) if 0 < rank <= largest else None


def approximate(operator: KernelOperator, landmarks: Indices, jitter: float = 1e-9) -> Nystrom:
    """The approximation of one operator from its rows at the landmarks.

    `jitter` times the largest diagonal entry is added, for landmarks that nearly coincide.
    """
    rows, diagonal = operator.rows(landmarks).astype(np.float64), operator.diagonal()
    own = rows[:, landmarks].copy()
    own.flat[:: len(own) + 1] += jitter * diagonal.max(initial=0.0)
    lower = np.linalg.cholesky(own)
    factor = solve_triangular(lower, rows, lower=True, check_finite=False)
    interpolation = cho_solve((lower, True), rows, check_finite=False)
    residual = np.maximum(diagonal - np.einsum("rn,rn->n", factor, factor), 0.0)
    return Nystrom(landmarks, rows, factor, interpolation, diagonal, residual)


def weigh_values(nystrom: Nystrom, weights: PairWeights) -> float:
    """sum_ij M_ij K_ij of the approximation."""
    return float(0.5 * np.vdot(weights.beyond, nystrom.rows) + weights.diagonal @ nystrom.diagonal)


def weigh_derivative(operator: KernelOperator, nystrom: Nystrom, weights: PairWeights) -> Array:
    """d/d log h of sum_ij M_ij K_ij of the approximation, one value per kernel parameter."""
    kernel, X, dtype = operator.kernel, operator.X, operator.dtype
    total = np.zeros(len(kernel.log_parameters))
    if not total.size:
        return total
    some = X[nystrom.landmarks]
    between = -0.5 * weights.beyond @ nystrom.interpolation.T
    total += kernel.weigh_gradient(some, X, weights.beyond.astype(dtype))
    total += kernel.weigh_gradient(some, some, between.astype(dtype))
    return total if isinstance(kernel, DistanceKernel) else total + _weigh_diagonal(operator, weights.diagonal)


def _weigh_diagonal(operator: KernelOperator, weights: Array) -> Array:
    """d/d log h of sum_i weights_i k(x_i, x_i), in small tiles of the matrix."""
    total = np.zeros(len(operator.kernel.log_parameters))
    for tile in slices(0, len(weights), TILES.diagonal_points):
        points, diagonal = operator.X[tile], np.diag(weights[tile]).astype(operator.dtype)
        total += operator.kernel.weigh_gradient(points, points, diagonal)
    return total


@dataclass(frozen=True, eq=False)
class Landmarked(KernelOperator):
    """The approximation itself as an operator: products in O(n r)."""

    inner: KernelOperator  # the operator that is approximated
    nystrom: Nystrom = field(repr=False)

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.inner.kernel

    @property
    def X(self) -> Any:  # noqa: N802
        return self.inner.X

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return self.inner.n_points

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return np.dtype(np.float64)

    def in_double(self) -> KernelOperator:
        return self

    def matmul(self, functions: Array) -> Array:
        factor = self.nystrom.factor
        return (functions @ factor.T) @ factor + functions * self.nystrom.residual

    def accurate_matmul(self, functions: Array) -> Array:
        return self.matmul(functions)

    def accurate_columns(self, functions: Array, indices: Indices) -> Array:
        return self.matmul(functions)[:, indices]

    def diagonal(self) -> Array:
        return self.nystrom.diagonal

    def rows(self, indices: Indices) -> Array:
        block = self.nystrom.factor[:, indices].T @ self.nystrom.factor
        block[np.arange(len(indices)), indices] += self.nystrom.residual[indices]
        return block

    def contract_gradient(self, left: Array, right: Array) -> Array:
        interpolation = self.nystrom.interpolation
        diagonal = np.einsum("rn,rn->n", left, right)
        beyond = (interpolation @ left.T) @ right + (interpolation @ right.T) @ left
        beyond -= 2.0 * diagonal * interpolation
        return weigh_derivative(self.inner, self.nystrom, PairWeights(diagonal, beyond))


def landmarked(operator: KernelOperator, landmarks: Indices) -> Landmarked:
    """The approximation of an operator from its rows at the landmarks."""
    return Landmarked(operator, approximate(operator, landmarks))
