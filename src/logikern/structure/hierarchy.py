"""Reading a tree from whatever describes a hierarchy, and labels as its nodes."""

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from logikern.numerics.outcome import Indices
from logikern.structure.links import SEPARATOR, Label, Reading, as_label, as_list, is_missing, read_links, shown
from logikern.structure.tree import ROOT, Tree

UNKNOWN = -1
N_SUGGESTIONS = 3
# Of a long list in a message, the nodes that are named.
N_NAMED = 8


def read_tree(hierarchy: Any, labels: Any = None) -> Tree:
    """The tree that a hierarchy describes.

    The root has no label and need not be named. Siblings are put in the order of their labels, so that the same
    hierarchy gives the same tree in whatever form and order it comes.

    Parameters
    ----------
    hierarchy : object
        One of

        - a dict or a pandas series from child to parent; a parent of None, or one that is no child itself, stands
          at the top;
        - a nested dict: below a name a dict, a list, tuple or set of leaves (or of dicts), or None for a leaf. It is
          told from the former by values that are dicts, lists or sets; by tuples only if no node is a tuple;
        - paths, all of them strings ("physics/optics/lasers") or all tuples ("physics", "optics", "lasers");
        - rows (child, parent): pairs, or the rows of a table of two columns, in that order unless a frame names its
          columns "parent" and "child". Tuples of two are rows, unless some
          of them is one of `labels`, which makes them paths;
        - a `DiGraph` of networkx, edges from parent to child. Where some node has several edges in and no node
          several edges out, they are taken from child to parent;
        - "paths": the labels themselves are paths. Those that others begin with are inner nodes;
        - a `Tree`.

        Nodes of paths are known by their whole path, a string or a tuple, so that a name may occur below several
        parents; all others by their own label, once in the tree.
    labels : array-like, default=None
        The labels of the points. Needed for "paths".

    Returns
    -------
    Tree

    Raises
    ------
    ValueError, TypeError
        Naming the node, where the hierarchy is no tree with at least two leaves.
    """
    if isinstance(hierarchy, Tree):
        return hierarchy
    return grow(read_links(hierarchy, labels))


def grow(reading: Reading) -> Tree:
    """The tree with these links; an error about them begins with `reading.how`."""
    return _grow(reading.how, _join(reading))


def _join(reading: Reading) -> dict[Label, Label | None]:
    """The one parent of each node; None at the top."""
    parent_of: dict[Label, Label | None] = {}
    for child, parent in reading.links:
        if child == parent:
            raise ValueError(
                f"{reading.how} makes {shown(child)} its own parent. Leave that link out; "
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
            return f"{how} has {shown(child)} below itself: {_chain([child, *way])}. Take out one of these links."
    two = " and ".join("the root" if one is None else shown(one) for one in (parent_of[child], parent))
    return (
        f"{how} gives {shown(child)} two parents, {two}. Leave it one; where the name stands for several nodes, "
        "give paths such as 'physics/optics'."
    )


def _chain(nodes: Sequence[Label | None]) -> str:
    """Nodes from child to parent, the middle left out of a long chain."""
    named = [shown(node) for node in nodes]
    if len(named) > N_NAMED:
        named = [*named[: N_NAMED - 2], f"({len(named) - N_NAMED + 1} more)", named[-1]]
    return " -> ".join(named)


def _grow(how: str, parent_of: dict[Label, Label | None]) -> Tree:
    """The tree with these parents, each subtree in one piece."""
    if not parent_of:
        raise ValueError(f"{how} has no nodes. Two leaves are the least that can be told apart.")
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
            f"{how} runs in a circle of parents: {circle}. Take out one of these links; every node must reach a top."
        )
    leaves = [node for node in place if node not in children]
    if len(leaves) == 1:
        raise ValueError(f"{how} has the single leaf {shown(leaves[0])}. Two are the least that can be told apart.")
    above = (parent_of[node] for node in place)
    return Tree(tuple(place), tuple(ROOT if parent is None else place[parent] for parent in above))


def _in_order(siblings: list[Label]) -> list[Label]:
    """By label, or by type and text where labels cannot be compared: a set has no order of its own."""
    try:
        return sorted(siblings)  # type: ignore[type-var]
    except TypeError:
        return sorted(siblings, key=lambda label: (type(label).__name__, repr(label)))


def _find_circle(parent_of: dict[Label, Label | None], reached: dict[Label, int]) -> list[Label | None]:
    """Nodes of a circle, the first again at the end, above some node that is not reached from the top."""
    node: Label | None = next(node for node in parent_of if node not in reached)
    seen: dict[Label | None, int] = {}
    while node not in seen:
        seen[node] = len(seen)
        node = parent_of[node]
    return [*list(seen)[seen[node] :], node]


def encode(tree: Tree, labels: Any, unit: str = "point") -> Indices:
    """The node of each label, leaf or inner, as its place in `tree.labels`, (n,).

    Parameters
    ----------
    tree : Tree
    labels : array-like
        One label per point; paths as strings, or as tuples in a list or an array of objects.
    unit : str, default="point"
        What an error says that each label belongs to.

    Raises
    ------
    ValueError, TypeError
        Naming the first label that is no node.
    """
    found = as_list(labels)
    try:
        nodes = np.array([tree.place.get(label, UNKNOWN) for label in found], dtype=np.intp)
    except TypeError:
        for number, label in enumerate(found):
            as_label(label, f"at {unit}", number)
        raise
    unknown = np.flatnonzero(nodes == UNKNOWN)
    if unknown.size:
        raise ValueError(_describe_unknown(tree, [found[number] for number in unknown], f"{unit} {unknown[0]}"))
    return nodes


def _describe_unknown(tree: Tree, unknown: list[Any], where: str) -> str:
    label = unknown[0]
    if is_missing(label):
        return f"`y` must have a label for every point, but has {shown(label)} at {where}. Leave the point out."
    n_others = len(dict.fromkeys(unknown)) - 1
    others = f", nor are {n_others} other labels" if n_others > 1 else ", nor is one other label" if n_others else ""
    if n_others and set(unknown) == set(range(n_others + 1)):
        return (
            f"`y` must hold nodes of the hierarchy, but holds the numbers 0 to {n_others}. Where a tool of "
            "scikit-learn made them of your labels (`cross_val_predict` of probabilities, `VotingClassifier`), pass "
            "a table for `y`, with a column for each leaf and 1 where it is true."
        )
    near = _nearest(tree, label)
    advice = f"Did you mean {' or '.join(shown(node) for node in near)}?" if near else _name_leaves(tree)
    return f"`y` must hold nodes of the hierarchy, but {shown(label)} at {where} is none{others}. {advice}"


def _nearest(tree: Tree, label: Any) -> list[Any]:
    """Nodes that may have been meant: of the same name elsewhere, or of nearly the same text."""
    texts = {_text(node): node for node in tree.labels}
    text = _text(label)
    name = text.rpartition(SEPARATOR)[2]
    alike = [known for known in texts if known == text or known.endswith(SEPARATOR + text)]
    alike = alike or [known for known in texts if known == name]
    alike = alike or difflib.get_close_matches(text, texts, n=N_SUGGESTIONS)
    return [texts[known] for known in alike[:N_SUGGESTIONS]]


def _text(label: Any) -> str:
    return SEPARATOR.join(map(str, label)) if isinstance(label, tuple) else str(label)


def _name_leaves(tree: Tree) -> str:
    named = [shown(tree.labels[node]) for node in tree.leaves[:N_NAMED]]
    more = tree.n_classes - len(named)
    return f"Its leaves are {', '.join(named)}{f' and {more} more' if more else ''}."
