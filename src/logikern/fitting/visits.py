"""Visits to points one at a time: which problems have rows for it, who is visited, and how often."""

from collections.abc import Callable

import numpy as np

from logikern.fitting.dual_points import Rows
from logikern.fitting.problem import Problem
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.operators.linear import BLOCK, FeatureProduct
from logikern.structure.covariance import ClassCovariance

# Classes times points from which on the compiler is worth its seconds.
WORTHWHILE_FROM = 400_000
# Of the root mean square of all residuals: points below it are settled, for the time being.
QUIET = 0.03
# Rounds that a point is visited after it was last seen unsettled: two points that disagree about a word move in turn.
PATIENCE = 2
# Visits between two looks at all points, in units of their number.
VISITS_PER_ROUND = 5


def has_rows(problem: Problem) -> bool:
    """Whether a problem can be solved point by point: classes, one kernel with sparse features, a finite bias."""
    covariance = problem.covariance
    operator = covariance.operators[0]
    sparse = isinstance(operator, FeatureProduct) and hasattr(operator.features, "nnz")
    alike = len(covariance.operators) == 1 and np.isfinite(covariance.bias_variance)
    return sparse and alike and isinstance(problem.likelihood, Softmax)


def worthwhile(problem: Problem) -> bool:
    """Whether it can be, and is large enough."""
    return has_rows(problem) and problem.shape[1] * problem.shape[2] >= WORTHWHILE_FROM


def rows_of(covariance: ClassCovariance) -> Rows:
    """What a visit needs to know."""
    operator, mixing = covariance.operators[0], covariance.mixing
    features = operator.features  # type: ignore[attr-defined]
    parents = np.full(mixing.n_latent, -1, dtype=np.int32)
    for number, upper in mixing.links:
        parents[number] = upper
    inner = np.zeros(mixing.n_latent, dtype=bool)
    inner[parents[parents >= 0]] = True
    return Rows(
        features.indptr,
        features.indices,
        features.data,
        operator.diagonal(),
        covariance.variances.astype(np.float64),
        float(covariance.bias_variance),
        parents,
        inner,
        mixing.leaf_latents.astype(np.int32),
    )


def weigh(covariance: ClassCovariance, dual: Array) -> Array:
    """Features times dual (C, n), summed over points, (d, C)."""
    transposed = covariance.operators[0].transposed  # type: ignore[attr-defined]
    weighed = np.empty((transposed.shape[0], len(dual)), dtype=dual.dtype)

    def weigh_some(start: int) -> None:
        some = slice(start, start + BLOCK)
        weighed[:, some] = transposed @ np.ascontiguousarray(dual[some].T)

    for_each(weigh_some, range(0, len(dual), BLOCK))
    return weighed


def settled_below(finest: float, residuals: Array) -> float:
    """The residual below which a point is left alone in this round."""
    return max(finest, QUIET * float(np.sqrt(np.mean(residuals**2))))


def still_lively(residuals: Array, settled: float, quiet_for: Array, weights: Array) -> Indices:
    """Points of weight that were seen unsettled lately; for how many rounds each was not is counted in place."""
    quiet_for[:] = np.where(residuals > settled, 0, quiet_for + 1)
    return np.flatnonzero((quiet_for <= PATIENCE) & (weights > 0))


def visit_in_turn(
    visit: Callable[[Indices, Array], None], n_points: int, settled: float, most: int, random: np.random.Generator
) -> int:
    """Visit all, then those not yet settled, until none is left and all are asked again; returns how many visits.

    Parameters
    ----------
    visit : callable
        Visits places in a given order, and writes what residual it found at each.
    n_points : int
    settled : float
    most : int
        Visits after which it must do.
    random : Generator
        Of the order.
    """
    everyone, residuals = np.arange(n_points), np.empty(n_points)
    current, n_visits = everyone, 0
    while current.size and n_visits < most:
        visit(random.permutation(current), residuals)
        n_visits += len(current)
        left = current[residuals[current] > settled]
        current = everyone if not left.size and len(current) < len(everyone) else left
    return n_visits
