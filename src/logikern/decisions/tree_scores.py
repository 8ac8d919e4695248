"""How good decisions and probabilities are where classes are the leaves of a tree."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.decisions.cases import as_probabilities, as_scores, as_shares, as_weights
from logikern.decisions.taxonomy import (
    check_columns,
    climb,
    common_depths,
    distances,
    find_labels,
    place_labels,
    place_leaves,
)
from logikern.kernels.tiles import row_tiles
from logikern.numerics.outcome import Array, Indices
from logikern.structure.hierarchy import read_tree
from logikern.structure.tree import ROOT, Tree


@dataclass(frozen=True, eq=False)
class Judged:
    """Cases of positive weight with the nodes that are true and decided. Build them by `judge`.

    Attributes
    ----------
    true : integer array of shape (n,)
    decided : integer array of shape (n,)
    weights : array of shape (n,)
        As they were given; 1 without.
    tree : Tree
    """

    true: Indices
    decided: Indices
    weights: Array
    tree: Tree

    def mean(self, values: Array) -> float:
        # Summed alike above and below: of values that are all 1 it is 1.
        shares = as_shares(self.weights)
        return float((shares * values).sum() / shares.sum())


def judge(
    y: Any, decisions: Any, tree: Any, sample_weight: Any, leaves_only: bool = False, strangers: bool = False
) -> Judged:
    """Labels of true and decided nodes as numbers, without the cases of weight 0; a tree in any form.

    With `strangers` some of the true labels may be none of the tree's; they are then the root, -1.
    """
    tree = read_tree(tree)
    place = place_leaves if leaves_only else place_labels
    decided = place(decisions, tree, "decisions")
    true = find_labels(y, tree) if strangers else place(y, tree, "y")
    if strangers and (true == ROOT).all():
        place(y, tree, "y")
    _check_lengths(true, decided, "decisions")
    weights = as_weights(sample_weight, len(true))
    used = weights > 0
    return Judged(true[used], decided[used], weights[used], tree)


def taxonomic_loss(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """Mean half length of the path from the decision to the truth: how far off, on average.

    The taxo-loss of Seeger (2008), sec. 6.1, and Cai & Hofmann (2004). Between leaves of equal depth it counts the
    steps up until they meet: a sibling costs 1, a cousin 2. Of classes without a tree above them it is the error.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the true nodes, which may be inner ones.
    decisions : array of shape (n,)
        Labels of the nodes that were decided, which may be inner ones.
    tree : Tree
        The classes and what lies above them, or whatever `read_tree` makes a tree of.
    sample_weight : array of shape (n,), default=None
        Weights of the mean; None weighs all cases alike.

    Examples
    --------
    >>> tree = Tree(("bird", "robin", "duck", "trout"), (-1, 0, 0, -1))
    >>> taxonomic_loss(["robin", "robin"], ["robin", "duck"], tree)
    0.5
    """
    cases = judge(y, decisions, tree, sample_weight)
    return cases.mean(distances(cases.true, cases.decided, cases.tree))


def parent_accuracy(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """Share of the cases whose decision has the same parent as the truth: Seeger (2008), sec. 6.1.

    Leaves at the top have the root for their parent.

    Parameters
    ----------
    y, decisions : arrays of shape (n,)
        Labels of leaves. Of an inner node the score could not say whether it is too high up or wrong.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.
    """
    cases = judge(y, decisions, tree, sample_weight, leaves_only=True)
    parents = np.array(cases.tree.parents)
    return cases.mean(parents[cases.true] == parents[cases.decided])


def hierarchical_precision(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """Of all nodes on the paths to the decisions, the share that lies on the path to the truth as well.

    Kiritchenko, Matwin, Nock & Famili (2006): paths hold the node and all above it but the root, and are pooled over
    the cases. To stop early costs nothing here; it costs recall.

    Parameters
    ----------
    y, decisions : arrays of shape (n,)
        As in `taxonomic_loss`.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.
    """
    cases = judge(y, decisions, tree, sample_weight)
    return _mean_common(cases) / cases.mean(cases.tree.depths[cases.decided])


def hierarchical_recall(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """Of all nodes on the paths to the truth, the share that lies on the path to the decision as well.

    Kiritchenko, Matwin, Nock & Famili (2006), as in `hierarchical_precision`.

    Parameters
    ----------
    y, decisions : arrays of shape (n,)
        As in `taxonomic_loss`.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.
    """
    cases = judge(y, decisions, tree, sample_weight)
    return _mean_common(cases) / cases.mean(cases.tree.depths[cases.true])


def hierarchical_f1(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """The harmonic mean of `hierarchical_precision` and `hierarchical_recall`.

    Parameters
    ----------
    y, decisions : arrays of shape (n,)
        As in `taxonomic_loss`.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.

    Examples
    --------
    >>> tree = Tree(("bird", "robin", "duck", "trout"), (-1, 0, 0, -1))
    >>> round(hierarchical_f1(["robin"], ["bird"], tree), 3)  # precision 1, recall 1/2
    0.667
    """
    cases = judge(y, decisions, tree, sample_weight)
    depths = cases.tree.depths
    return 2.0 * _mean_common(cases) / cases.mean(depths[cases.true] + depths[cases.decided])


def mean_reciprocal_rank(y: Any, proba: Any, tree: Any, sample_weight: Any = None) -> float:
    """Mean of 1 / rank of the true class when classes are ranked by probability: "prec" of Seeger (2008), sec. 6.1.

    The rank is the number of classes that are at least as probable as the true one, so that among equals it is
    the worst: who gives all C classes the same probability scores 1 / C.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of leaves.
    proba : array of shape (n, C)
        Probabilities, or any scores that rank; columns in the order of `tree.classes`.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.
    """
    tree = read_tree(tree)
    table = check_columns(as_scores(proba), tree)
    true = place_leaves(y, tree)
    _check_lengths(true, table, "proba")
    column = np.empty(len(tree.labels), dtype=np.intp)
    column[tree.leaves] = np.arange(tree.n_classes)
    rank = np.empty(len(true))
    for tile in row_tiles(*table.shape):
        score = np.take_along_axis(table[tile], column[true[tile], None], axis=1)
        rank[tile] = np.count_nonzero(table[tile] >= score, axis=1)
    return float(as_shares(as_weights(sample_weight, len(true))) @ (1.0 / rank))


def node_log_loss(y: Any, proba: Any, tree: Any, sample_weight: Any = None) -> float:
    """Mean of -log p(true node), where the probability of an inner node is the sum over the leaves below it.

    Infinite if a true node was given probability 0.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the true nodes, which may be inner ones: of such a case no more is known.
    proba : array of shape (n, C)
        Probabilities of the leaves, columns in the order of `tree.classes`.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.
    """
    tree = read_tree(tree)
    cases = _weigh(y, proba, tree, sample_weight)
    losses = np.empty(len(cases.true))
    for tile in row_tiles(len(losses), len(tree.labels)):
        losses[tile] = _log_losses(tree.node_sums(cases.probabilities[tile].T), cases.true[tile])
    return float(cases.shares @ losses)


@dataclass(frozen=True, eq=False)
class LevelScores:
    """Scores of a tree cut at each depth, from the top down.

    Attributes
    ----------
    depth : integer array of shape (L,)
        1, ..., L; the root would be 0.
    n_nodes : integer array of shape (L,)
        Nodes of this depth, and leaves that lie higher.
    accuracy : array of shape (L,)
        Share of the cases whose most probable node among these is the true one.
    log_loss : array of shape (L,)
        Mean of -log p(true node).
    """

    depth: Indices
    n_nodes: Indices
    accuracy: Array
    log_loss: Array


def level_scores(y: Any, proba: Any, tree: Any, sample_weight: Any = None) -> LevelScores:
    """Accuracy and log loss at each depth of the tree: where, on the way down, things get difficult.

    A tree cut at a depth has the nodes of that depth and the leaves above it for its classes. The truth is the node
    that the path to it goes through, or itself where it lies higher; of an inner node that lies higher, any
    decision below it is right.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the true nodes, which may be inner ones.
    proba : array of shape (n, C)
        Probabilities of the leaves, columns in the order of `tree.classes`.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.

    Returns
    -------
    LevelScores
        With arrays `depth`, `n_nodes`, `accuracy` and `log_loss`, one entry per depth.
    """
    tree = read_tree(tree)
    cases = _weigh(y, proba, tree, sample_weight)
    depths = np.arange(1, tree.depths.max() + 1)
    cuts = [np.flatnonzero(_in_cut(tree, depth)) for depth in depths]
    accuracy, log_loss = np.zeros(len(depths)), np.zeros(len(depths))
    for tile in row_tiles(len(cases.true), len(tree.labels)):
        mass, shares = tree.node_sums(cases.probabilities[tile].T), cases.shares[tile]
        for level, (depth, cut) in enumerate(zip(depths, cuts, strict=True)):
            true = climb(cases.true[tile], depth, tree)
            best = cut[mass[cut].argmax(axis=0)]
            accuracy[level] += shares @ (climb(best, tree.depths[true], tree) == true)
            log_loss[level] += shares @ _log_losses(mass, true)
    # Shares add up to one but for rounding.
    return LevelScores(depths, np.array([len(cut) for cut in cuts]), np.minimum(accuracy, 1.0), log_loss)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Cases of positive weight with true nodes and probabilities of the leaves."""

    true: Indices
    probabilities: Array
    shares: Array


def _weigh(y: Any, proba: Any, tree: Tree, sample_weight: Any) -> _Weighed:
    table = check_columns(as_probabilities(proba), tree)
    true = place_labels(y, tree)
    _check_lengths(true, table, "proba")
    shares = as_shares(as_weights(sample_weight, len(true)))
    if (shares > 0).all():
        return _Weighed(true, table, shares)
    used = np.flatnonzero(shares > 0)
    return _Weighed(true[used], table[used], shares[used])


def _check_lengths(true: Indices, other: Array, name: str) -> None:
    if len(true) != len(other):
        raise ValueError(f"`y` and `{name}` must have as many cases, but have {len(true)} and {len(other)}.")
    if not len(true):
        raise ValueError(f"`y` and `{name}` have no rows, but at least one case is needed.")


def _mean_common(cases: Judged) -> float:
    return cases.mean(common_depths(cases.true, cases.decided, cases.tree))


def _log_losses(mass: Array, true: Indices) -> Array:
    """-log of the mass (N, n) of each case's true node."""
    with np.errstate(divide="ignore"):
        return -np.log(mass[true, np.arange(len(true))])


def _in_cut(tree: Tree, depth: int) -> Array:
    return (tree.depths == depth) | ((tree.depths < depth) & (tree.n_children == 0))
