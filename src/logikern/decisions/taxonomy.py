"""Where the nodes of a class tree lie to each other: labels, paths, distances.

Nodes are numbers, their places in `tree.labels`; -1 is the root, which has no label.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.structure.links import SEPARATOR
from logikern.structure.tree import ROOT, Tree, as_labels


def place_labels(labels: Any, tree: Tree, name: str = "y") -> Indices:
    """Labels of nodes, inner ones too, as numbers of nodes: the door of all that speaks of a tree.

    Parameters
    ----------
    labels : array of shape (n,)
        A tuple is a label; rows of a table are read as tuples.
    tree : Tree
    name : str, default="y"
        What an error calls the labels.
    """
    nodes = find_labels(labels, tree, name)
    unknown = np.flatnonzero(nodes == ROOT)
    if unknown.size:
        raise ValueError(
            f"`{name}` must hold labels of the {len(tree.labels)} nodes of the tree, but row {unknown[0]} is "
            f"{_one_by_one(labels, name)[unknown[0]]!r}. Drop such rows, or add the label to the tree."
        )
    return nodes


def find_labels(labels: Any, tree: Tree, name: str = "y") -> Indices:
    """The same with -1 for a label that is none of the tree's."""
    return np.array([tree.place.get(label, ROOT) for label in _one_by_one(labels, name)], dtype=np.intp)


def _one_by_one(labels: Any, name: str) -> list[Any]:
    given = np.asarray(labels, dtype=object)
    if given.ndim not in (1, 2):
        raise ValueError(f"`{name}` must hold one label per case, but has shape {given.shape!r}.")
    # numpy makes a table of tuples that are equally long.
    return [tuple(label) if isinstance(label, list) else label for label in given.tolist()]


def place_leaves(labels: Any, tree: Tree, name: str = "y") -> Indices:
    """The same where only leaves will do; above a single leaf, that leaf is meant."""
    nodes = settle(place_labels(labels, tree, name), tree)
    inner = np.flatnonzero(tree.n_children[nodes])
    if inner.size:
        node = nodes[inner[0]]
        raise ValueError(
            f"`{name}` must hold labels of leaves, but row {inner[0]} is {tree.labels[node]!r}, which has "
            f"{tree.n_children[node]} below it. For inner nodes there are `taxonomic_loss`, `hierarchical_f1` and "
            "`node_log_loss`."
        )
    return nodes


def settle(nodes: Indices, tree: Tree) -> Indices:
    """The lowest node that says the same as each one: a node with one child says what that child says, (n,)."""
    lowest = np.arange(len(tree.labels))
    for node in range(len(lowest) - 1, -1, -1):
        parent = tree.parents[node]
        if parent != ROOT and tree.n_children[parent] == 1:
            lowest[parent] = lowest[node]
    return lowest[nodes]


def labels_of(nodes: Indices, tree: Tree) -> Array:
    """The label of each node, (n,); objects where the labels are of several kinds.

    Parameters
    ----------
    nodes : integer array of shape (n,)
        None of them the root.
    tree : Tree
    """
    found = [tree.labels[node] for node in nodes]
    if len({type(label) for label in found}) <= 1:
        return as_labels(found)
    mixed = np.empty(len(found), dtype=object)
    for number, label in enumerate(found):  # one by one: a tuple is a label, not a sequence of them
        mixed[number] = label
    return mixed


def paths_of(nodes: Indices, tree: Tree) -> list[tuple[Any, ...]]:
    """Labels from the top down to each node; () for the root, which is where nothing is decided.

    Parameters
    ----------
    nodes : integer array of shape (n,)
    tree : Tree

    Examples
    --------
    >>> tree = Tree(("bird", "fish", "duck"), (-1, -1, 0))
    >>> paths_of([2, 1, -1], tree)
    [('bird', 'duck'), ('fish',), ()]
    """
    known: dict[int, tuple[Any, ...]] = {}
    for node in np.unique(nodes).tolist():
        known[node] = tuple(tree.labels[upper] for upper in tree.path(node))
    return [known[node] for node in np.asarray(nodes).tolist()]


def step_of(node: int, tree: Tree) -> str:
    """What a node is called below its parent: of a label that is a path its last step, else the label.

    Parameters
    ----------
    node : int
    tree : Tree

    Examples
    --------
    >>> step_of(1, Tree(("bird", "bird/duck", "fish"), (-1, 0, -1)))
    'duck'
    """
    label, parent = tree.labels[node], tree.parents[node]
    if isinstance(label, tuple) and label:
        return str(label[-1])
    above = None if parent == ROOT else tree.labels[parent]
    if isinstance(label, str) and isinstance(above, str):
        return label.removeprefix(above + SEPARATOR)
    return str(label)


def climb(nodes: Indices, depths: Indices | int, tree: Tree) -> Indices:
    """The node that each path goes through at a depth; the node itself where it lies higher.

    Parameters
    ----------
    nodes : integer array of shape (n,)
    depths : int, or integer array of shape (n,)
    tree : Tree
    """
    depth_of, parent_of = _with_root(tree.depths, 0), _with_root(tree.parents, ROOT)
    nodes = np.array(nodes)
    while (deeper := depth_of[nodes] > depths).any():
        nodes[deeper] = parent_of[nodes[deeper]]
    return nodes


def part(first: Indices, second: Indices, tree: Tree) -> tuple[Indices, Indices]:
    """The siblings at which two paths part; twice the upper node where one path is the beginning of the other.

    Parameters
    ----------
    first, second : integer arrays of shape (n,)
    tree : Tree
    """
    depth_of, parent_of = _with_root(tree.depths, 0), _with_root(tree.parents, ROOT)
    level = np.minimum(depth_of[first], depth_of[second])
    left, right = climb(first, level, tree), climb(second, level, tree)
    while (apart := parent_of[left] != parent_of[right]).any():
        left[apart], right[apart] = parent_of[left[apart]], parent_of[right[apart]]
    return left, right


def common_depths(first: Indices, second: Indices, tree: Tree) -> Indices:
    """How many nodes two paths have in common, (n,); the root is not counted."""
    left, right = part(first, second, tree)
    return _with_root(tree.depths, 0)[left] - (left != right)


def distances(first: Indices, second: Indices, tree: Tree) -> Array:
    """Half the length of the path between two nodes, Delta of Seeger (2008), sec. 6.1, (n,).

    Between leaves of one depth, the steps up to the node at which they meet: 1 for siblings.

    Parameters
    ----------
    first, second : integer arrays of shape (n,)
    tree : Tree
    """
    depth_of = _with_root(tree.depths, 0)
    return 0.5 * (depth_of[first] + depth_of[second]) - common_depths(first, second, tree)


def expected_distances(per_class: Array, tree: Tree) -> Array:
    """sum_c p(c) Delta(node, leaf of c) for each node and each case, (C, n) -> (N, n), in O(N) per case.

    Parameters
    ----------
    per_class : array of shape (C, n)
        Probabilities, rows in the order of `tree.classes`. Tiles of the cases are the caller's.
    tree : Tree
    """
    expected = tree.node_sums(per_class)  # (N, n)
    # Every edge on the way from the root to the truth counts once.
    from_root = 0.5 * expected.sum(axis=0)
    # One step down comes nearer to a truth below the node, and goes away from all others.
    np.subtract(0.5 * per_class.sum(axis=0), expected, out=expected)
    for node, parent in enumerate(tree.parents):
        expected[node] += from_root if parent == ROOT else expected[parent]
    return expected


def sum_up(per_node: Array, tree: Tree) -> Array:
    """Of every node the sum over itself and all below it, (N,) -> (N,)."""
    total = per_node.copy()
    for node in range(len(total) - 1, -1, -1):
        if (parent := tree.parents[node]) != ROOT:
            total[parent] += total[node]
    return total


def check_columns(table: Array, tree: Tree) -> Array:
    """The table, which must have a column for each class of the tree."""
    if table.shape[1] != tree.n_classes:
        raise ValueError(
            f"`proba` must have a column for each of the {tree.n_classes} leaves, in the order of `tree.classes`, "
            f"but has {table.shape[1]}."
        )
    return table


def _with_root(per_node: Sequence[int] | Indices, at_root: int) -> Indices:
    """Values of the nodes and, where -1 looks for it, that of the root."""
    return np.append(np.asarray(per_node, dtype=np.intp), at_root)
