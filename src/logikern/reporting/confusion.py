"""Which classes are confused: matrices of the most frequent classes, and the largest confusions of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.decisions.tree_errors import SiblingConfusion, confused_siblings
from logikern.decisions.tree_scores import LevelScores, level_scores
from logikern.numerics.outcome import Array, Indices
from logikern.reporting.wording import cut_apart
from logikern.structure.taxonomy import ancestors_at, labels_of
from logikern.structure.tree import Tree


@dataclass(frozen=True)
class ConfusionPolicy:
    """How much is shown."""

    classes: int = 30  # a larger matrix does not fit on a page
    confusions: int = 15
    characters: int = 24  # of a class


USUAL = ConfusionPolicy()


@dataclass(frozen=True)
class Confused:
    """Rows of one class that were predicted as another."""

    true: str
    predicted: str
    count: int
    share: float  # of the rows of the true class


@dataclass(frozen=True, eq=False)
class Matrix:
    """Counts of predicted classes (columns) for each true class (rows), for the most frequent true classes."""

    title: str
    names: tuple[str, ...]
    counts: Array  # (k, k)
    totals: Array  # (k,): rows of each class, with those predicted as classes that are not shown
    n_hidden: int  # classes that are not shown
    confused: tuple[Confused, ...]  # the most frequent confusions of all classes


@dataclass(frozen=True, eq=False)
class TreeErrors:
    """Errors at each depth of a class tree."""

    levels: LevelScores
    matrices: tuple[Matrix, ...]  # of the depths above the classes, from the top
    siblings: tuple[SiblingConfusion, ...]


def confuse(
    true: Indices, predicted: Indices, names: Sequence[Any], title: str = "", policy: ConfusionPolicy = USUAL
) -> Matrix:
    """Count the pairs of true and predicted classes, given as positions in `names`."""
    n_classes = len(names)
    pairs, counts = np.unique(true * n_classes + predicted, return_counts=True)
    rows, columns = np.divmod(pairs, n_classes)
    totals = np.bincount(true, minlength=n_classes)
    shown = np.sort(np.argsort(-totals, kind="stable")[: policy.classes])
    place = np.full(n_classes, -1)
    place[shown] = np.arange(len(shown))
    table = np.zeros((len(shown), len(shown)), dtype=int)
    within = (place[rows] >= 0) & (place[columns] >= 0)
    table[place[rows[within]], place[columns[within]]] = counts[within]
    wrong = np.flatnonzero(rows != columns)
    largest = wrong[np.argsort(-counts[wrong], kind="stable")][: policy.confusions]
    named = np.union1d(shown, np.union1d(rows[largest], columns[largest]))
    told = dict(zip(named, cut_apart([names[number] for number in named], policy.characters), strict=True))
    return Matrix(
        title,
        tuple(told[number] for number in shown),
        table,
        totals[shown],
        n_classes - len(shown),
        tuple(
            Confused(told[rows[pair]], told[columns[pair]], int(counts[pair]), counts[pair] / totals[rows[pair]])
            for pair in largest
        ),
    )


def confuse_on_tree(labels: Array, true: Indices, probabilities: Array, tree: Tree) -> TreeErrors:
    """Errors of the most probable classes; `true` are the nodes of `labels`, leaves or inner nodes."""
    decided = tree.leaves[probabilities.argmax(axis=1)]
    matrices = [_at_depth(true, decided, depth, tree) for depth in range(1, int(tree.depths.max()))]
    return TreeErrors(
        level_scores(labels, probabilities, tree),
        tuple(matrix for matrix in matrices if matrix is not None),
        tuple(confused_siblings(labels, labels_of(decided, tree), tree)),
    )


def _at_depth(true: Indices, decided: Indices, depth: int, tree: Tree) -> Matrix | None:
    """The matrix of the nodes at a depth, and of leaves above it; None if no row has its truth there."""
    upper, lower = ancestors_at(true, depth, tree), ancestors_at(decided, depth, tree)
    # Inner nodes above this depth may be right or wrong here.
    judged = (tree.depths[upper] == depth) | (tree.n_children[upper] == 0)
    if not judged.any():
        return None
    nodes = np.flatnonzero((tree.depths == depth) | ((tree.depths < depth) & (tree.n_children == 0)))
    place = np.full(len(tree.labels), -1)
    place[nodes] = np.arange(len(nodes))
    names = [tree.labels[node] for node in nodes]
    return confuse(place[upper[judged]], place[lower[judged]], names, f"Depth {depth} of the tree")
