"""Low-rank factors of positive semidefinite matrices from a few of their rows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from logikern.numerics.outcome import Array, Indices


class LowRankFactor(NamedTuple):
    """K ~ factor' factor, and the residual diagonal."""

    factor: Array  # (rank, n)
    residual: Array  # (n,): diag(K) - diag(factor' factor) >= 0
    pivots: Indices  # (rank,): rows of the matrix that span the factor


def randomly_pivoted_cholesky(
    rows: Callable[[Indices], Array],
    diagonal: Array,
    rank: int,
    random: np.random.Generator,
    tolerance: float = 1e-9,
    weights: Array | None = None,
) -> LowRankFactor:
    """A factor of at most `rank` rows, with pivots drawn in proportion to the residual diagonal, perhaps weighted.

    Chen, Epperly, Tropp & Webber (2025), in the blocked form with rejection (Epperly, Tropp & Webber 2024). A block
    of candidates is drawn, and each candidate is accepted with a probability that makes the result equivalent to the
    sequential algorithm. Each block needs one call of `rows`.

    Parameters
    ----------
    rows : callable
        Maps indices (b,) to rows (b, n) of the matrix.
    diagonal : array of shape (n,)
    rank : int
        Largest number of rows of the factor.
    random : numpy.random.Generator
    tolerance : float, default=1e-9
        Stop when the residual trace is below this fraction of the trace.
    weights : array of shape (n,) or None, default=None
        Positive. The algorithm then approximates W^(1/2) K W^(1/2): a pivot is as probable as its residual times its
        weight.
    """
    weights = np.ones(len(diagonal)) if weights is None else weights
    # An indefinite kernel may have negative values here, which are not probabilities.
    residual = np.maximum(np.array(diagonal, dtype=float), 0.0)
    trace = weights @ residual
    rank = min(rank, residual.size)
    block = max(8, rank // 6)
    parts: list[Array] = []
    pivots: list[Indices] = []
    found = 0
    while found < rank and (left := weights @ residual) > tolerance * trace:
        candidates = random.choice(residual.size, size=block, p=weights * residual / left)
        candidates = np.unique(candidates)
        random.shuffle(candidates)
        update = rows(candidates)
        for part in parts:
            update = update - part[:, candidates].T @ part
        chosen, lower = _accept(update[:, candidates].astype(float), residual[candidates], random)
        chosen, lower = chosen[: rank - found], lower[: rank - found, : rank - found]
        if not chosen.size:
            break
        part = solve_triangular(lower.astype(update.dtype), update[chosen], lower=True, check_finite=False)
        parts.append(part)
        pivots.append(candidates[chosen])
        found += len(chosen)
        residual -= np.einsum("rn,rn->n", part, part, dtype=float)
        residual[candidates[chosen]] = 0.0
        np.maximum(residual, 0.0, out=residual)
    factor = np.concatenate(parts) if parts else np.zeros((0, residual.size))
    return LowRankFactor(factor, residual, np.concatenate([np.arange(0), *pivots]))


def _accept(gram: Array, proposal: Array, random: np.random.Generator, smallest: float = 1e-6) -> tuple[Array, Array]:
    """Candidates that survive rejection, and the Cholesky factor of their block.

    A pivot below `smallest` times its proposal is rounding error, which a division would amplify.
    """
    n_candidates = len(gram)
    lower = np.zeros_like(gram)
    remaining = gram.diagonal().copy()
    chosen: list[int] = []
    draws = random.random(n_candidates)
    for candidate in range(n_candidates):
        pivot = remaining[candidate]
        if pivot <= smallest * proposal[candidate] or draws[candidate] * proposal[candidate] > pivot:
            continue
        position = len(chosen)
        column = gram[:, candidate] - lower[:, :position] @ lower[candidate, :position]
        lower[:, position] = column / np.sqrt(pivot)
        remaining -= lower[:, position] ** 2
        chosen.append(candidate)
    kept = np.array(chosen, dtype=int)
    return kept, np.tril(lower[kept, : len(chosen)])
