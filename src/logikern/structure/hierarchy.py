"""Trees from any description of a hierarchy, and the nodes of labels."""

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from logikern.numerics.outcome import Indices
from logikern.structure.links import SEPARATOR, Label, Reading, as_label, as_list, is_missing, read_links, shown
from logikern.structure.tree import ROOT, Tree

# Maximum number of nodes in a message.
N_NAMED = 8


def read_tree(hierarchy: Any, labels: Any = None) -> Tree:
    """Read a tree from any description of a hierarchy.

    The root has no label and may be omitted. Siblings are sorted by label, so the tree does not depend on the form or
    order of the description.

    Parameters
    ----------
    hierarchy : object
        One of

        - a dict or a pandas series from child to parent. A child whose parent is None is at the top, and so is a
          parent that is not itself a child;
        - a nested dict: each value is a dict, a list, tuple or set of leaves (or of dicts), or None for a leaf. A
          dict is nested if some value is a dict, list or set, or if some value is a tuple and no key is a tuple;
        - paths, all of them strings ("physics/optics/lasers") or all tuples ("physics", "optics", "lasers");
        - rows (child, parent): pairs, or the rows of a table of two columns, in that order unless a frame names its
          columns "parent" and "child". Pairs that are tuples are rows, unless one of them is among `labels`; then
          all of them are paths;
        - a `DiGraph` of networkx with edges from parent to child. If some node has several incoming edges and no node
          has several outgoing edges, edges are taken as going from child to parent;
        - "paths": the labels themselves are paths. Prefixes of other labels are inner nodes;
        - a `Tree`.

        In paths, a node is identified by its whole path, a string or a tuple, so a name may occur below several
        parents. In all other forms, a node is identified by its label, which must be unique.
    labels : array-like, default=None
        The labels of the points. Needed only for "paths".

    Returns
    -------
    Tree

    Raises
    ------
    ValueError, TypeError
        If the hierarchy is not a tree with at least two leaves. The message names the node.
    """
    if isinstance(hierarchy, Tree):
        return hierarchy
    return grow(read_links(hierarchy, labels))


def grow(reading: Reading) -> Tree:
    """The tree with these links; error messages begin with `reading.how`."""
    return _grow(reading.how, _join(reading))


def _join(reading: Reading) -> dict[Label, Label | None]:
    """The one parent of each node; None at the top."""
    parent_of: dict[Label, Label | None] = {}
    for child, parent in reading.links:
        if child == parent:
            raise ValueError(
                f"{reading.how} makes {shown(child)} its own parent. Remove that link; "
                "a node at the top has the parent None."
            )
        first = parent_of.setdefault(child, parent)
        if first != parent:
            raise ValueError(_describe_conflict(reading.how, child, parent, parent_of))
    for parent in list(parent_of.values()):
        if parent is not None:
            parent_of.setdefault(parent, None)
    return parent_of


def _describe_conflict(how: str, child: Label, parent: Label | None, parent_of: dict[Label, Label | None]) -> str:
    way, seen = [parent], {parent}
    while (above := parent_of.get(way[-1])) is not None and above not in seen:
        way.append(above)
        seen.add(above)
        if above == child:
            return f"{how} puts {shown(child)} below itself: {_chain([child, *way])}. Remove one of these links."
    two = " and ".join("the root" if one is None else shown(one) for one in (parent_of[child], parent))
    return (
        f"{how} gives {shown(child)} two parents, {two}. Remove one of them. If the name stands for several nodes, "
        "use paths such as 'physics/optics'."
    )


def _chain(nodes: Sequence[Label | None]) -> str:
    """Nodes from child to parent; a long chain is shortened in the middle."""
    named = [shown(node) for node in nodes]
    if len(named) > N_NAMED:
        named = [*named[: N_NAMED - 2], f"({len(named) - N_NAMED + 1} more)", named[-1]]
    return " -> ".join(named)


def _grow(how: str, parent_of: dict[Label, Label | None]) -> Tree:
    """The tree with these parents, in depth-first order."""
    if not parent_of:
        raise ValueError(f"{how} has no nodes. A tree needs at least two leaves.")
    children: dict[Label | None, list[Label]] = {}
    for child, parent in parent_of.items():
        children.setdefault(parent, []).append(child)
    place: dict[Label, int] = {}
    pending = _in_order(children.get(None, []))[::-1]
    while pending:
        node = pending.pop()
        place[node] = len(place)
        pending += _in_order(children.get(node, []))[::-1]
    if len(place) < len(parent_of):
        circle = _chain(_find_circle(parent_of, place))
        raise ValueError(
            f"{how} has a cycle of parents: {circle}. Remove one of these links: all must lead to the top."
        )
    leaves = [node for node in place if node not in children]
    if len(leaves) == 1:
        raise ValueError(f"{how} has only one leaf, {shown(leaves[0])}. A tree needs at least two leaves.")
    above = (parent_of[node] for node in place)
    return Tree(tuple(place), tuple(ROOT if parent is None else place[parent] for parent in above))


def _in_order(siblings: list[Label]) -> list[Label]:
    """The nodes sorted by label, or by type and text if labels cannot be compared."""
    try:
        return sorted(siblings)  # type: ignore[type-var]
    except TypeError:
        return sorted(siblings, key=lambda label: (type(label).__name__, repr(label)))


def _find_circle(parent_of: dict[Label, Label | None], reached: dict[Label, int]) -> list[Label | None]:
    """Nodes of a cycle of parents, with the first one again at the end."""
    node: Label | None = next(node for node in parent_of if node not in reached)
    seen: dict[Label | None, int] = {}
    while node not in seen:
        seen[node] = len(seen)
        node = parent_of[node]
    return [*list(seen)[seen[node] :], node]


def encode(tree: Tree, labels: Any, unit: str = "point") -> Indices:
    """The node of each label, leaf or inner, as its position in `tree.labels`, (n,).

    Parameters
    ----------
    tree : Tree
    labels : array-like
        One label per point; paths as strings, or as tuples in a list or an array of objects.
    unit : str, default="point"
        What a label belongs to, for error messages.

    Raises
    ------
    ValueError, TypeError
        If a label is not a node; the message names the first such label.
    """
    found = as_list(labels)
    try:
        nodes = np.array([tree.place.get(label, ROOT) for label in found], dtype=np.intp)
    except TypeError:
        for number, label in enumerate(found):
            as_label(label, f"at {unit}", number)
        raise
    unknown = np.flatnonzero(nodes == ROOT)
    if unknown.size:
        raise ValueError(_describe_unknown(tree, [found[number] for number in unknown], f"{unit} {unknown[0]}"))
    return nodes


def _describe_unknown(tree: Tree, unknown: list[Any], where: str) -> str:
    label = unknown[0]
    if is_missing(label):
        return f"`y` must have a label for every point, but has {shown(label)} at {where}. Drop the point."
    n_others = len(dict.fromkeys(unknown)) - 1
    others = f", nor are {n_others} other labels" if n_others > 1 else ", nor is one other label" if n_others else ""
    if n_others and set(unknown) == set(range(n_others + 1)):
        return (
            f"`y` must hold nodes of the hierarchy, but holds the numbers 0 to {n_others}. If scikit-learn made "
            "these from your labels (`cross_val_predict` of probabilities, `VotingClassifier`), pass a table as "
            "`y`, with a column for each leaf and 1 in the column of the true leaf."
        )
    near = _nearest(tree, label)
    advice = f"Did you mean {' or '.join(shown(node) for node in near)}?" if near else _name_leaves(tree)
    return f"`y` must hold nodes of the hierarchy, but {shown(label)} at {where} is not one of them{others}. {advice}"


def _nearest(tree: Tree, label: Any) -> list[Any]:
    """Nodes with the same name elsewhere, or with similar text."""
    texts = {_text(node): node for node in tree.labels}
    text = _text(label)
    name = text.rpartition(SEPARATOR)[2]
    alike = [known for known in texts if known == text or known.endswith(SEPARATOR + text)]
    alike = alike or [known for known in texts if known == name]
    alike = alike or difflib.get_close_matches(text, texts)
    return [texts[known] for known in alike[:3]]


def _text(label: Any) -> str:
    return SEPARATOR.join(map(str, label)) if isinstance(label, tuple) else str(label)


def _name_leaves(tree: Tree) -> str:
    named = [shown(tree.labels[node]) for node in tree.leaves[:N_NAMED]]
    more = tree.n_classes - len(named)
    return f"Its leaves are {', '.join(named)}{f' and {more} more' if more else ''}."
