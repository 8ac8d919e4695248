"""Where on a class tree decisions go wrong: how well each node is found, and which siblings are confused."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.decisions.taxonomy import part, sum_up
from logikern.decisions.tree_scores import judge
from logikern.numerics.outcome import Array, Indices
from logikern.structure.tree import ROOT, Tree


@dataclass(frozen=True, eq=False)
class NodeScores:
    """How often each node is true, decided, and both; all that lies below it is counted as well.

    Attributes
    ----------
    true : array of shape (N,)
        Cases, or their weight, whose truth is the node or lies below it.
    decided : array of shape (N,)
        Cases for which the node, or one below it, was decided. Of a decision below a true inner node, what lies
        below that is not counted: it may be right or wrong.
    both : array of shape (N,)
        Cases of which both are so.
    """

    true: Array
    decided: Array
    both: Array

    @property
    def recall(self) -> Array:
        """Of the cases that belong to each node, the share that was found; not a number where there are none."""
        return _share(self.both, self.true)

    @property
    def precision(self) -> Array:
        """Of the decisions for each node, the share that was right; not a number where there are none."""
        return _share(self.both, self.decided)


def node_scores(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> NodeScores:
    """Count for every node of the tree how often it is true, decided, and both.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the true nodes, which may be inner ones.
    decisions : array of shape (n,)
        Labels of the nodes that were decided, which may be inner ones.
    tree : Tree
        The classes and what lies above them, or whatever `read_tree` makes a tree of.
    sample_weight : array of shape (n,), default=None
        What each case counts; None counts cases.

    Returns
    -------
    NodeScores
        With arrays `true`, `decided`, `both`, `recall` and `precision`, in the order of `tree.labels`.
    """
    cases = judge(y, decisions, tree, sample_weight)
    tree = cases.tree
    left, right = part(cases.true, cases.decided, tree)
    # Both paths go through their last common node and all above it.
    common = np.where(left == right, left, np.array(tree.parents)[left])

    # Below a true inner node nobody knows what is right.
    judged = np.where(common == cases.true, cases.true, cases.decided)
    true, decided, both = (_count(nodes, cases.weights, tree) for nodes in (cases.true, judged, common))
    return NodeScores(true, decided, both)


@dataclass(frozen=True)
class SiblingConfusion:
    """Two children of one node that are taken for each other.

    Attributes
    ----------
    parent : label
        None where that is the root.
    first, second : label
    first_as_second, second_as_first : float
        Cases that belong below the one and were decided below the other.
    n_cases : float
        Cases that belong below either.
    """

    parent: Any
    first: Any
    second: Any
    first_as_second: float
    second_as_first: float
    n_cases: float

    @property
    def count(self) -> float:
        """Cases of either that were taken for the other."""
        return self.first_as_second + self.second_as_first

    @property
    def rate(self) -> float:
        """Share of the cases of either that were taken for the other."""
        return self.count / self.n_cases


def confused_siblings(
    y: Any, decisions: Any, tree: Any, sample_weight: Any = None, n_pairs: int = 10
) -> list[SiblingConfusion]:
    """The pairs of siblings that are most often taken for each other, the most frequent first.

    A wrong decision counts for one pair: the siblings at which its path leaves that of the truth. A decision that
    stops above the truth, or goes on below it, confuses no siblings.

    Parameters
    ----------
    y, decisions : arrays of shape (n,)
        As in `node_scores`.
    tree : Tree
        As in `node_scores`.
    sample_weight : array of shape (n,), default=None
        As in `node_scores`.
    n_pairs : int, default=10
        How many pairs to return at most.

    Returns
    -------
    list of SiblingConfusion
        With `parent`, `first`, `second`, `first_as_second`, `second_as_first`, `n_cases`, `count` and `rate`.

    Examples
    --------
    >>> tree = Tree(("bird", "robin", "duck", "trout"), (-1, 0, 0, -1))
    >>> (pair,) = confused_siblings(["robin", "robin", "trout"], ["duck", "robin", "trout"], tree)
    >>> pair.first, pair.second, pair.count, pair.rate
    ('robin', 'duck', 1.0, 0.5)
    """
    cases = judge(y, decisions, tree, sample_weight)
    tree = cases.tree
    true, decided = part(cases.true, cases.decided, tree)
    apart = true != decided
    directed, weights = np.stack([true, decided], axis=1)[apart], cases.weights[apart]
    pairs, pair_of = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True)
    forward = directed[:, 0] < directed[:, 1]
    # Two counts per pair: the first taken for the second, and the reverse.
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
    return sum_up(np.bincount(nodes - ROOT, weights, minlength=len(tree.labels) + 1)[1:], tree)


def _share(part_of: Array, whole: Array) -> Array:
    return np.divide(part_of, whole, out=np.full(len(whole), np.nan), where=whole > 0)
