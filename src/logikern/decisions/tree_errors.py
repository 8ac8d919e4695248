"""Errors on a class tree: recall and precision of each node, and which siblings are confused."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.decisions.tree_scores import align_nodes
from logikern.numerics.outcome import Array, Indices
from logikern.structure.taxonomy import diverging_nodes, subtree_sums
from logikern.structure.tree import ROOT, Tree


@dataclass(frozen=True, eq=False)
class NodeScores:
    """The weight of the cases for which each node is true, decided, or both; descendants count for their ancestors.

    Attributes
    ----------
    true : array of shape (N,)
        Cases whose truth is the node or a descendant.
    decided : array of shape (N,)
        Cases for which the node or a descendant was decided. If the truth is an inner node, nodes below it are not
        counted, because they may be right or wrong.
    both : array of shape (N,)
        Cases that count for both.
    """

    true: Array
    decided: Array
    both: Array

    @property
    def recall(self) -> Array:
        """both / true; NaN without true cases."""
        return _share(self.both, self.true)

    @property
    def precision(self) -> Array:
        """both / decided; NaN without decided cases."""
        return _share(self.both, self.decided)


def node_scores(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> NodeScores:
    """Count the cases for which each node of the tree is true, is decided, or both.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the true nodes, leaves or inner nodes.
    decisions : array of shape (n,)
        Labels of the decided nodes, leaves or inner nodes.
    tree : Tree
        The class tree, or anything that `read_tree` accepts.
    sample_weight : array of shape (n,), default=None
        Weight of each case; None means 1.

    Returns
    -------
    NodeScores
        With the arrays `true`, `decided`, `both`, `recall` and `precision`, in the order of `tree.labels`.
    """
    cases = align_nodes(y, decisions, tree, sample_weight)
    tree = cases.tree
    left, right = diverging_nodes(cases.true, cases.decided, tree)
    # The paths share their last common node and its ancestors.
    common = np.where(left == right, left, np.array(tree.parents)[left])
    # Below a true inner node it is unknown which node is right.
    judged = np.where(common == cases.true, cases.true, cases.decided)
    true, decided, both = (_count(nodes, cases.weights, tree) for nodes in (cases.true, judged, common))
    return NodeScores(true, decided, both)


@dataclass(frozen=True)
class SiblingConfusion:
    """Two children of one node that are confused with each other.

    Attributes
    ----------
    parent : label
        None for the root.
    first, second : label
    first_as_second, second_as_first : float
        Cases of the one that were decided as the other; cases of descendants count.
    n_cases : float
        Cases of either.
    """

    parent: Any
    first: Any
    second: Any
    first_as_second: float
    second_as_first: float
    n_cases: float

    @property
    def count(self) -> float:
        """Cases of either that were decided as the other."""
        return self.first_as_second + self.second_as_first

    @property
    def rate(self) -> float:
        """count / n_cases."""
        return self.count / self.n_cases


def confused_siblings(
    y: Any, decisions: Any, tree: Any, sample_weight: Any = None, n_pairs: int = 10
) -> list[SiblingConfusion]:
    """The pairs of siblings that are confused with each other most often, in order of decreasing frequency.

    A wrong decision counts for one pair: the siblings at which its path and the path to the truth diverge. A
    decision that is an ancestor or a descendant of the truth confuses no siblings.

    Parameters
    ----------
    y, decisions, tree
        As in `node_scores`.
    sample_weight : array of shape (n,), default=None
        As in `node_scores`.
    n_pairs : int, default=10
        Maximum number of pairs.

    Returns
    -------
    list of SiblingConfusion
        With the attributes `parent`, `first`, `second`, `first_as_second`, `second_as_first`, `n_cases`, `count` and
        `rate`.

    Examples
    --------
    >>> tree = Tree(("bird", "robin", "duck", "trout"), (-1, 0, 0, -1))
    >>> (pair,) = confused_siblings(["robin", "robin", "trout"], ["duck", "robin", "trout"], tree)
    >>> pair.first, pair.second, pair.count, pair.rate
    ('robin', 'duck', 1.0, 0.5)
    """
    cases = align_nodes(y, decisions, tree, sample_weight)
    tree = cases.tree
    true, decided = diverging_nodes(cases.true, cases.decided, tree)
    apart = true != decided
    directed, weights = np.stack([true, decided], axis=1)[apart], cases.weights[apart]
    pairs, pair_of = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True)
    forward = directed[:, 0] < directed[:, 1]
    # Two counts per pair: first decided as second, and the reverse.
    counts = np.bincount(2 * pair_of.ravel() + ~forward, weights, minlength=2 * len(pairs)).reshape(-1, 2)
    below = _count(cases.true, cases.weights, tree)
    most = np.argsort(-counts.sum(axis=1), kind="stable")[:n_pairs]
    return [_confusion(pairs[pair].tolist(), counts[pair].tolist(), below, tree) for pair in most]


def _confusion(pair: list[int], counts: list[float], below: Array, tree: Tree) -> SiblingConfusion:
    parent = tree.parents[pair[0]]
    above = None if parent == ROOT else tree.labels[parent]
    first, second = (tree.labels[node] for node in pair)
    return SiblingConfusion(above, first, second, counts[0], counts[1], float(below[pair].sum()))


def _count(nodes: Indices, weights: Array, tree: Tree) -> Array:
    """The weight of the cases at or below each node, (N,)."""
    return subtree_sums(np.bincount(nodes - ROOT, weights, minlength=len(tree.labels) + 1)[1:], tree)


def _share(part_of: Array, whole: Array) -> Array:
    return np.divide(part_of, whole, out=np.full(len(whole), np.nan), where=whole > 0)
