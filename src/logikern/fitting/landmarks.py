"""Kernel matrices known through a few of their rows, and the derivative of what they are taken for."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from logikern.numerics.outcome import Array, Indices
from logikern.numerics.pivoted_cholesky import randomly_pivoted_cholesky
from logikern.operators.base import KernelOperator
from logikern.structure.covariance import ClassCovariance

# Of the largest diagonal entry, added where landmarks nearly coincide.
JITTER = 1e-9
DIAGONAL_TILE = 32


class Nystrom(NamedTuple):
    """K ~ K_nL (K_LL + jitter)^-1 K_Ln + diag(residual), with the right diagonal.

    Attributes
    ----------
    landmarks : integer array of shape (r,)
    rows : array of shape (r, n)
        K_Ln.
    factor : array of shape (r, n)
        Its product with its transpose is the first part.
    interpolation : array of shape (r, n)
        (K_LL + jitter)^-1 K_Ln.
    diagonal, residual : arrays of shape (n,)
    """

    landmarks: Indices
    rows: Array
    factor: Array
    interpolation: Array
    diagonal: Array
    residual: Array


class PairWeights(NamedTuple):
    """Weights M of all pairs of points, of which N = (M + M') / 2 is known by its product with the interpolation.

    Attributes
    ----------
    diagonal : array of shape (n,)
        That of M.
    beyond : array of shape (r, n)
        interpolation 2 (N - diag N).
    """

    diagonal: Array
    beyond: Array


def choose_landmarks(covariance: ClassCovariance, rank: int, seed: int = 0) -> tuple[Indices, ...]:
    """At most `rank` points for each operator, by randomly pivoted Cholesky at these hyperparameters.

    Landmarks that stay where they are make the criterion a smooth function of the hyperparameters.
    """
    random = np.random.default_rng(seed)
    return tuple(
        np.sort(randomly_pivoted_cholesky(operator.rows, operator.diagonal(), rank, random).pivots)
        for operator in covariance.operators
    )


def approximate(operator: KernelOperator, landmarks: Indices) -> Nystrom:
    """The approximation of one operator from its rows at the landmarks."""
    rows, diagonal = operator.rows(landmarks).astype(np.float64), operator.diagonal()
    own = rows[:, landmarks].copy()
    own.flat[:: len(own) + 1] += JITTER * diagonal.max(initial=0.0)
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
    for start in range(0, len(weights.diagonal), DIAGONAL_TILE):
        tile = slice(start, start + DIAGONAL_TILE)
        total += kernel.weigh_gradient(X[tile], X[tile], np.diag(weights.diagonal[tile]).astype(dtype))
    return total
