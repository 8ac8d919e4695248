"""Leave-one-out latents of large fits, from low-rank factors and a diagonal."""

import numpy as np
from scipy.linalg import solve_triangular

from logikern.fitting.preconditioner import CovarianceFactors, LowRank, factorise
from logikern.fitting.problem import FitResult, Problem
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import for_each

# Numbers that one tile of points may fill.
TILE_ENTRIES = 2**24


def leave_out_by_factors(problem: Problem, result: FitResult, rank: int, seed: int = 0) -> Array:
    """Latents z_i = u_i - Q_ii (I - W_i Q_ii)^-1 alpha_i of every point without it, (C, n), in O(n (C r)^2).

    K~ ~ F'F + D has the right diagonal whatever the rank r, so that even of rough kernels, which a factor of low rank
    cannot represent, each point keeps its own prior variance. With H = (W^+ + D)^-1, M = I + F H F' and
    N_i = F_i' M^-1 F_i the blocks of the posterior covariance are
    Q_ii = (I - D_i H_i) N_i (I - H_i D_i) + D_i - D_i H_i D_i.

    Parameters
    ----------
    problem : Problem
        With one weighting; its covariance may be of any kind that has products.
    result : FitResult
    rank : int
        Of the factor of each operator.
    seed : int, default=0
        Of the random pivots.
    """
    curvature = problem.likelihood.expand(result.latent, problem.targets, problem.weights).curvature
    factors = factorise(problem.covariance, rank, np.random.default_rng(seed))
    upper, _ = LowRank(factors, curvature).woodbury[0]
    scale, null = curvature.scale[0], None if curvature.null is None else curvature.null[0]
    left_out = np.empty(problem.shape[1:])
    n_rows = len(factors.assignment) * int(factors.offsets[-1])
    step = max(1, TILE_ENTRIES // n_rows)
    for start in range(0, problem.shape[2], step):
        tile = slice(start, start + step)
        inner = _inner_covariance(factors, upper, tile)  # N, (m, C, C)
        moved = _cavity_shift(
            inner,
            factors.residual[:, tile].T,
            scale[:, tile].T,
            None if null is None else null[:, tile].T,
            result.dual[0][:, tile].T,
        )
        left_out[:, tile] = result.latent[0][:, tile] - moved.T
    return left_out


def _inner_covariance(factors: CovarianceFactors, upper: Array, tile: slice) -> Array:
    """F_i' M^-1 F_i for the points of a tile, M = upper' upper."""
    offsets = factors.offsets

    def solve(index: int) -> Array:
        # Rows before those of the class stay zero.
        own = slice(offsets[index], None)
        right = np.zeros((int(offsets[-1] - offsets[index]), factors.residual[:, tile].shape[1]))
        size = int(offsets[index + 1] - offsets[index])
        factor = factors.factors[factors.assignment[index]][:, tile]
        right[: size - 1] = factors.deviations[index] * factor
        right[size - 1] = factors.bias_deviation
        solved = np.zeros((int(offsets[-1]), right.shape[1]))
        solved[own] = solve_triangular(upper[own, own], right, trans="T", check_finite=False)
        return solved

    solved = np.stack(for_each(solve, range(len(factors.assignment))))  # (C, rows, m)
    return np.einsum("crm,erm->mce", solved, solved, optimize=True)


def _cavity_shift(inner: Array, residual: Array, scale: Array, null: Array | None, dual: Array) -> Array:
    """Q (I - W Q)^-1 alpha for each point, all arrays with points first."""
    strength = scale**2 / (1.0 + scale**2 * residual)  # T, (m, C)
    likelihood, weight = _diagonal(strength), _diagonal(scale**2)
    if null is not None:
        total = strength.sum(axis=1, keepdims=True)
        shared = strength / np.sqrt(np.where(total > 0, total, 1.0))
        likelihood -= shared[:, :, None] * shared[:, None, :]  # H
        pulled = scale * null
        weight -= pulled[:, :, None] * pulled[:, None, :]  # W
    eye = np.eye(inner.shape[1])
    through = eye - residual[:, :, None] * likelihood  # I - D H
    covariance = through @ inner @ through.swapaxes(1, 2)
    covariance += _diagonal(residual) - residual[:, :, None] * likelihood * residual[:, None, :]  # Q
    amplified = np.linalg.solve(eye - weight @ covariance, dual[:, :, None])
    return np.asarray((covariance @ amplified)[:, :, 0])


def _diagonal(values: Array) -> Array:
    """(m, C) -> (m, C, C)."""
    return values[:, :, None] * np.eye(values.shape[1])
