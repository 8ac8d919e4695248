"""Visits to points one at a time: which problems have rows for it, who is visited, and how often."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from logikern.fitting.pointwise.loops import Rows
from logikern.fitting.problem import Problem
from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.operators.linear import BLOCK, FeatureProduct
from logikern.structure.covariance import ClassCovariance

# Classes times points from which on the compiler is worth its seconds.
WORTHWHILE_FROM = 100_000
# Features for each point at most: of the sums that are kept each has a value for every class. So many values at most
# (64 MB) are kept in any case.
MOST_FEATURES, FEW_SUMS = 4, 8_000_000
# Of the root mean square of all residuals: points below it are settled, for the time being.
QUIET = 0.06
# Rounds that a point is visited after it was last seen unsettled: two points that disagree about a word move in turn.
PATIENCE = 6
# Visits between two looks at all points, in units of their number.
VISITS_PER_ROUND = 8
# What is left after some rounds are points that creep towards each other, and going further than each would go alone
# is faster: successive over-relaxation.
RELAXATION, RELAXED_AFTER = 1.6, 3
# Groups of equal points that are turned around together.
TILE = 64


def has_rows(problem: Problem) -> bool:
    """Whether a problem can be solved point by point: classes, one kernel with sparse features, a finite bias."""
    covariance = problem.covariance
    operator = covariance.operators[0]
    by_words = isinstance(operator, FeatureProduct) and is_sparse(operator.features)
    alike = len(covariance.operators) == 1 and np.isfinite(covariance.bias_variance)
    is_forest = covariance.mixing.forest is not None
    return by_words and alike and is_forest and problem.likelihood.has_entropy_dual


def worthwhile(problem: Problem) -> bool:
    """Whether it can be, is large enough, and its sums of features take a small multiple of its own memory."""
    _, n_classes, n = problem.shape
    if not (has_rows(problem) and n_classes * n >= WORTHWHILE_FROM):
        return False
    n_features = problem.covariance.operators[0].features.shape[1]  # type: ignore[attr-defined]
    return bool(n_features <= max(MOST_FEATURES * n, FEW_SUMS // n_classes))


def rows_of(covariance: ClassCovariance) -> Rows:
    """What a visit needs to know."""
    operator = covariance.operators[0]
    features = operator.features  # type: ignore[attr-defined]
    forest, variances = covariance.mixing.forest, covariance.variances.astype(np.float64)
    assert forest is not None, "`has_rows` requires a forest"
    inner = forest.inner
    # The root comes first; functions without a parent are attached to it.
    places = np.where(inner.class_parents < len(inner), inner.class_parents + 1, 0)
    return Rows(
        features.indptr,
        features.indices,
        features.data,
        operator.diagonal(),
        variances[forest.leaf_latents],
        float(covariance.bias_variance),
        places.astype(np.int32),
        _runs(places),
        np.concatenate([[0.0], variances[inner.numbers]]),
        np.concatenate([[0], inner.parents + 1]).astype(np.int32),
    )


def _runs(places: Indices) -> Indices:
    """Begin and end of equal numbers that follow one another, but for zeros, (R, 2)."""
    borders = np.flatnonzero(np.diff(places)) + 1
    runs = np.column_stack([np.append(0, borders), np.append(borders, len(places))])
    return runs[places[runs[:, 0]] > 0]


def weigh(covariance: ClassCovariance, dual: Array) -> Array:
    """Features times dual (C, n), summed over points in float64, (d, C)."""
    transposed = covariance.operators[0].transposed  # type: ignore[attr-defined]
    weighed = np.empty((transposed.shape[0], len(dual)))

    def weigh_some(start: int) -> None:
        some = slice(start, start + BLOCK)
        weighed[:, some] = transposed @ np.ascontiguousarray(dual[some].T, dtype=np.float64)

    for_each(weigh_some, range(0, len(dual), BLOCK))
    return weighed


def equal_rows(covariance: ClassCovariance) -> Indices:
    """Of each point the number of its group: those of one group have the same features, (n,).

    Inner products with two vectors drawn at random tell rows apart.
    """
    features = covariance.operators[0].features  # type: ignore[attr-defined]
    if not features.has_sorted_indices:
        features = features.sorted_indices()  # the same words are summed in the same order
    marks = features @ np.random.default_rng(0).standard_normal((features.shape[1], 2))
    return np.unique(marks, axis=0, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True, eq=False)
class Visited:
    """Whom a round visits: groups of equal points, each of which is one point of their whole weight.

    What a softmax says of equal points is what it says of their mean target, and their probabilities are the same.
    One at a time they would undo each other's steps.

    Attributes
    ----------
    points : integer array of shape (m,)
        All points of the groups that have weight, those of a group together.
    groups : integer array of shape (m,)
        The place of each one's group, ascending.
    first : integer array of shape (g,)
        A point of each group.
    """

    points: Indices
    groups: Indices
    first: Indices

    @property
    def tiles(self) -> Iterator[tuple[Indices, Indices]]:
        """Points of some groups, and their groups: few enough for the cache, in which they are turned around."""
        borders = np.searchsorted(self.groups, np.arange(0, max(len(self.first), 1) + TILE, TILE))
        for start, end in pairwise(borders):
            yield self.points[start:end], self.groups[start:end]

    def collect(self, of_points: Callable[[Indices], Array]) -> Array:
        """Sums over each group of what its points have, (C, k) for any k of them -> (g, C), in float64."""

        def collect_some(tile: tuple[Indices, Indices]) -> Array:
            points, groups = tile
            rows = np.ascontiguousarray(of_points(points).T, dtype=np.float64)
            starts = np.flatnonzero(np.diff(groups, prepend=-1))
            return rows if len(starts) == len(rows) else np.add.reduceat(rows, starts, axis=0)

        return np.concatenate(for_each(collect_some, self.tiles))

    def tell(self, tell_some: Callable[[Indices, Indices], None]) -> None:
        """Call with points and their groups, some at a time, until all had their turn."""
        for_each(lambda tile: tell_some(*tile), self.tiles)


def with_equals(points: Indices, numbers: Indices, weights: Array) -> Visited:
    """Some points and all that equal them, nearly in the order of the points."""
    lively = np.zeros(numbers.max() + 1, dtype=bool)
    lively[numbers[points]] = True
    everyone = np.flatnonzero(lively[numbers] & (weights > 0))
    _, first, groups = np.unique(numbers[everyone], return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    groups = np.argsort(by_first)[groups.reshape(-1)]
    together = np.argsort(groups, kind="stable")
    return Visited(everyone[together], groups[together], everyone[first[by_first]])


def in_products(visits: list[int], n_points: int) -> int:
    """Visits of one round, one number for each weighting at work, in units of a product for all of these."""
    return -(-sum(visits) // (n_points * len(visits)))


def settled_below(finest: float, residuals: Array) -> float:
    """The residual below which a point is left alone in this round."""
    return max(finest, QUIET * float(np.sqrt(np.mean(residuals**2))))


def still_lively(residuals: Array, settled: float, quiet_for: Array, weights: Array) -> Indices:
    """Points of weight that were seen unsettled lately; for how many rounds each was not is counted in place."""
    quiet_for[:] = np.where(residuals > settled, 0, quiet_for + 1)
    return np.flatnonzero((quiet_for <= PATIENCE) & (weights > 0))


def relaxation(n_rounds: int) -> float:
    """How far points go after so many rounds."""
    return RELAXATION if n_rounds >= RELAXED_AFTER else 1.0


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
