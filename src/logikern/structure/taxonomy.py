"""Labels, paths and distances of the nodes of a class tree.

A node is its position in `tree.labels`. The root is -1 and has no label.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.structure.links import SEPARATOR
from logikern.structure.tree import ROOT, Tree, as_labels


def nodes_of(labels: Any, tree: Tree, name: str = "y") -> Indices:
    """The node of each label, (n,). An unknown label raises an error that refers to the labels as `name`.

    A tuple is one label; rows of a table are read as tuples.
    """
    nodes = find_nodes(labels, tree, name)
    unknown = np.flatnonzero(nodes == ROOT)
    if unknown.size:
        raise ValueError(
            f"`{name}` must hold labels of the {len(tree.labels)} nodes of the tree, but row {unknown[0]} is "
            f"{_as_list(labels, name)[unknown[0]]!r}. Drop such rows, or add the label to the tree."
        )
    return nodes


def column_parents(tree: Tree, labels: Any) -> Indices:
    """The position of the parent of each label among the labels, which are all nodes in any order; -1 at the top."""
    nodes = nodes_of(labels, tree)
    place = np.full(len(tree.labels) + 1, ROOT)
    place[nodes] = np.arange(len(nodes))
    return np.asarray(place[np.array(tree.parents)[nodes]])


def find_nodes(labels: Any, tree: Tree, name: str = "y") -> Indices:
    """The node of each label, (n,); -1 for unknown labels."""
    return np.array([tree.place.get(label, ROOT) for label in _as_list(labels, name)], dtype=np.intp)


def _as_list(labels: Any, name: str) -> list[Any]:
    given = np.asarray(labels, dtype=object)
    if given.ndim not in (1, 2):
        raise ValueError(f"`{name}` must hold one label per case, but has shape {given.shape!r}.")
    # numpy turns tuples of equal length into a table.
    return [tuple(label) if isinstance(label, list) else label for label in given.tolist()]


def leaves_of(labels: Any, tree: Tree, name: str = "y") -> Indices:
    """The leaf of each label, (n,). A node above a single leaf stands for it; other inner nodes are an error."""
    nodes = lowest_equivalents(nodes_of(labels, tree, name), tree)
    inner = np.flatnonzero(tree.n_children[nodes])
    if inner.size:
        node = nodes[inner[0]]
        raise ValueError(
            f"`{name}` must hold labels of leaves, but row {inner[0]} is {tree.labels[node]!r}, which has "
            f"{tree.n_children[node]} children. For inner nodes use `taxonomic_loss`, `hierarchical_f1` or "
            "`node_log_loss`."
        )
    return nodes


def lowest_equivalents(nodes: Indices, tree: Tree) -> Indices:
    """The lowest node with the same leaves as each node, (n,): a node with one child is equivalent to that child."""
    lowest = np.arange(len(tree.labels))
    for node in range(len(lowest) - 1, -1, -1):
        parent = tree.parents[node]
        if parent != ROOT and tree.n_children[parent] == 1:
            lowest[parent] = lowest[node]
    return lowest[nodes]


def labels_of(nodes: Indices, tree: Tree) -> Array:
    """The label of each node, (n,); an array of objects if the labels have several types.

    Parameters
    ----------
    nodes : integer array of shape (n,)
        Nodes other than the root.
    tree : Tree
    """
    found = [tree.labels[node] for node in nodes]
    if len({type(label) for label in found}) <= 1:
        return as_labels(found)
    mixed = np.empty(len(found), dtype=object)
    for number, label in enumerate(found):  # one at a time, because a label may be a tuple
        mixed[number] = label
    return mixed


def paths_of(nodes: Indices, tree: Tree) -> list[tuple[Any, ...]]:
    """Labels on the path from the root to each node, without the root; () for the root itself.

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


def short_name(node: int, tree: Tree) -> str:
    """The last step of a label that is a path; any other label as text.

    Examples
    --------
    >>> short_name(1, Tree(("bird", "bird/duck", "fish"), (-1, 0, -1)))
    'duck'
    """
    label, parent = tree.labels[node], tree.parents[node]
    if isinstance(label, tuple) and label:
        return str(label[-1])
    above = None if parent == ROOT else tree.labels[parent]
    if isinstance(label, str) and isinstance(above, str):
        return label.removeprefix(above + SEPARATOR)
    return str(label)


def ancestors_at(nodes: Indices, depths: Indices | int, tree: Tree) -> Indices:
    """The ancestor of each node at the given depths, (n,); the node itself if it is not deeper."""
    depth_of, parent_of = _with_root(tree.depths, 0), _with_root(tree.parents, ROOT)
    nodes = np.array(nodes)
    while (deeper := depth_of[nodes] > depths).any():
        nodes[deeper] = parent_of[nodes[deeper]]
    return nodes


def diverging_nodes(first: Indices, second: Indices, tree: Tree) -> tuple[Indices, Indices]:
    """The siblings at which two paths diverge; the upper node, twice, if it is an ancestor of the other."""
    depth_of, parent_of = _with_root(tree.depths, 0), _with_root(tree.parents, ROOT)
    level = np.minimum(depth_of[first], depth_of[second])
    left, right = ancestors_at(first, level, tree), ancestors_at(second, level, tree)
    while (apart := parent_of[left] != parent_of[right]).any():
        left[apart], right[apart] = parent_of[left[apart]], parent_of[right[apart]]
    return left, right


def common_depths(first: Indices, second: Indices, tree: Tree) -> Indices:
    """The number of nodes, without the root, that two paths have in common, (n,)."""
    left, right = diverging_nodes(first, second, tree)
    return _with_root(tree.depths, 0)[left] - (left != right)


def distances(first: Indices, second: Indices, tree: Tree) -> Array:
    """Half the length of the path between two nodes, Delta of Seeger (2008), sec. 6.1, (n,).

    Between leaves of equal depth it is the number of steps up to their common ancestor: 1 for siblings.
    """
    depth_of = _with_root(tree.depths, 0)
    return 0.5 * (depth_of[first] + depth_of[second]) - common_depths(first, second, tree)


def expected_distances(per_class: Array, tree: Tree) -> Array:
    """sum_c p(c) Delta(node, leaf of c) for each node and each case, (C, n) -> (N, n), in O(N) per case."""
    expected = tree.node_sums(per_class)  # (N, n)
    # Every edge between the root and the truth counts once.
    from_root = 0.5 * expected.sum(axis=0)
    # A step down is one edge closer to a truth below the node, and one edge further from any other.
    np.subtract(0.5 * per_class.sum(axis=0), expected, out=expected)
    expected[tree.depths == 1] += from_root
    tree.nodes.fall(expected)
    return expected


def subtree_sums(per_node: Array, tree: Tree) -> Array:
    """The sum over the subtree of each node, (N,) -> (N,)."""
    total = per_node.copy()
    tree.nodes.rise(total[:, None])
    return total


def check_columns(table: Array, tree: Tree) -> Array:
    """The table; an error unless it has a column for each class of the tree."""
    if table.shape[1] != tree.n_classes:
        raise ValueError(
            f"`proba` must have a column for each of the {tree.n_classes} leaves, in the order of `tree.classes`, "
            f"but has {table.shape[1]}."
        )
    return table


def _with_root(per_node: Sequence[int] | Indices, at_root: int) -> Indices:
    """Values of the nodes, with the value of the root last, at index -1."""
    return np.append(np.asarray(per_node, dtype=np.intp), at_root)
