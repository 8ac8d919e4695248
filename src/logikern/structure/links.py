"""Links from child to parent, read from any description of a hierarchy."""

import math
import reprlib
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

SEPARATOR = "/"
FORMS = (
    "a dict from child to parent, a nested dict, paths such as 'physics/optics' or ('physics', 'optics'), "
    "rows (child, parent), a directed networkx graph, or 'paths' to read it from the labels"
)

Label = Hashable
Link = tuple[Label, Label | None]  # child, parent; None is the root


@dataclass(frozen=True)
class Reading:
    """The links of a hierarchy, and how it was read, for error messages."""

    how: str
    links: Iterable[Link]


def read_links(hierarchy: Any, labels: Any = None) -> Reading:
    """The links of a hierarchy in any form; see `read_tree`."""
    if isinstance(hierarchy, str):
        return _from_name(hierarchy, labels)
    if _is_graph(hierarchy):
        return Reading("`hierarchy`, read as a graph,", _from_graph(hierarchy))
    if isinstance(hierarchy, Mapping):
        if _is_nested(hierarchy):
            return Reading("`hierarchy`, read as a nested dict,", _from_nested(hierarchy))
        return Reading("`hierarchy`, read as a dict from child to parent,", _from_pairs(hierarchy.items()))
    if _is_named_series(hierarchy):
        return Reading("`hierarchy`, read as a series from child to parent,", _from_pairs(hierarchy.items()))
    if isinstance(hierarchy, Iterable):
        return _from_rows(_as_rows(hierarchy), labels)
    raise TypeError(f"`hierarchy` must be {FORMS}, but is {shown(hierarchy)} ({kind(hierarchy)}).")


def _from_name(name: str, labels: Any) -> Reading:
    if name != "paths":
        raise ValueError(f"`hierarchy` must be {FORMS}, but is {shown(name)}.")
    if labels is None:
        raise ValueError("`hierarchy='paths'` reads the tree from the labels, but there are no labels. Pass `y`.")
    return Reading("`y`, read as paths,", from_paths(distinct(labels), "`y`"))


# --- labels ---


def shown(value: Any) -> str:
    """A value for a message, shortened if it is long or deep; only type and shape of arrays and frames."""
    if getattr(value, "shape", ()):
        return f"a value of type {kind(value)} and shape {tuple(value.shape)}"
    short = reprlib.Repr()
    short.maxlevel, short.maxtuple, short.maxstring, short.maxother = 3, 8, 80, 80
    return short.repr(plain(value))


def kind(value: Any) -> str:
    """The type of a value for a message."""
    return type(value).__name__


def plain(label: Any) -> Any:
    """A label without a numpy wrapper."""
    if isinstance(label, np.generic):
        return label.item()
    if isinstance(label, tuple):
        return tuple(part.item() if isinstance(part, np.generic) else part for part in label)
    return label


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or a missing value of pandas."""
    if isinstance(label, float):
        return math.isnan(label)
    return label is None or kind(label) in ("NAType", "NaTType")


def as_label(label: Any, where: str, at: Any) -> Label:
    """The label of a node; `where` and `at` describe its position in a message."""
    label = plain(label)
    try:
        hash(label)
    except TypeError:
        raise TypeError(
            f"Nodes must have hashable labels, but {shown(label)} ({kind(label)}) occurs {where} {shown(at)}. "
            "Use strings, numbers or tuples."
        ) from None
    if is_missing(label) or _is_blank(label):
        raise ValueError(
            f"Nodes must have labels, but {shown(label)} occurs {where} {shown(at)}. Name the node, or leave it out. "
            "None is allowed only as the parent of nodes at the top."
        )
    return label


def _is_blank(label: Label) -> bool:
    return label == () or (isinstance(label, str) and not label.strip())


def as_list(labels: Any) -> list[Any]:
    """The labels of points as a list."""
    # This includes data frames, which iterate over column names.
    if getattr(labels, "ndim", 1) != 1:
        raise ValueError(
            f"`y` must have one label per point, but has the shape {np.shape(labels)}. "
            "Write a path as one string, or as a tuple in a list."
        )
    if isinstance(labels, np.ndarray):
        labels = labels.tolist()
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise TypeError(f"`y` must be a list or an array of labels, but is {shown(labels)} ({kind(labels)}).")
    return [tuple(label) if isinstance(label, list) else label for label in labels]


def distinct(labels: Any) -> list[Any]:
    """Distinct labels in the order of first use."""
    found = as_list(labels)
    try:
        return list(dict.fromkeys(found))
    except TypeError:
        return list(dict.fromkeys(as_label(label, "at point", number) for number, label in enumerate(found)))


# --- dicts and rows ---


def _from_pairs(pairs: Iterable[tuple[Any, Any]]) -> Iterator[Link]:
    for child, parent in pairs:
        own = as_label(child, "as a child of", parent)
        above = plain(parent)
        yield own, None if is_missing(above) else as_label(above, "as the parent of", own)


def _is_named_series(hierarchy: Any) -> bool:
    """Whether it is a pandas series with an index of labels, which is like a dict."""
    index = getattr(hierarchy, "index", None)
    return kind(hierarchy) == "Series" and index is not None and kind(index) != "RangeIndex"


def _is_nested(hierarchy: Mapping[Any, Any]) -> bool:
    """Whether values hold children; if nodes are tuples, a tuple may also be a parent."""
    among_tuples = any(isinstance(node, tuple) for node in hierarchy)
    holders = (Mapping, list, set, frozenset) if among_tuples else (Mapping, list, set, frozenset, tuple)
    return any(isinstance(value, holders) for value in hierarchy.values())


def _from_nested(hierarchy: Mapping[Any, Any]) -> Iterator[Link]:
    """Yields a link before the links below it, so that a check can stop at a dict that contains itself."""
    pending: list[tuple[Label | None, Any]] = [(None, hierarchy)]
    while pending:
        parent, value = pending.pop()
        for child, below in _children(parent, value):
            own = as_label(child, "below", hierarchy if parent is None else parent)
            yield own, parent
            if below is not None:
                pending.append((own, below))


def _children(parent: Label | None, value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            if isinstance(part, Mapping):
                yield from part.items()
            else:
                yield part, None
    else:
        raise ValueError(
            f"`hierarchy`, read as a nested dict, must have a dict, a list of leaves or None below {shown(parent)}, "
            f"but has {shown(value)} ({kind(value)}). Write a single leaf as a list with one element."
        )


def _as_rows(hierarchy: Any) -> list[Any]:
    # A data frame iterates over column names, so its rows are taken from an array.
    rows = hierarchy
    if len(getattr(hierarchy, "shape", ())) == 2:
        names = [str(name).lower() for name in getattr(hierarchy, "columns", ())]
        rows = np.asarray(hierarchy)
        rows = (rows[:, ::-1] if names == ["parent", "child"] else rows).tolist()
    return [plain(tuple(row) if isinstance(row, list) else row) for row in rows]


def _from_rows(rows: list[Any], labels: Any) -> Reading:
    if rows and all(isinstance(row, tuple) and len(row) == 2 for row in rows) and not _is_used(rows, labels):
        return Reading("`hierarchy`, read as rows (child, parent),", _from_pairs(rows))
    return Reading("`hierarchy`, read as paths,", from_paths(rows, "`hierarchy`"))


def _is_used(rows: list[Any], labels: Any) -> bool:
    """Whether some rows are labels of points; then rows are paths."""
    if labels is None:
        return False
    used = {label for label in distinct(labels) if isinstance(label, tuple)}
    try:
        return not used.isdisjoint(rows)
    except TypeError:  # an unhashable label, which reading it as a row reports with its position
        return False


# --- paths ---


def from_paths(paths: Iterable[Any], source: str) -> Iterator[Link]:
    """The links of paths and all their prefixes; `source` names them in a message."""
    known: set[Label] = set()
    first: Any = None
    for path in paths:
        own = _as_path(path, source)
        first = own if first is None else first
        if isinstance(own, str) != isinstance(first, str):
            raise ValueError(
                f"{source} must have all paths as strings or all as tuples, but has {shown(first)} "
                f"and {shown(own)}. Choose one of them."
            )
        node: Label | None = own
        while node is not None and node not in known:
            known.add(node)
            parent = _prefix(node)
            yield node, parent
            node = parent


def _as_path(path: Any, source: str) -> str | tuple[Any, ...]:
    path = plain(path)
    if isinstance(path, tuple) and path:
        return tuple(as_label(part, "in the path", path) for part in path)
    if isinstance(path, str) and path.strip():
        if any(not part.strip() for part in path.split(SEPARATOR)):
            raise ValueError(
                f"{source} must have paths without empty names, "
                f"but has {shown(path)}. Remove the extra {SEPARATOR!r}, or fill in the missing name."
            )
        return path
    if isinstance(path, str | tuple) or is_missing(path):
        raise ValueError(f"{source} must have paths of at least one name, but has {shown(path)}. Leave it out.")
    raise TypeError(
        f"{source} must have paths such as 'physics/optics' or ('physics', 'optics'), but has {shown(path)} "
        f"({kind(path)}). If labels are not paths, pass a dict from child to parent as `hierarchy`."
    )


def _prefix(path: Any) -> Label | None:
    """The path of the parent; None at the top."""
    if isinstance(path, str):
        above, _, _ = path.rpartition(SEPARATOR)
        return above or None
    return path[:-1] or None


# --- graphs ---


def _is_graph(hierarchy: Any) -> bool:
    """Whether it is a networkx graph, without importing networkx."""
    classes = type(hierarchy).__mro__
    return any(one.__name__ == "Graph" and one.__module__.partition(".")[0] == "networkx" for one in classes)


def _from_graph(graph: Any) -> Iterator[Link]:
    """Edges go from parent to child, unless some node has several edges in and no node has several out."""
    if not graph.is_directed():
        raise ValueError(
            "`hierarchy` must be a directed graph, with edges from parent to child, but is undirected. "
            "Pass a `DiGraph`, such as `networkx.bfs_tree(graph, root)`."
        )
    nodes = list(graph)
    before: dict[Label, list[Label]] = {as_label(node, "in the graph of", nodes): [] for node in nodes}
    after: dict[Label, list[Label]] = {node: [] for node in before}
    # Several edges between two nodes are one link.
    for start, end in dict.fromkeys((plain(start), plain(end)) for start, end in graph.edges()):
        if start == end:
            yield start, end  # an error for either direction of the edges
        after[start].append(end)
        before[end].append(start)
    parents = before if _is_downward(before, after) else after
    for node, above in parents.items():
        if not above:
            yield node, None
        for parent in above:
            yield node, parent


def _is_downward(before: dict[Label, list[Label]], after: dict[Label, list[Label]]) -> bool:
    """Whether edges go from parent to child. Raises an error if both directions or neither is possible."""
    joined = next((node for node in before if len(before[node]) > 1), None)
    forked = next((node for node in after if len(after[node]) > 1), None)
    if joined is not None and forked is not None:
        raise ValueError(
            f"`hierarchy`, read as a graph, must have edges from parent to child and one parent for each node, but "
            f"{shown(joined)} has edges from {_some(before[joined])}, and {shown(forked)} has edges to "
            f"{_some(after[forked])}. Give each node one parent, or pass paths such as 'physics/optics'."
        )
    tops = [node for node in before if not before[node]]
    if joined is None and forked is None and len(tops) > 1 and any(after[node] for node in tops):
        start = next(node for node in tops if after[node])
        raise ValueError(
            "`hierarchy`, read as a graph, has no clear direction, because no node has several edges in or out: "
            f"{shown(start)} may be the parent of {shown(after[start][0])} or its child. "
            "Pass a dict from child to parent."
        )
    return joined is None


def _some(nodes: list[Label]) -> str:
    return " and ".join(shown(node) for node in nodes[:2])
