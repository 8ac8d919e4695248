"""Decisions on a class tree: a leaf, or an inner node if no leaf is certain enough."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from logikern.decisions.cases import as_probabilities
from logikern.decisions.rules import DecisionResult, loss_matrix, reject, reorder_frame
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import row_tiles
from logikern.structure.hierarchy import read_tree
from logikern.structure.taxonomy import check_columns, expected_distances
from logikern.structure.tree import Tree

# Probabilities of some cases, (C, m) -> the best node for each case, and its expected loss.
Rule: TypeAlias = Callable[[Array], tuple[Indices, Array]]


def decide_on_tree(
    proba: Any,
    tree: Any,
    loss: str | Array | Callable[[Any, Any], float] = "zero_one",
    allow_inner: bool = False,
    reject_cost: float | None = None,
) -> DecisionResult:
    """The node with the smallest expected loss for each case: a leaf or, with `allow_inner`, any node.

    Ties go to the first node in the order of `tree.classes` or, with `allow_inner`, of `tree.labels`. In
    `tree.labels`, a parent precedes its children, so a tie goes to the less specific node. The root is not a possible
    decision; use `reject_cost` to abstain.

    Parameters
    ----------
    proba : array of shape (n, C)
        Probabilities of the leaves, with columns in the order of `tree.classes`.
    tree : Tree
        The class tree, or anything that `read_tree` accepts.
    loss : "zero_one", "taxonomic", "parent", array or callable, default="zero_one"
        - "zero_one": the most probable leaf.
        - "taxonomic": the node for which half the length of the path to the truth has the smallest expected value
          (Seeger 2008, sec. 6.1). With `allow_inner`, this is the deepest node with a probability above 1/2 or, if
          there is no such node, the most probable child of the root.
        - "parent": first the parent whose leaf children have the largest total probability, then the most probable of
          these leaves (Seeger 2008, footnote 11). The expected loss is the probability of a wrong parent.
        - array: rows are decisions and columns are true classes, in the order of `tree.classes`. With
          `allow_inner`, there is one row per node, in the order of `tree.labels`. Frames are matched by their names.
        - callable: loss(decision_label, true_label), called for every pair.
    allow_inner : bool, default=False
        Whether inner nodes may be decided. "zero_one" and "parent" do not define the loss of an inner node, so they
        raise an error with `allow_inner`.
    reject_cost : float, default=None
        Cost of abstaining, on the scale of the losses. None means that no case is rejected.

    Returns
    -------
    DecisionResult
        Its `decisions` are the positions of nodes in `tree.labels`, or -1 for rejected cases. `labels_of` converts
        positions to labels.

    Examples
    --------
    The case is probably a bird, but it is not clear which one.

    >>> tree = Tree(("bird", "robin", "duck", "trout"), (-1, 0, 0, -1))
    >>> proba = [[0.35, 0.3, 0.35]]  # duck, robin, trout
    >>> decided = decide_on_tree(proba, tree, "taxonomic", allow_inner=True)
    >>> tree.labels[decided.decisions[0]]
    'bird'
    """
    tree = read_tree(tree)
    table = check_columns(as_probabilities(proba), tree)
    rule = _choose_rule(loss, tree, allow_inner)
    nodes, losses = np.empty(len(table), dtype=np.intp), np.empty(len(table))
    for tile in row_tiles(len(table), len(tree.labels)):
        nodes[tile], losses[tile] = rule(table[tile].T)
    return reject(nodes, losses, reject_cost)


def _choose_rule(loss: Any, tree: Tree, allow_inner: bool) -> Rule:
    candidates = np.arange(len(tree.labels)) if allow_inner else tree.leaves
    if not isinstance(loss, str):
        return partial(_least_by_matrix, losses=_losses(loss, tree, allow_inner), candidates=candidates)
    if loss == "taxonomic":
        return partial(_least_distant, tree=tree, candidates=candidates)
    if loss not in _LEAF_RULES:
        raise ValueError(
            f"`loss` must be one of {[*_LEAF_RULES, 'taxonomic']}, a matrix or a callable, but is {loss!r}."
        )
    if allow_inner:
        raise ValueError(
            f"`allow_inner=True` needs a loss that is defined for inner nodes, but loss={loss!r} is for leaves only. "
            "Pass loss='taxonomic', or a matrix with a row for every node."
        )
    rule = _LEAF_RULES[loss]
    return lambda per_class: rule(per_class, tree)


def _losses(loss: Any, tree: Tree, allow_inner: bool) -> Array:
    """loss[d, c], with a row for each node that may be decided."""
    decisions = list(tree.labels) if allow_inner else tree.classes.tolist()
    if callable(loss):
        loss = [[loss(decision, truth) for truth in tree.classes.tolist()] for decision in decisions]
    losses = loss_matrix(reorder_frame(loss, decisions, tree.classes.tolist()), range(tree.n_classes))
    if len(losses) != len(decisions):
        order = "nodes, in the order of `tree.labels`" if allow_inner else "leaves, in the order of `tree.classes`"
        raise ValueError(
            f"`loss` must have a row for each of the {len(decisions)} {order}, but has {len(losses)}. "
            "Pass rows for all nodes with `allow_inner=True`, and rows for the leaves otherwise."
        )
    return losses


def _most_probable(per_class: Array, tree: Tree) -> tuple[Indices, Array]:
    best = per_class.argmax(axis=0)
    return tree.leaves[best], _rest(per_class, best)


def _child_of_best_parent(per_class: Array, tree: Tree) -> tuple[Indices, Array]:
    _, group = np.unique(np.array(tree.parents)[tree.leaves], return_inverse=True)
    order = np.argsort(group, kind="stable")
    mass = np.add.reduceat(per_class[order], np.flatnonzero(np.diff(group[order], prepend=-1)), axis=0)
    best = mass.argmax(axis=0)
    children = np.where(group[:, None] == best, per_class, -1.0)
    return tree.leaves[children.argmax(axis=0)], _rest(mass, best)


def _least_distant(per_class: Array, tree: Tree, candidates: Indices) -> tuple[Indices, Array]:
    # Rounding can make the distance to a certain truth negative.
    return _least(np.maximum(expected_distances(per_class, tree)[candidates], 0.0), candidates)


def _least_by_matrix(per_class: Array, losses: Array, candidates: Indices) -> tuple[Indices, Array]:
    return _least(losses @ per_class, candidates)


def _least(expected: Array, candidates: Indices) -> tuple[Indices, Array]:
    best = expected.argmin(axis=0)
    return candidates[best], expected[best, np.arange(len(best))]


def _rest(masses: Array, best: Indices) -> Array:
    """1 - mass of the best row, at least 0."""
    return np.maximum(1.0 - masses[best, np.arange(len(best))], 0.0)


_LEAF_RULES: dict[str, Callable[[Array, Tree], tuple[Indices, Array]]] = {
    "zero_one": _most_probable,
    "parent": _child_of_best_parent,
}
