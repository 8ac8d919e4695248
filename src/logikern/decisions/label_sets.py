"""Distributions over sets of labels, and the sets with the smallest expected loss."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import xlog1py, xlogy

from logikern.decisions.label_forest import LabelForest
from logikern.numerics.outcome import Array, Indices, Mask

# In place of a probability of zero, whose logarithm is not finite.
SMALLEST = 1e-300
# Entries of the largest array that a decision may need for its rows at a time.
TILE_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class SetDistribution:
    """P(set) = (1 - r) P(set among the listed ones) + r prod_l P(label l as in the set | its parent), for n rows.

    The product runs over the labels whose parents are present; without a forest, over all labels. Sets with a label
    but without its parent are impossible. With r = 1 labels are independent given their parents, and no set needs to
    be listed.
    """

    marginals: Array  # (n, L): probability of each label, never above the probability of its parent
    conditionals: Array  # (n, L): in the product, probability of each label if its parent is present
    listed: Array  # (n, S): distribution over the listed sets
    sets: Mask  # (S, L): the listed sets, all different
    rest: float  # r, the share of the product
    forest: LabelForest  # the parents of the labels

    def log_probability(self, sets: Mask) -> Array:
        """log P of one set for each row, (n, L) -> (n,)."""
        product = self._product_log_probability(sets)
        if not len(self.sets):
            return product
        column = self._columns(sets)
        own = np.where(column < 0, 0.0, self.listed[np.arange(len(column)), column])
        with np.errstate(divide="ignore"):
            return np.logaddexp(np.log((1.0 - self.rest) * own), np.log(self.rest) + product)

    def _product_log_probability(self, sets: Mask) -> Array:
        # x log y is zero for x = 0, and minus infinity where a set has an impossible label.
        missing = ~sets & self.forest.exposed(sets)
        total = (xlogy(sets, self.conditionals) + xlog1py(missing, -self.conditionals)).sum(axis=1)
        return np.where(self.forest.is_closed(sets), total, -np.inf)

    def at_sets(self, sets: Mask) -> Array:
        """P of the same sets for every row, (m, L) -> (n, m)."""
        present, absent = (np.log(np.maximum(own, SMALLEST)) for own in (self.conditionals, 1.0 - self.conditionals))
        missing = ~sets & self.forest.exposed(sets)
        found = self.rest * np.exp(present @ sets.T.astype(float) + absent @ missing.T.astype(float))
        found[:, ~self.forest.is_closed(sets)] = 0.0
        column = self._columns(sets)
        found[:, column >= 0] += (1.0 - self.rest) * self.listed[:, column[column >= 0]]
        return np.asarray(found)

    def _columns(self, sets: Mask) -> Indices:
        """The position of each set among the listed sets, or -1, (m,)."""
        place = {row.tobytes(): number for number, row in enumerate(np.packbits(self.sets, axis=1))}
        return np.array([place.get(row.tobytes(), -1) for row in np.packbits(sets, axis=1)], dtype=np.intp)

    def rows(self, some: slice) -> "SetDistribution":
        """The distributions of some rows."""
        own = (self.marginals[some], self.conditionals[some], self.listed[some])
        return SetDistribution(*own, self.sets, self.rest, self.forest)


def independent_labels(conditionals: Array, forest: LabelForest | None = None) -> SetDistribution:
    """The distribution over sets of labels that are independent, or independent given their parents.

    Parameters
    ----------
    conditionals : array of shape (n, L)
        Probability of each label, given that its parent is present if it has one.
    forest : LabelForest or None, default=None
    """
    n, n_labels = conditionals.shape
    forest = LabelForest.without_links(n_labels) if forest is None else forest
    nothing = np.empty((0, n_labels), dtype=bool)
    return SetDistribution(forest.multiply(conditionals), conditionals, np.empty((n, 0)), nothing, 1.0, forest)


def listed_sets(listed: Array, sets: Mask, rest: float, forest: LabelForest | None = None) -> SetDistribution:
    """The distribution over sets with given probabilities (n, S) of the listed sets (S, L).

    The product has the marginals of the listed sets, with an exception: a label that all listed sets with its parent
    have is present with probability 1/2 in the product. Otherwise a set with the parent alone would be impossible.
    """
    forest = LabelForest.without_links(sets.shape[1]) if forest is None else forest
    marginals = forest.at_most_parent(np.clip(listed @ sets.astype(float), 0.0, 1.0))
    conditionals = forest.conditionals(marginals)
    certain = forest.is_implied(sets)
    if certain.any():
        conditionals[:, certain] *= 0.5
        marginals = forest.at_most_parent((1.0 - rest) * marginals + rest * forest.multiply(conditionals))
    return SetDistribution(marginals, conditionals, listed, sets, rest, forest)


def hamming_decision(distribution: SetDistribution) -> Mask:
    """The set with the smallest expected number of wrong labels: labels of probability above one half.

    It has the parents of its labels, which are at least as probable.
    """
    return distribution.marginals > 0.5


def subset_decision(distribution: SetDistribution) -> Mask:
    """The most probable set."""
    # The mode of the product, and the best of the sets that are not listed.
    chosen = distribution.forest.most_probable(distribution.conditionals)
    if not len(distribution.sets):
        return chosen
    at_listed = distribution.at_sets(distribution.sets)
    best = at_listed.argmax(axis=1)
    is_better = at_listed.max(axis=1) >= np.exp(distribution.log_probability(chosen))
    return np.where(is_better[:, None], distribution.sets[best], chosen)


def f1_decision(distribution: SetDistribution) -> Mask:
    """The set with the largest expected F1 = 2 |true and chosen| / (|true| + |chosen|), or 1 for two empty sets.

    Exact for any distribution, from the probabilities P(label l is present, s labels are present) alone
    (Dembczynski, Waegeman, Cheng & Huellermeier 2011). For a set of k labels, label l contributes
    2 sum_s P(l, s) / (s + k), so the best set of k labels has the k largest contributions. The contribution of a
    parent is at least as large as the contributions of its children, so that the set has the parents of its labels.
    """
    sizes, forest = np.arange(1, distribution.marginals.shape[1] + 1), distribution.forest
    joint, empty = presence_by_size(distribution)
    gains = forest.at_most_parent(joint @ (2.0 / (sizes[:, None] + sizes)))  # (n, L, k)
    ranked = -np.sort(-gains, axis=1)
    best_of_size = np.einsum("nlk,lk->nk", ranked, np.triu(np.ones((len(sizes), len(sizes)))))
    size = best_of_size.argmax(axis=1)
    rows = np.arange(len(size))
    # Parents come first, also if a child has the same gain.
    order = forest.order[np.argsort(-gains[rows, :, size][:, forest.order], axis=1, kind="stable")]
    chosen = np.zeros(distribution.marginals.shape, dtype=bool)
    np.put_along_axis(chosen, order, sizes <= sizes[size][:, None], axis=1)
    return chosen & (best_of_size[rows, size] > empty)[:, None]


def presence_by_size(distribution: SetDistribution) -> tuple[Array, Array]:
    """P(label l is present, s labels are present) for s = 1 to L, (n, L, L), and P(no label is present), (n,)."""
    forest, rest = distribution.forest, distribution.rest
    joint = rest * forest.presence_by_size(distribution.conditionals)
    empty = rest * np.prod(1.0 - distribution.conditionals[:, forest.tops], axis=1)
    if len(distribution.sets):
        sizes, sets = distribution.sets.sum(axis=1), distribution.sets.astype(float)
        share = (1.0 - rest) * distribution.listed
        for size in np.unique(sizes[sizes > 0]):
            own = sizes == size
            joint[:, :, size - 1] += share[:, own] @ sets[own]
        empty = empty + share[:, sizes == 0].sum(axis=1)
    return joint, empty


# Loss -> the set with the smallest expected loss for each row.
DECISIONS: dict[str, Callable[[SetDistribution], Mask]] = {
    "hamming": hamming_decision,
    "subset": subset_decision,
    "f1": f1_decision,
}


def decide_sets(distribution: SetDistribution, loss: str) -> Mask:
    """The set with the smallest expected loss for each row, (n, L)."""
    n, n_labels = distribution.marginals.shape
    step = max(1, TILE_ENTRIES // (n_labels**2 + len(distribution.sets)))
    tiles = [distribution.rows(slice(start, start + step)) for start in range(0, n, step)]
    chosen = [DECISIONS[loss](tile) for tile in tiles]
    return np.concatenate(chosen) if chosen else np.zeros((0, n_labels), dtype=bool)
