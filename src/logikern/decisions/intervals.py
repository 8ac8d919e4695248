"""Intervals of means and shares: the bootstrap, and the score interval of Wilson (1927)."""

from dataclasses import dataclass

import numpy as np

from logikern.numerics.outcome import Array


@dataclass(frozen=True)
class IntervalPolicy:
    """How intervals are computed."""

    quantile: float = 1.959964  # of the normal distribution: intervals of 95 %
    n_resamples: int = 1000  # more would change the ends of an interval by less than a tenth of its width
    # Random rows drawn at a time: few enough for the cache, which makes the bootstrap of 100,000 rows take seconds.
    n_draws: int = 2**20


USUAL = IntervalPolicy()


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def bootstrap_means(
    values: Array, seed: int = 0, policy: IntervalPolicy = USUAL, groups: Array | None = None
) -> list[Estimate]:
    """The mean of each column of `values` (n, k), with a percentile interval over resampled rows.

    Rows of one of the `groups` (n,) depend on each other, so they are drawn together.
    """
    means = resampled_means(values if groups is None else _group_sums(values, groups), seed, policy)
    if groups is not None:
        means = means[:, :-1] / means[:, -1:]
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return [Estimate(*map(float, ends)) for ends in zip(values.mean(axis=0), low, high, strict=True)]


def _group_sums(values: Array, groups: Array) -> Array:
    """Sums over the rows of each group, and their number, (n_groups, k + 1)."""
    number = np.unique(groups, return_inverse=True)[1]
    columns = [*values.T, np.ones(len(values))]
    return np.stack([np.bincount(number, weights=column) for column in columns], axis=1)


def resampled_means(values: Array, seed: int = 0, policy: IntervalPolicy = USUAL) -> Array:
    """The mean of each column of `values` (n, k) for every resampling of the rows, (n_resamples, k).

    All columns are resampled together, so that their intervals refer to the same draws.
    """
    n_rows, rng = len(values), np.random.default_rng(seed)
    batch = max(1, policy.n_draws // n_rows)
    means = []
    for start in range(0, policy.n_resamples, batch):
        size = min(batch, policy.n_resamples - start)
        rows = rng.integers(n_rows, size=(size, n_rows))
        means.append(np.stack([column[rows].mean(axis=1) for column in values.T], axis=1))
    return np.concatenate(means)


def wilson_intervals(shares: Array, counts: Array, policy: IntervalPolicy = USUAL) -> tuple[Array, Array]:
    """Lower and upper ends of the intervals of shares among `counts` cases each.

    They solve |share - p| = z sqrt(p (1 - p) / n) for p, and stay within [0, 1].
    """
    square = policy.quantile**2
    centre = (shares + square / (2 * counts)) / (1 + square / counts)
    half = (
        policy.quantile * np.sqrt(shares * (1 - shares) / counts + square / (4 * counts**2)) / (1 + square / counts)
    )
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
