"""What is no tree is refused, with the node that is to blame."""

import numpy as np
import pytest

from logikern.structure.hierarchy import read_tree
from logikern.structure.tree import Tree

NAN = float("nan")


def dict_in_itself():
    inner = {}
    inner["b"] = {"a": inner, "c": None}
    return inner


def list_in_itself():
    inner = []
    inner.append({"a": inner})
    return {"top": inner}


BAD = {
    "circle": ({"a": "b", "b": "c", "c": "a", "d": None}, "cycle of parents: 'a' -> 'b' -> 'c' -> 'a'"),
    "circle below which others lie": ({"x": "a", "a": "b", "b": "a"}, "cycle of parents: 'a' -> 'b' -> 'a'"),
    "circle of rows": ([("a", "b"), ("b", "a")], "cycle of parents: 'a' -> 'b' -> 'a'"),
    "own parent": ({"a": "a", "b": None}, "makes 'a' its own parent"),
    "own parent in rows": ([("a", "a"), ("b", "a")], r"rows \(child, parent\), makes 'a' its own parent"),
    "two parents in rows": ([("a", "p"), ("a", "q")], r"rows .*gives 'a' two parents, 'p' and 'q'"),
    "parent and the root": ([("a", "p"), ("a", None)], "two parents, 'p' and the root"),
    "two parents in a nested dict": ({"p": ["a"], "q": ["a"]}, "'a' two parents, .* use paths"),
    "own ancestor": ({"a": {"b": {"a": None}}}, "'a' below itself: 'a' -> 'b' -> 'a'"),
    "own ancestor, farther up": ({"a": {"b": {"c": {"a": None}}}}, "'a' -> 'c' -> 'b' -> 'a'"),
    "dict in itself": (dict_in_itself(), "'b' below itself: 'b' -> 'a' -> 'b'"),
    "list in itself": (list_in_itself(), "'a' its own parent"),
    "empty dict": ({}, "has no nodes"),
    "empty list": ([], "has no nodes"),
    "single leaf": ({"a": None}, "only one leaf, 'a'"),
    "single leaf at the end of a chain": ({"a": "b", "b": "c"}, "only one leaf, 'a'"),
    "single path": (["a/b/c"], "only one leaf, 'a/b/c'"),
    "number below a name": ({"a": {"b": 3}, "c": []}, r"below 'b', but has 3 \(int\)"),
    "string below a name": ({"a": ["x", "y"], "b": "z"}, r"below 'b', but has 'z' \(str\). Write a single leaf"),
    "missing child": ([(None, "a"), ("b", "a")], "None occurs as a child of 'a'"),
    "not a number as a child": ([(NAN, "a"), ("b", "a")], "nan occurs as a child of 'a'"),
    "missing leaf": ({"a": [None, "b"]}, "None occurs below 'a'"),
    "empty name": ({"a": "", "b": ""}, "'' occurs as the parent of 'a'"),
    "empty tuple as a name": ({(): None, "b": None}, r"\(\) occurs as a child"),
    "empty path": (["a", ""], "at least one name, but has ''"),
    "empty tuple as a path": ([("a",), ()], r"at least one name, but has \(\)"),
    "missing path": (["a", None], "at least one name, but has None"),
    "missing name in a path": ([("a", None, "b"), ("c",)], r"None occurs in the path \('a', None, 'b'\)"),
    "needless separator": (["a//b", "c"], "without empty names, but has 'a//b'"),
    "separator in front": (["/a/b", "c"], "but has '/a/b'"),
    "separator at the end": (["a/b/", "c"], "but has 'a/b/'"),
    "both sorts of paths": (["a/b", ("a", "c")], r"has 'a/b' and \('a', 'c'\)"),
    "unknown name": ("path", "but is 'path'"),
    "paths without labels": ("paths", "Pass `y`"),
}
OF_THE_WRONG_TYPE = {
    "number": (3, r"but is 3 \(int\)"),
    "none": (None, r"but is None \(NoneType\)"),
    "list of numbers": ([1, 2, 3], r"has 1 \(int\)"),
    "list in a row": ([(["a"], "b"), ("c", "b")], r"\['a'\] \(list\) occurs as a child of 'b'"),
    "list in a path": ([("a", ["b"], "c")], r"\['b'\] \(list\) occurs in the path"),
    "list in a list": ({"a": [["b"], "c"]}, r"\['b'\] \(list\) occurs below 'a'"),
}


@pytest.mark.parametrize("hierarchy, fragment", BAD.values(), ids=BAD)
def test_what_is_no_tree_is_refused(hierarchy, fragment):
    with pytest.raises(ValueError, match=fragment):
        read_tree(hierarchy)


@pytest.mark.parametrize("hierarchy, fragment", OF_THE_WRONG_TYPE.values(), ids=OF_THE_WRONG_TYPE)
def test_what_has_the_wrong_type_is_refused(hierarchy, fragment):
    with pytest.raises(TypeError, match=fragment):
        read_tree(hierarchy)


BAD_GRAPHS = {
    "two parents": (
        [("a", "c"), ("b", "c"), ("b", "d")],
        "'c' has edges from 'a' and 'b', and 'b' has edges to 'c' and 'd'",
    ),
    "no direction": ([("a", "b"), ("c", "d")], "'a' may be the parent of 'b' or its child"),
    "circle": ([("a", "b"), ("b", "a")], "cycle of parents: 'a' -> 'b' -> 'a'"),
    "own parent": ([("a", "b"), ("b", "b"), ("a", "c")], "'b' its own parent"),
    "chain": ([("a", "b"), ("b", "c")], "only one leaf, 'c'"),
    "no nodes": ([], "has no nodes"),
    "empty name": ([("a", ""), ("a", "b")], "'' occurs in the graph"),
}


@pytest.mark.parametrize("own_edges, fragment", BAD_GRAPHS.values(), ids=BAD_GRAPHS)
def test_what_is_no_tree_of_edges_is_refused(own_edges, fragment):
    with pytest.raises(ValueError, match=fragment):
        read_tree(pytest.importorskip("networkx").DiGraph(own_edges))


def test_undirected_graph_is_refused():
    with pytest.raises(ValueError, match="but is undirected. Pass a `DiGraph`"):
        read_tree(pytest.importorskip("networkx").Graph([("a", "b"), ("a", "c")]))


@pytest.mark.parametrize(
    "labels, error, fragment",
    [
        ([1, 2], TypeError, r"`y` must have paths .*has 1 \(int\)"),
        (np.array([1.0, NAN]), TypeError, r"`y` must have paths .*has 1.0 \(float\)"),
        (["a", None], ValueError, "`y` must have paths .* has None"),
        (["a/b", ("a", "c")], ValueError, "`y` must have all paths as strings or all as tuples"),
        (["a/b", {}], TypeError, r"{} \(dict\) occurs at point 1"),
        (np.array([["a", "b"], ["a", "c"]]), ValueError, r"shape \(2, 2\)"),
        ("a/b", TypeError, "list or an array of labels"),
        ([], ValueError, "`y`, read as paths, has no nodes"),
    ],
)
def test_labels_that_are_no_paths_are_refused(labels, error, fragment):
    with pytest.raises(error, match=fragment):
        read_tree("paths", labels)


BY_HAND = {
    "circle": (("u", "v", "w", "z"), (1, 0, -1, -1), "the parent of 'u' at 0 is 1"),
    "own parent": (("u", "v"), (-1, 1), "the parent of 'v' at 1 is 1"),
    "child before its parent": (("u", "v", "w"), (1, -1, 1), "the parent of 'u' at 0 is 1"),
    "no such place": (("u", "v", "w"), (-1, 7, -1), "the parent of 'v' at 1 is 7"),
    "below the root's place": (("u", "v"), (-1, -2), "the parent of 'v' at 1 is -2"),
    "half a place": (("u", "v"), (-1, 0.5), "the parent of 'v' at 1 is 0.5"),
    "a parent too few": (("u", "v", "w"), (-1, -1), "3 labels and 2 parents"),
    "the same label twice": (("u", "v", "u"), (-1, -1, 0), "'u' occurs twice"),
    "single leaf": (("u", "v"), (-1, 0), "has 1"),
    "nothing": ((), (), "has 0"),
}


@pytest.mark.parametrize(("labels", "parents", "message"), BY_HAND.values(), ids=BY_HAND)
def test_tree_made_by_hand_is_refused(labels, parents, message):
    with pytest.raises(ValueError, match=message):
        Tree(labels, parents)
