"""Labels that are the nodes of a tree."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from logikern.decisions.indicators import as_indicator
from logikern.decisions.label_forest import LabelForest
from logikern.estimators._fitted.frames import labelled_frame
from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Array, Mask
from logikern.structure.hierarchy import N_NAMED, encode, read_tree
from logikern.structure.links import shown
from logikern.structure.tree import Tree, as_labels

_ADVICE = "`node_indicators(y, hierarchy)` makes such a frame."


def read_label_tree(hierarchy: Any, names: Array | None, n_labels: int) -> Tree:
    """Read the hierarchy whose nodes are the columns of y.

    Columns are matched by `names`; if `names` is None, they must be in the order of the tree's `labels`.
    """
    if names is None and isinstance(hierarchy, str) and hierarchy == "paths":
        raise ValueError(
            "`hierarchy='paths'` reads the tree from the labels, but the columns of `y` have no names. Pass a frame "
            f"whose columns are named after paths. {_ADVICE}"
        )
    tree = read_tree(hierarchy, names)
    if names is None and n_labels != len(tree.labels):
        raise ValueError(
            f"`y` must have a column for each of the {len(tree.labels)} nodes of the hierarchy, in the order of "
            f"`read_tree(hierarchy).labels`, but has {n_labels}. {_ADVICE}"
        )
    if names is not None:
        _check_columns(tree, names)
    return tree


def _check_columns(tree: Tree, names: Array) -> None:
    """Raise unless the columns, which are distinct, are the nodes of the tree in any order."""
    nodes = encode(tree, names, "column")
    missing = np.setdiff1d(np.arange(len(tree.labels)), nodes)
    if missing.size:
        named = ", ".join(shown(tree.labels[node]) for node in missing[:N_NAMED])
        more = f" and {len(missing) - N_NAMED} more" if len(missing) > N_NAMED else ""
        raise ValueError(f"`y` must have a column for each node of the hierarchy, but lacks {named}{more}. {_ADVICE}")


def node_indicators(y: Any, hierarchy: Any) -> Any:
    """A frame with a column for each node of a tree: 1 if a row has the node or a node below it, else 0.

    `KernelMultilabelClassifier` with a hierarchy takes such frames as targets.

    Parameters
    ----------
    y : list of collections of labels, or frame of indicators
        For each row, its nodes, which may be leaves or inner nodes, such as ``["art/music", "sport"]``; or a frame of
        zeros and ones whose columns are named after some of the nodes.
    hierarchy : object
        A tree in any form that `read_tree` accepts; "paths" reads it from labels such as "physics/optics".

    Returns
    -------
    frame of shape (n, n_nodes)
        The columns are in the order of ``read_tree(hierarchy).labels``, with parents before their children.

    Examples
    --------
    >>> from logikern import node_indicators
    >>> node_indicators([["art/music"], ["art/film", "sport"], []], "paths").to_numpy()
    array([[1, 0, 1, 0],
           [1, 1, 0, 1],
           [0, 0, 0, 0]])
    """
    names = getattr(y, "column_names", getattr(y, "columns", None))
    if names is None:
        rows = _label_rows(y)
        tree = read_tree(hierarchy, list(dict.fromkeys(label for row in rows for label in row)))
        given = _indicators(tree, rows)
    else:
        tree = read_tree(hierarchy, as_labels(names))
        given = np.zeros((len(y), len(tree.labels)), dtype=bool)
        np.logical_or.at(given.T, encode(tree, as_labels(names), "column"), as_indicator(y, "y").T)
    closed = LabelForest(np.array(tree.parents)).close(given)
    return labelled_frame(y, closed.astype(np.int64), as_labels(tree.labels))


def _label_rows(y: Any) -> list[list[Any]]:
    """The labels of each row as a list."""
    is_list = isinstance(y, Iterable) and not isinstance(y, str | bytes | dict) and not is_sparse(y)
    rows = list(y) if is_list and getattr(y, "ndim", 1) == 1 else None
    if rows is None or not all(isinstance(row, list | tuple | set | frozenset | np.ndarray) for row in rows):
        raise ValueError(
            "`y` must have a list or set of labels for each row, or be a frame of indicators whose columns are named "
            "after nodes."
        )
    return [[tuple(label) if isinstance(label, list) else label for label in row] for row in rows]


def _indicators(tree: Tree, rows: list[list[Any]]) -> Mask:
    given = np.zeros((len(rows), len(tree.labels)), dtype=bool)
    for number, row in enumerate(rows):
        given[number, encode(tree, row, f"row {number}, label")] = True
    return given
