"""Labels and distributions on a tree, as targets."""

import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from logikern.estimators._callbacks import WRAPPER_FRAMES
from logikern.estimators._names.likelihoods import LIKELIHOODS
from logikern.likelihoods.base import Likelihood
from logikern.numerics.outcome import Array, Indices
from logikern.structure.hierarchy import N_NAMED, encode, read_tree
from logikern.structure.links import shown
from logikern.structure.targets import from_distributions, from_labels
from logikern.structure.taxonomy import lowest_equivalents, subtree_sums
from logikern.structure.tree import Tree


class TreeTargets(NamedTuple):
    """The targets of all rows."""

    tree: Tree
    targets: Array  # (C, n), or (N, n) if some label is an inner node
    likelihood: Likelihood  # compares latents with these targets


def tree_targets(hierarchy: Any, y: Any) -> TreeTargets:
    """Labels of nodes, or distributions over leaves or over all nodes, one per row."""
    y = as_column(y)
    table = _table(y)
    names = getattr(y, "columns", None)
    if table is None:
        tree = read_tree(hierarchy, y)
        named = encode(tree, y)
        told = describe_mergers(tree, named) if isinstance(hierarchy, str) else ""
        if told:
            warnings.warn(told, UserWarning, stacklevel=4 + WRAPPER_FRAMES)
        return _targets(tree, from_labels(lowest_equivalents(named, tree), len(tree.labels)))
    if names is None and isinstance(hierarchy, str) and hierarchy == "paths":
        raise ValueError(
            "`hierarchy='paths'` reads the tree from the labels, but `y` is a table of numbers whose columns have no "
            "names. Pass a frame whose columns are named after paths, or pass the hierarchy itself."
        )
    tree = read_tree(hierarchy, None if names is None else list(names))
    rows = from_distributions(table)  # (columns, n)
    columns = _columns(tree, table.shape[1], names)
    targets = np.zeros((len(tree.labels), rows.shape[1]))
    np.add.at(targets, lowest_equivalents(columns, tree), rows)
    return _targets(tree, targets)


def as_column(y: Any) -> Any:
    """Labels in one dimension, if they are a table of one column; otherwise unchanged."""
    return column_or_1d(y, warn=True) if getattr(y, "shape", ())[1:] == (1,) else y


def _table(y: Any) -> Array | None:
    """y as numbers in several columns, or None if it holds labels; rows of paths are labels."""
    if isinstance(y, list | tuple) and any(map(_is_label, y)):
        return None
    values = np.asarray(y)
    return values if values.ndim == 2 and values.shape[1] > 1 and values.dtype.kind in "buif" else None


def _is_label(row: Any) -> bool:
    """Whether a row of a list is a name or a path, not a row of numbers."""
    return isinstance(row, tuple | str) or (isinstance(row, list) and not isinstance(next(iter(row), None), Real))


def _columns(tree: Tree, n_columns: int, names: Any) -> Indices:
    if names is not None:
        return encode(tree, list(names), "column")
    if n_columns == tree.n_classes:
        return tree.leaves
    if n_columns == len(tree.labels):
        return np.arange(n_columns)
    raise ValueError(
        f"`y` with {n_columns} columns must hold distributions over the {tree.n_classes} leaves or over all "
        f"{len(tree.labels)} nodes of the hierarchy, in the order of its `classes` or its `labels`. Pass such a "
        "table, or a frame whose columns are named after nodes."
    )


def _targets(tree: Tree, at_nodes: Array) -> TreeTargets:
    coarse = at_nodes[tree.n_children > 0].any()
    if coarse:
        return TreeTargets(tree, at_nodes, LIKELIHOODS["nodes"](tree))
    return TreeTargets(tree, np.ascontiguousarray(at_nodes[tree.leaves]), LIKELIHOODS["classes"]())


def warn_of_guesses(tree: Tree, targets: Array) -> None:
    """Warn about inner nodes with rows but without any labelled row below them; targets (N, n)."""
    at_nodes = targets.sum(axis=1)
    bare = (tree.n_children > 0) & (at_nodes > 0) & (subtree_sums(at_nodes, tree) == at_nodes)
    nodes = np.flatnonzero(bare)
    if nodes.size:
        names = ", ".join(shown(tree.labels[node]) for node in nodes[:N_NAMED])
        more = f" and {len(nodes) - N_NAMED} more" if len(nodes) > N_NAMED else ""
        warnings.warn(
            f"No row is labelled below {names}{more}. The data cannot distinguish the classes below such a node, "
            "so the probability of each of these classes is a guess. Use the probability of the node itself "
            "(`predict_node_proba`), or make it a leaf of the hierarchy.",
            UserWarning,
            stacklevel=4 + WRAPPER_FRAMES,
        )


def describe_mergers(tree: Tree, named: Indices) -> str:
    """A sentence if some rows are labelled by a node and others by the only class below it; otherwise empty.

    All of them are rows of one class, which may be unexpected if the tree was read from these labels.
    """
    nodes = lowest_equivalents(named, tree)
    pairs = np.unique(np.column_stack([nodes, named])[tree.n_children[nodes] == 0], axis=0)  # parents first
    merged = pairs[np.flatnonzero(np.diff(pairs[:, 0], append=-1) == 0)]
    if not len(merged):
        return ""
    child, parent = (shown(tree.labels[node]) for node in merged[0])
    n_more = len(merged) - 1
    more = f" The same holds for {n_more} more node{'s' * (n_more > 1)}." if n_more else ""
    return (
        f"Rows labelled {parent} count as rows of {child}, the only class below {parent}.{more} If some of these "
        "rows do not belong there, give them a separate class at the same level, such as 'other'."
    )
