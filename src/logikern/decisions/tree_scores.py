"""Scores of decisions and probabilities when classes are the leaves of a tree."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.decisions.cases import as_probabilities, as_scores, as_shares, as_weights
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import row_tiles
from logikern.structure.hierarchy import read_tree
from logikern.structure.taxonomy import (
    ancestors_at,
    check_columns,
    common_depths,
    distances,
    find_nodes,
    leaves_of,
    nodes_of,
)
from logikern.structure.tree import ROOT, Tree


@dataclass(frozen=True, eq=False)
class NodeCases:
    """True and decided nodes of the cases with positive weight, (n,). Build it with `align_nodes`."""

    true: Indices
    decided: Indices
    weights: Array
    tree: Tree

    def mean(self, values: Array) -> float:
        # Both sums round alike, so that the mean of ones is exactly 1.
        shares = as_shares(self.weights)
        return float((shares * values).sum() / shares.sum())


def align_nodes(
    y: Any, decisions: Any, tree: Any, sample_weight: Any, leaves_only: bool = False, allow_unknown: bool = False
) -> NodeCases:
    """Labels of true and decided nodes as nodes of the tree, without cases of weight 0.

    With `allow_unknown`, true labels that are not in the tree become -1, unless all of them are unknown.
    """
    tree = read_tree(tree)
    place = leaves_of if leaves_only else nodes_of
    decided = place(decisions, tree, "decisions")
    true = find_nodes(y, tree) if allow_unknown else place(y, tree, "y")
    if allow_unknown and (true == ROOT).all():
        place(y, tree, "y")
    _check_lengths(true, decided, "decisions")
    weights = as_weights(sample_weight, len(true))
    used = weights > 0
    return NodeCases(true[used], decided[used], weights[used], tree)


def taxonomic_loss(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """Half the length of the path between the decision and the truth, averaged over cases.

    This is the taxo-loss of Seeger (2008), sec. 6.1, and Cai & Hofmann (2004). Between leaves of equal depth, it is
    the number of steps up to their closest common ancestor: a sibling costs 1, a cousin 2. For classes without a
    hierarchy, it is the error rate.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the true nodes, leaves or inner nodes.
    decisions : array of shape (n,)
        Labels of the decided nodes, leaves or inner nodes.
    tree : Tree
        The class tree, or anything that `read_tree` accepts.
    sample_weight : array of shape (n,), default=None
        Weights of the cases; None means equal weights.

    Examples
    --------
    >>> tree = Tree(("bird", "robin", "duck", "trout"), (-1, 0, 0, -1))
    >>> taxonomic_loss(["robin", "robin"], ["robin", "duck"], tree)
    0.5
    """
    cases = align_nodes(y, decisions, tree, sample_weight)
    return cases.mean(distances(cases.true, cases.decided, cases.tree))


def parent_accuracy(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """Share of cases whose decision has the same parent as the truth: Seeger (2008), sec. 6.1.

    Parameters
    ----------
    y, decisions : arrays of shape (n,)
        Labels of leaves; an inner node raises an error.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.
    """
    cases = align_nodes(y, decisions, tree, sample_weight, leaves_only=True)
    parents = np.array(cases.tree.parents)
    return cases.mean(parents[cases.true] == parents[cases.decided])


def hierarchical_precision(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """Share of the nodes on the paths to the decisions that are also on the path to the truth.

    Kiritchenko, Matwin, Nock & Famili (2006): a path consists of the node and its ancestors without the root, and
    paths are pooled over the cases. A decision that stops above the truth loses recall, not precision.

    Parameters
    ----------
    y, decisions, tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.
    """
    cases = align_nodes(y, decisions, tree, sample_weight)
    return _mean_common(cases) / cases.mean(cases.tree.depths[cases.decided])


def hierarchical_recall(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """Share of the nodes on the paths to the truth that are also on the path to the decision.

    See `hierarchical_precision`.

    Parameters
    ----------
    y, decisions, tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.
    """
    cases = align_nodes(y, decisions, tree, sample_weight)
    return _mean_common(cases) / cases.mean(cases.tree.depths[cases.true])


def hierarchical_f1(y: Any, decisions: Any, tree: Any, sample_weight: Any = None) -> float:
    """Harmonic mean of `hierarchical_precision` and `hierarchical_recall`.

    Parameters
    ----------
    y, decisions, tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.

    Examples
    --------
    >>> tree = Tree(("bird", "robin", "duck", "trout"), (-1, 0, 0, -1))
    >>> round(hierarchical_f1(["robin"], ["bird"], tree), 3)  # precision 1, recall 1/2
    0.667
    """
    cases = align_nodes(y, decisions, tree, sample_weight)
    depths = cases.tree.depths
    return 2.0 * _mean_common(cases) / cases.mean(depths[cases.true] + depths[cases.decided])


def mean_reciprocal_rank(y: Any, proba: Any, tree: Any, sample_weight: Any = None) -> float:
    """Mean of 1 / rank of the true class, with classes ranked by probability: "prec" of Seeger (2008), sec. 6.1.

    The rank is the number of classes that are at least as probable as the true one. Ties count against the model:
    equal probabilities for all C classes score 1 / C.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of leaves.
    proba : array of shape (n, C)
        Probabilities or other scores, with columns in the order of `tree.classes`.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.
    """
    tree = read_tree(tree)
    table = check_columns(as_scores(proba), tree)
    true = leaves_of(y, tree)
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

    It is infinite if a true node has probability 0.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the true nodes, leaves or inner nodes.
    proba : array of shape (n, C)
        Probabilities of the leaves, with columns in the order of `tree.classes`.
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
        1, ..., L; the root has depth 0.
    n_nodes : integer array of shape (L,)
        Number of nodes at this depth, plus the leaves above it.
    accuracy : array of shape (L,)
        Share of cases whose most probable node among these is the true one.
    log_loss : array of shape (L,)
        Mean of -log p(true node).
    """

    depth: Indices
    n_nodes: Indices
    accuracy: Array
    log_loss: Array


def level_scores(y: Any, proba: Any, tree: Any, sample_weight: Any = None) -> LevelScores:
    """Accuracy and log loss at each depth of the tree.

    At each depth, the classes are the nodes at this depth and the leaves above it. The truth is then the ancestor of
    the true node at this depth, or the true node itself if it is not deeper. If the truth is an inner node above this
    depth, any decision below it is correct.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of the true nodes, leaves or inner nodes.
    proba : array of shape (n, C)
        Probabilities of the leaves, with columns in the order of `tree.classes`.
    tree : Tree
        As in `taxonomic_loss`.
    sample_weight : array of shape (n,), default=None
        As in `taxonomic_loss`.

    Returns
    -------
    LevelScores
        With the arrays `depth`, `n_nodes`, `accuracy` and `log_loss`, which have one entry per depth.
    """
    tree = read_tree(tree)
    cases = _weigh(y, proba, tree, sample_weight)
    depths = np.arange(1, tree.depths.max() + 1)
    cuts = [np.flatnonzero(_in_cut(tree, depth)) for depth in depths]
    accuracy, log_loss = np.zeros(len(depths)), np.zeros(len(depths))
    for tile in row_tiles(len(cases.true), len(tree.labels)):
        mass, shares = tree.node_sums(cases.probabilities[tile].T), cases.shares[tile]
        for level, (depth, cut) in enumerate(zip(depths, cuts, strict=True)):
            true = ancestors_at(cases.true[tile], depth, tree)
            best = cut[mass[cut].argmax(axis=0)]
            accuracy[level] += shares @ (ancestors_at(best, tree.depths[true], tree) == true)
            log_loss[level] += shares @ _log_losses(mass, true)
    # Shares sum to 1 up to rounding.
    return LevelScores(depths, np.array([len(cut) for cut in cuts]), np.minimum(accuracy, 1.0), log_loss)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """True nodes and leaf probabilities of the cases with positive weight, and their shares of the weight."""

    true: Indices
    probabilities: Array
    shares: Array


def _weigh(y: Any, proba: Any, tree: Tree, sample_weight: Any) -> _Weighed:
    table = check_columns(as_probabilities(proba), tree)
    true = nodes_of(y, tree)
    _check_lengths(true, table, "proba")
    shares = as_shares(as_weights(sample_weight, len(true)))
    if (shares > 0).all():
        return _Weighed(true, table, shares)
    used = np.flatnonzero(shares > 0)
    return _Weighed(true[used], table[used], shares[used])


def _check_lengths(true: Indices, other: Array, name: str) -> None:
    if len(true) != len(other):
        raise ValueError(f"`y` and `{name}` must have the same length, but have {len(true)} and {len(other)} cases.")
    if not len(true):
        raise ValueError(f"`y` and `{name}` must have at least one case, but are empty.")


def _mean_common(cases: NodeCases) -> float:
    return cases.mean(common_depths(cases.true, cases.decided, cases.tree))


def _log_losses(mass: Array, true: Indices) -> Array:
    """-log of the mass (N, n) of each case's true node."""
    with np.errstate(divide="ignore"):
        return -np.log(mass[true, np.arange(len(true))])


def _in_cut(tree: Tree, depth: int) -> Array:
    return (tree.depths == depth) | ((tree.depths < depth) & (tree.n_children == 0))
