"""Every form of a hierarchy gives the same tree, and labels are its nodes."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logikern.structure.hierarchy import encode, read_tree
from logikern.structure.tree import ROOT, Tree

NAN = float("nan")
# Leaves at depths 1, 2 and 3; a chain of single children from optics to lasers.
PARENTS = {
    "physics": None,
    "optics": "physics",
    "light": "optics",
    "lasers": "light",
    "acoustics": "physics",
    "maths": None,
    "algebra": "maths",
    "logic": "maths",
    "music": None,
}
PATHS = [
    "physics/optics/light/lasers",
    "physics/acoustics",
    "maths/algebra",
    "maths/logic",
    "music",
]
NESTED = {"physics": {"optics": {"light": ["lasers"]}, "acoustics": None}, "maths": {"algebra", "logic"}, "music": {}}
LABELS = ("maths", "algebra", "logic", "music", "physics", "acoustics", "optics", "light", "lasers")


def digraph(edges, nodes=()):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def edges(parents):
    return [(parent, child) for child, parent in parents.items() if parent is not None]


def structure(tree):
    """Names and parents without the way above them."""
    return [(name(label), tree.parents[node]) for node, label in enumerate(tree.labels)]


def name(label):
    return label[-1] if isinstance(label, tuple) else str(label).rpartition("/")[2]


def parents_of(tree):
    """Child to parent, both by label."""
    return {
        label: None if parent == ROOT else tree.labels[parent]
        for label, parent in zip(tree.labels, tree.parents, strict=True)
    }


BY_NAME = {
    "child to parent": lambda: PARENTS,
    "child to parent, numpy": lambda: {
        np.str_(child): parent and np.str_(parent) for child, parent in PARENTS.items()
    },
    "child to parent, tops not named": lambda: {
        child: parent for child, parent in PARENTS.items() if parent or child == "music"
    },
    "child to parent, backwards": lambda: dict(reversed(PARENTS.items())),
    "nested": lambda: NESTED,
    "nested, lists of dicts": lambda: {
        "physics": [{"optics": [{"light": ["lasers"]}]}, "acoustics"],
        "maths": ["logic", "algebra"],
        "music": [],
    },
    "nested, tuples": lambda: {
        "physics": {"optics": {"light": ("lasers",)}, "acoustics": ()},
        "maths": ("algebra", "logic"),
        "music": None,
    },
    "pairs": lambda: list(PARENTS.items()),
    "pairs, twice": lambda: [*PARENTS.items(), *PARENTS.items()],
    "pairs, generated": lambda: (pair for pair in PARENTS.items()),
    "rows of an array": lambda: np.array(list(PARENTS.items()), dtype=object),
    "rows, missing parent": lambda: [[child, NAN if parent is None else parent] for child, parent in PARENTS.items()],
    "graph": lambda: digraph(edges(PARENTS), PARENTS),
    "graph, child to parent": lambda: digraph([(child, parent) for parent, child in edges(PARENTS)], PARENTS),
}
BY_PATH = {
    "paths": lambda: PATHS,
    "paths, backwards": lambda: PATHS[::-1],
    "paths, inner nodes too": lambda: ["physics", "physics/optics", *PATHS],
    "paths, a set": lambda: set(PATHS),
    "paths, an array": lambda: np.array(PATHS),
    "tuples": lambda: [tuple(path.split("/")) for path in PATHS],
    "tuples, a generator": lambda: (tuple(path.split("/")) for path in PATHS),
    "tuples, lists": lambda: [path.split("/") for path in PATHS],
}


@pytest.mark.parametrize("form", BY_NAME.values(), ids=BY_NAME)
def test_every_form_gives_the_same_tree(form):
    tree = read_tree(form())
    assert (tree.labels, parents_of(tree)) == (LABELS, PARENTS)


@pytest.mark.parametrize("form", BY_PATH.values(), ids=BY_PATH)
def test_paths_give_the_same_structure(form):
    assert structure(read_tree(form())) == structure(read_tree(PARENTS))


@pytest.mark.parametrize("as_labels", [np.array, list, tuple], ids=["array", "list", "tuple"])
def test_tree_is_read_off_the_labels(as_labels):
    assert structure(read_tree("paths", as_labels(PATHS + PATHS[:2]))) == structure(read_tree(PARENTS))


def test_data_frame_is_read_by_its_rows():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"child": PARENTS.keys(), "parent": PARENTS.values()})
    assert read_tree(frame).labels == LABELS


def test_graph_of_several_edges_between_two_nodes_is_a_tree():
    networkx = pytest.importorskip("networkx")
    assert read_tree(networkx.MultiDiGraph([("top", "a"), ("top", "a"), ("top", "b")])).labels == ("top", "a", "b")


def test_tree_is_kept():
    tree = read_tree(PARENTS)
    assert read_tree(tree) is tree


def test_nodes_of_paths_are_known_by_their_path():
    assert read_tree(PATHS).labels[:2] == ("maths", "maths/algebra")
    assert read_tree([tuple(path.split("/")) for path in PATHS]).labels[:2] == (("maths",), ("maths", "algebra"))


def test_name_may_occur_below_two_parents_of_paths():
    tree = read_tree(["physics/theory", "music/theory", "music/theory/harmony"])
    assert tree.classes.tolist() == ["music/theory/harmony", "physics/theory"]


def test_labels_that_others_begin_with_are_inner_nodes():
    tree = read_tree("paths", ["a/x", "a", "b", "a/y", "a"])
    assert tree.classes.tolist() == ["a/x", "a/y", "b"]
    assert encode(tree, ["a", "b"]).tolist() == [tree.place["a"], tree.place["b"]]


def test_pairs_are_paths_where_points_have_them_as_labels():
    pairs = [("physics", "optics"), ("maths", "logic")]
    assert read_tree(pairs).classes.tolist() == ["maths", "physics"]
    assert read_tree(pairs, labels=pairs).classes.tolist() == sorted(pairs)


def test_pairs_are_rows_where_labels_are_names():
    assert read_tree([("optics", "physics"), ("logic", "maths")], labels=["logic"]).n_classes == 2


def test_named_root_is_an_only_top():
    tree = read_tree({"a": "root", "b": "root"})
    assert (tree.labels, tree.n_latent) == (("root", "a", "b"), 2)


def test_nodes_may_be_tuples_in_a_dict_from_child_to_parent():
    tree = read_tree({("a", 1): ("a",), ("a", 2): ("a",), ("a",): None})
    assert tree.labels == (("a",), ("a", 1), ("a", 2))


def test_labels_that_cannot_be_compared_have_an_order():
    tree, again = (read_tree({"top": leaves}) for leaves in ({"a", 2, (1,)}, [(1,), 2, "a"]))
    assert tree.labels == again.labels == ("top", 2, "a", (1,))
    assert tree.classes.tolist() == [2, "a", (1,)]


def test_numbers_of_numpy_become_plain():
    tree = read_tree({np.int64(1): np.int64(0), np.int64(2): np.int64(0)})
    assert {type(label) for label in tree.labels} == {int}


# --- random trees ---


@st.composite
def random_parents(draw):
    """Child to parent over numbers; shuffled, so that parents need not come first."""
    n_nodes = draw(st.integers(2, 30))
    parents = {0: None, 1: None}
    for node in range(2, n_nodes):
        parents[node] = draw(st.one_of(st.none(), st.integers(0, node - 1)))
    return {node: parents[node] for node in draw(st.permutations(list(parents)))}


def path_of(tree, node):
    return tuple(str(tree.labels[step]) for step in tree.path(node))


@given(random_parents())
@settings(max_examples=100, deadline=None)
def test_parents_come_back(parents):
    assert parents_of(read_tree(parents)) == parents


@given(random_parents())
@settings(max_examples=100, deadline=None)
def test_parents_stand_before_their_children(parents):
    tree = read_tree(parents)
    assert all(parent < node for node, parent in enumerate(tree.parents))


@given(random_parents())
@settings(max_examples=100, deadline=None)
def test_order_does_not_matter(parents):
    assert read_tree(parents).labels == read_tree(dict(sorted(parents.items()))).labels


@given(random_parents(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_paths_of_the_leaves_give_the_structure_back(parents, joined):
    tree = read_tree({str(child): None if parent is None else str(parent) for child, parent in parents.items()})
    paths = ["/".join(path_of(tree, node)) if joined else path_of(tree, node) for node in tree.leaves]
    assert structure(read_tree("paths", paths)) == structure(tree)


# --- size ---

DEPTH = 10_000
CHAIN = {number + 1: number for number in range(DEPTH)} | {"b": 0}


def nested_chain():
    inner = {"end": None}
    for number in range(DEPTH, 0, -1):
        inner = {number: inner}
    return {0: {**inner, "b": None}}


@pytest.mark.parametrize(
    "form", [lambda: CHAIN, nested_chain, lambda: digraph(edges(CHAIN))], ids=["child to parent", "nested", "graph"]
)
def test_deep_tree_is_read(form):
    tree = read_tree(form())
    assert tree.n_classes == 2 and tree.depths.max() >= DEPTH


def test_deep_paths_are_read():
    tree = read_tree("paths", ["/".join("a" * 2000), "b"])
    assert tree.depths.max() == 2000


def test_deep_circle_is_described_in_short():
    with pytest.raises(ValueError, match=r"cycle of parents: 1 -> 0 -> 10000 .* \(9995 more\) -> 1\. Remove"):
        read_tree(CHAIN | {0: DEPTH})


def test_large_tree_is_read_in_less_than_a_second():
    parents = {node: None if node < 10 else node // 10 for node in range(1, 10_000)}
    start = time.perf_counter()
    assert len(read_tree(parents).labels) == 9_999
    assert time.perf_counter() - start < 1.0


# --- labels as nodes ---


@pytest.mark.parametrize(
    "labels",
    [["lasers", "physics", "lasers"], np.array(["lasers", "physics", "lasers"]), ("lasers", "physics", "lasers")],
    ids=["list", "array", "tuple"],
)
def test_labels_become_places_of_nodes(labels):
    assert [LABELS[node] for node in encode(read_tree(PARENTS), labels)] == list(labels)


def test_tuples_become_places_of_nodes():
    tree = read_tree([("a", "x", 1), ("a", "y", 2), ("b",)])
    labels = [("b",), ("a", "y", 2), ("a", np.str_("x"), np.int64(1)), ("a",)]
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    lists = [list(label) for label in labels]
    assert [tree.labels[node] for node in encode(tree, labels)] == labels
    assert encode(tree, objects).tolist() == encode(tree, lists).tolist() == encode(tree, labels).tolist()


def test_numbers_become_places_of_nodes():
    tree = read_tree({1: 0, 2: 0, 3: None})
    assert encode(tree, np.array([3, 1], dtype=np.int32)).tolist() == [tree.place[3], tree.place[1]]


def test_places_are_an_integer_array():
    assert encode(read_tree(PARENTS), []).dtype == np.intp


TREES = {"names": read_tree(PARENTS), "paths": read_tree(PATHS), "numbers": Tree(("1", "2", "3"), (ROOT,) * 3)}


@pytest.mark.parametrize(
    "tree, labels, fragment",
    [
        ("names", ["music", "lazers"], r"'lazers' at point 1 is not one of them\. Did you mean 'lasers'"),
        ("names", ["lazers", "lazers", "x"], "'lazers' at point 0 is not one of them, nor is one other label"),
        (
            "names",
            ["u", "v", "w", "v"],
            "'u' at point 0 is not one of them, nor are 2 other labels. Its leaves are 'acoustics'",
        ),
        ("names", ["physics/optics"], "Did you mean 'optics'"),
        ("paths", ["lasers"], "Did you mean 'physics/optics/light/lasers'"),
        (
            "paths",
            [("maths", "logic")],
            r"\('maths', 'logic'\) at point 0 is not one of them. Did you mean 'maths/logic'",
        ),
        ("numbers", [1, 2], r"1 at point 0 is not one of them, nor is one other label. Did you mean '1'"),
        ("names", ["music", None], "label for every point, but has None at point 1"),
        ("names", [NAN], "label for every point, but has nan at point 0"),
    ],
)
def test_unknown_label_is_refused(tree, labels, fragment):
    with pytest.raises(ValueError, match=fragment):
        encode(TREES[tree], labels)


def test_label_that_is_not_hashable_is_refused():
    with pytest.raises(TypeError, match=r"{'a'} \(set\) occurs at point 1"):
        encode(TREES["names"], ["music", {"a"}])


def test_labels_in_a_table_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"one label per point, but has the shape \(1, 2\)"):
        encode(TREES["names"], pandas.DataFrame({"music": ["maths"], "maths": ["music"]}))
