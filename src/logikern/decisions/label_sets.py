"""Distributions over sets of labels, and the sets of smallest expected loss."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import xlog1py, xlogy

from logikern.numerics.outcome import Array, Indices, Mask

# In place of a probability of zero, whose logarithm is not finite.
SMALLEST = 1e-300
# Entries of the largest array that a decision may need for its rows at a time.
TILE_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class SetDistribution:
    """P(set) = (1 - r) P(set among the listed ones) + r prod_l P(label l as in the set), for each of n rows.

    The product has the marginals of the listed sets, so the marginals of P do not depend on r. With r = 1 labels are
    independent, and no set needs to be listed.
    """

    marginals: Array  # (n, L): probability of each label
    listed: Array  # (n, S): distribution over the listed sets
    sets: Mask  # (S, L): the listed sets, all different
    rest: float  # r, the share of the product of the marginals

    def log_probability(self, sets: Mask) -> Array:
        """log P of one set for each row, (n, L) -> (n,)."""
        product = product_log_probability(self.marginals, sets)
        if not len(self.sets):
            return product
        column = self._columns(sets)
        own = np.where(column < 0, 0.0, self.listed[np.arange(len(column)), column])
        with np.errstate(divide="ignore"):
            return np.logaddexp(np.log((1.0 - self.rest) * own), np.log(self.rest) + product)

    def at_sets(self, sets: Mask) -> Array:
        """P of the same sets for every row, (m, L) -> (n, m)."""
        present, absent = (np.log(np.maximum(share, SMALLEST)) for share in (self.marginals, 1.0 - self.marginals))
        found = self.rest * np.exp(present @ sets.T.astype(float) + absent @ (~sets).T.astype(float))
        column = self._columns(sets)
        found[:, column >= 0] += (1.0 - self.rest) * self.listed[:, column[column >= 0]]
        return np.asarray(found)

    def _columns(self, sets: Mask) -> Indices:
        """The place of each set among the listed ones, or -1, (m,)."""
        place = {row.tobytes(): number for number, row in enumerate(np.packbits(self.sets, axis=1))}
        return np.array([place.get(row.tobytes(), -1) for row in np.packbits(sets, axis=1)], dtype=np.intp)

    def rows(self, some: slice) -> "SetDistribution":
        """The distributions of some rows."""
        return SetDistribution(self.marginals[some], self.listed[some], self.sets, self.rest)


def independent_labels(marginals: Array) -> SetDistribution:
    """The distribution over sets of independent labels, from their probabilities (n, L)."""
    n, n_labels = marginals.shape
    return SetDistribution(marginals, np.empty((n, 0)), np.empty((0, n_labels), dtype=bool), 1.0)


def listed_sets(listed: Array, sets: Mask, rest: float) -> SetDistribution:
    """The distribution over sets with given probabilities (n, S) of the listed sets (S, L)."""
    return SetDistribution(np.clip(listed @ sets.astype(float), 0.0, 1.0), listed, sets, rest)


def product_log_probability(marginals: Array, sets: Mask) -> Array:
    """log prod_l P(label l as in the set), (n,)."""
    # x log y is zero for x = 0, and minus infinity where a set has an impossible label.
    return np.asarray((xlogy(sets, marginals) + xlog1py(~sets, -marginals)).sum(axis=1))


def hamming_decision(distribution: SetDistribution) -> Mask:
    """The set with the smallest expected number of wrong labels: labels of probability above one half."""
    return distribution.marginals > 0.5


def subset_decision(distribution: SetDistribution) -> Mask:
    """The most probable set."""
    chosen = hamming_decision(distribution)  # the mode of the product, and the best of the sets that are not listed
    if not len(distribution.sets):
        return chosen
    at_listed = distribution.at_sets(distribution.sets)
    best = at_listed.argmax(axis=1)
    is_better = at_listed.max(axis=1) >= np.exp(distribution.log_probability(chosen))
    return np.where(is_better[:, None], distribution.sets[best], chosen)


def f1_decision(distribution: SetDistribution) -> Mask:
    """The set of largest expected F1 = 2 |true and chosen| / (|true| + |chosen|), which is 1 for two empty sets.

    Exact for any distribution, from the probabilities P(label l is present, s labels are present) alone
    (Dembczynski, Waegeman, Cheng & Huellermeier 2011). For a set of k labels, label l contributes
    2 sum_s P(l, s) / (s + k), so the best set of k labels has the k largest contributions.
    """
    sizes = np.arange(1, distribution.marginals.shape[1] + 1)
    joint, empty = presence_by_size(distribution)
    gains = joint @ (2.0 / (sizes[:, None] + sizes))  # (n, L, k)
    ranked = -np.sort(-gains, axis=1)
    best_of_size = np.einsum("nlk,lk->nk", ranked, np.triu(np.ones((len(sizes), len(sizes)))))
    size = best_of_size.argmax(axis=1)
    rows = np.arange(len(size))
    order = np.argsort(-gains[rows, :, size], axis=1, kind="stable")
    chosen = np.zeros(distribution.marginals.shape, dtype=bool)
    np.put_along_axis(chosen, order, sizes <= sizes[size][:, None], axis=1)
    return chosen & (best_of_size[rows, size] > empty)[:, None]


def presence_by_size(distribution: SetDistribution) -> tuple[Array, Array]:
    """P(label l is present, s labels are present) for s = 1 to L, (n, L, L), and P(no label is present), (n,)."""
    marginals, rest = distribution.marginals, distribution.rest
    joint = rest * marginals[:, :, None] * _sizes_of_others(marginals)
    empty = rest * np.prod(1.0 - marginals, axis=1)
    if len(distribution.sets):
        sizes, sets = distribution.sets.sum(axis=1), distribution.sets.astype(float)
        share = (1.0 - rest) * distribution.listed
        for size in np.unique(sizes[sizes > 0]):
            own = sizes == size
            joint[:, :, size - 1] += share[:, own] @ sets[own]
        empty = empty + share[:, sizes == 0].sum(axis=1)
    return joint, empty


def _sizes_of_others(marginals: Array) -> Array:
    """P(s of the labels other than l are present) for s = 0 to L - 1 if labels are independent, (n, L, L)."""
    n, n_labels = marginals.shape
    found = np.zeros((n, n_labels, n_labels))
    found[:, :, 0] = 1.0
    for number in range(n_labels):
        others = np.arange(n_labels) != number
        present = marginals[:, number, None, None]
        own = found[:, others]
        own[:, :, 1:] = (1.0 - present) * own[:, :, 1:] + present * found[:, others, :-1]
        own[:, :, :1] *= 1.0 - present
        found[:, others] = own
    return found


# Loss -> the set of smallest expected loss for each row.
DECISIONS: dict[str, Callable[[SetDistribution], Mask]] = {
    "hamming": hamming_decision,
    "subset": subset_decision,
    "f1": f1_decision,
}


def decide_sets(distribution: SetDistribution, loss: str) -> Mask:
    """The set of smallest expected loss for each row, (n, L)."""
    n, n_labels = distribution.marginals.shape
    step = max(1, TILE_ENTRIES // (n_labels**2 + len(distribution.sets)))
    tiles = [distribution.rows(slice(start, start + step)) for start in range(0, n, step)]
    chosen = [DECISIONS[loss](tile) for tile in tiles]
    return np.concatenate(chosen) if chosen else np.zeros((0, n_labels), dtype=bool)
