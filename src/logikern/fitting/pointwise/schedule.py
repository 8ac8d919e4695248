"""Which problems are solved point by point, which points a round visits, and how often."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from logikern.fitting.pointwise.loops import PointFeatures
from logikern.fitting.problem import Problem
from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.operators.linear import FeatureProduct, function_blocks
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True)
class PointwisePolicy:
    """When pointwise ascent is worthwhile, which points a round visits, and when it gives up."""

    # Classes times points above which compilation, which takes a few seconds, pays.
    worthwhile_from: int = 100_000
    # Largest number of features per point: every feature has a sum for every class. Up to `few_sums` sums (64 MB) are
    # always accepted.
    most_features: float = 4
    few_sums: int = 8_000_000
    # Residual, in units of the tolerance, below which points are skipped. Visits are cheap compared with measuring
    # all points, and held-out losses depend on the mean of the remaining residuals, not on the largest.
    finest: float = 0.03
    # Points below this fraction of the root mean square residual are skipped for now.
    quiet: float = 0.06
    # Rounds for which a point is visited after its last large residual: two points that disagree about a word move in
    # turn.
    patience: int = 6
    # Visits between two measurements of all points, in units of the number of points.
    visits_per_round: int = 8
    # Successive over-relaxation after some rounds, when the remaining points approach each other slowly.
    relaxation: float = 1.6
    relaxed_after: int = 3
    # Rounds of a fit, and rounds in which its residuals must halve. If they do not, all points share the same
    # features, and Newton's method, which moves them together, is faster.
    rounds: int = 40
    halving_rounds: int = 20
    # Rounds of a linear system before another system takes over, unless residuals still halve.
    system_rounds: int = 12
    system_halving_rounds: int = 4

    def relaxation_after(self, n_rounds: int) -> float:
        return self.relaxation if n_rounds >= self.relaxed_after else 1.0


POLICY = PointwisePolicy()


def is_supported(problem: Problem) -> bool:
    """Whether a problem can be solved point by point: classes, one kernel with sparse features, a finite bias."""
    covariance = problem.covariance
    operator = covariance.operators[0]
    has_sparse_features = isinstance(operator, FeatureProduct) and is_sparse(operator.features)
    has_one_kernel = len(covariance.operators) == 1 and np.isfinite(covariance.bias_variance)
    is_forest = covariance.mixing.forest is not None
    return has_sparse_features and has_one_kernel and is_forest and problem.likelihood.has_entropy_dual


def is_worthwhile(problem: Problem, policy: PointwisePolicy = POLICY) -> bool:
    """Whether a problem is supported and large enough, and its sums of features take little memory."""
    _, n_classes, n = problem.shape
    if not (is_supported(problem) and n_classes * n >= policy.worthwhile_from):
        return False
    n_features = problem.covariance.operators[0].features.shape[1]  # type: ignore[attr-defined]
    return bool(n_features <= max(policy.most_features * n, policy.few_sums // n_classes))


def point_features(covariance: ClassCovariance) -> PointFeatures:
    """The arrays that the compiled loops need."""
    operator = covariance.operators[0]
    features = operator.features  # type: ignore[attr-defined]
    forest, variances = covariance.mixing.forest, covariance.variances.astype(np.float64)
    assert forest is not None, "Pointwise ascent requires a forest."
    inner = forest.inner
    # The root comes first; functions without a parent are attached to it.
    places = np.where(inner.class_parents < len(inner), inner.class_parents + 1, 0)
    return PointFeatures(
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
    """Start and end of runs of equal numbers, except zeros, (R, 2)."""
    borders = np.flatnonzero(np.diff(places)) + 1
    runs = np.column_stack([np.append(0, borders), np.append(borders, len(places))])
    return runs[places[runs[:, 0]] > 0]


def weighted_features(covariance: ClassCovariance, dual: Array) -> Array:
    """Features times dual (C, n), summed over points in float64, (d, C)."""
    transposed = covariance.operators[0].transposed  # type: ignore[attr-defined]
    weighed = np.empty((transposed.shape[0], len(dual)))

    def weigh(block: slice) -> None:
        weighed[:, block] = transposed @ np.ascontiguousarray(dual[block].T, dtype=np.float64)

    for_each(weigh, function_blocks(len(dual)))
    return weighed


def equal_points(covariance: ClassCovariance) -> Indices:
    """The group number of each point, (n,): points of one group have the same features.

    Inner products with two random vectors distinguish points.
    """
    features = covariance.operators[0].features  # type: ignore[attr-defined]
    if not features.has_sorted_indices:
        features = features.sorted_indices()  # the same words are summed in the same order
    marks = features @ np.random.default_rng(0).standard_normal((features.shape[1], 2))
    return np.unique(marks, axis=0, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of equal points that a round visits, each as one point of their total weight.

    The softmax depends on equal points only through their mean target, and gives all of them the same
    probabilities. If they were visited one at a time, they would undo each other's steps.
    """

    points: Indices  # (m,): all points with weight, group by group
    groups: Indices  # (m,): the position of each point's group, ascending
    first: Indices  # (g,): one point of each group
    tile: int = 64  # groups that are transposed at a time, few enough for the cache

    @property
    def tiles(self) -> Iterator[tuple[Indices, Indices]]:
        """Points of some groups, and the groups of these points."""
        borders = np.searchsorted(self.groups, np.arange(0, max(len(self.first), 1) + self.tile, self.tile))
        for start, end in pairwise(borders):
            yield self.points[start:end], self.groups[start:end]

    def sum(self, values_at: Callable[[Indices], Array]) -> Array:
        """Sums over each group, (g, C), of the values (C, k) that a function gives at any k points, in float64."""

        def sum_some(tile: tuple[Indices, Indices]) -> Array:
            points, groups = tile
            rows = np.ascontiguousarray(values_at(points).T, dtype=np.float64)
            starts = np.flatnonzero(np.diff(groups, prepend=-1))
            return rows if len(starts) == len(rows) else np.add.reduceat(rows, starts, axis=0)

        return np.concatenate(for_each(sum_some, self.tiles))

    def spread(self, write: Callable[[Indices, Indices], None]) -> None:
        """Call `write` with points and their groups, tile by tile."""
        for_each(lambda tile: write(*tile), self.tiles)


def group_points(points: Indices, numbers: Indices, weights: Array) -> Groups:
    """The groups of some points, nearly in the order of the points."""
    active = np.zeros(numbers.max() + 1, dtype=bool)
    active[numbers[points]] = True
    everyone = np.flatnonzero(active[numbers] & (weights > 0))
    _, first, groups = np.unique(numbers[everyone], return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    groups = np.argsort(by_first)[groups.reshape(-1)]
    together = np.argsort(groups, kind="stable")
    return Groups(everyone[together], groups[together], everyone[first[by_first]])


def in_products(visits: list[int], n_points: int) -> int:
    """Cost of one round in products with all active weightings; `visits` has one count for each of them."""
    return -(-sum(visits) // (n_points * len(visits)))


class Round(NamedTuple):
    """One round of visits to the groups of one weighting."""

    groups: Groups
    weights: Array  # (g,): total weight of each group
    skip_below: float  # residual below which a point is skipped
    most: int  # largest number of visits

    def visit(self, visit: Callable[[Indices, Array], None], random: np.random.Generator) -> int:
        """Visit all groups, then those above the limit, until all are below it; returns the number of visits.

        Parameters
        ----------
        visit : callable
            Visits positions in a given order, and writes the residual that it found at each.
        random : Generator
            Generator for the order of visits.
        """
        everyone, residuals = np.arange(len(self.weights)), np.empty(len(self.weights))
        current, n_visits = everyone, 0
        while current.size and n_visits < self.most:
            visit(random.permutation(current), residuals)
            n_visits += len(current)
            left = current[residuals[current] > self.skip_below]
            current = everyone if not left.size and len(current) < len(everyone) else left
        return n_visits


def plan_round(
    residuals: Array, tolerance: float, quiet_for: Array, weights: Array, equals: Indices, policy: PointwisePolicy
) -> Round:
    """Choose the points to visit from the residuals of all points, (n,).

    Parameters
    ----------
    residuals : array of shape (n,)
    tolerance : float
    quiet_for : integer array of shape (n,)
        Rounds since a point last had a large residual; updated in place.
    weights : array of shape (n,)
    equals : integer array of shape (n,)
        Numbers of groups of equal points.
    policy : PointwisePolicy
    """
    skip_below = max(policy.finest * tolerance, policy.quiet * float(np.sqrt(np.mean(residuals**2))))
    quiet_for[:] = np.where(residuals > skip_below, 0, quiet_for + 1)
    active = np.flatnonzero((quiet_for <= policy.patience) & (weights > 0))
    groups = group_points(active, equals, weights)
    totals = np.bincount(groups.groups, weights[groups.points])
    return Round(groups, totals, skip_below, policy.visits_per_round * len(weights))
