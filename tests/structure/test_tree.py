"""A tree as a mixing: the algebra of the matrix of ancestors, which is never formed."""

import pickle

import numpy as np
import pytest

from logikern.structure.forest import ROOT
from logikern.structure.hierarchy import read_tree
from logikern.structure.mixing import TILE_POINTS
from logikern.structure.tree import Tree
from logikern.structure.tying import Tying, ever_finer, tie

N_POINTS = 7


def random_tree(seed):
    """Ragged, with chains: half of the nodes continue the one before."""
    generator = np.random.default_rng(seed)
    parents = {0: None, 1: None}
    for node in range(2, int(generator.integers(3, 40))):
        parents[node] = node - 1 if generator.random() < 0.5 else int(generator.integers(0, node))
    return read_tree(parents)


TREES = {
    "no inner nodes": read_tree(["a", "b", "c"]),
    "two classes": read_tree(["a", "b"]),
    "balanced": read_tree(["p/a", "p/b", "q/c", "q/d"]),
    "chain to a leaf": read_tree(["p/q/r/a", "b", "c/d"]),
    "chain to a fork": read_tree(["p/q/r/a", "p/q/r/b", "c"]),
    "single top": read_tree(["top/p/a", "top/p/b", "top/c"]),
    "chain of single tops": read_tree(["top/next/a", "top/next/b"]),
    **{f"random {seed}": random_tree(seed) for seed in range(8)},
}
every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)


def ancestors(tree, node):
    """The node itself and all above it."""
    above = tree.parents[node]
    return {node} if above == ROOT else {node} | ancestors(tree, above)


def has_siblings(tree, node):
    return tree.parents.count(tree.parents[node]) > 1


def node_matrix(tree):
    """(C, N): one where the node is the leaf or lies above it."""
    leaves = [tree.place[label] for label in tree.classes.tolist()]
    return np.array([[node in ancestors(tree, leaf) for node in range(len(tree.labels))] for leaf in leaves], float)


def mixing_matrix(tree):
    """(C, P): the columns of nodes with siblings; the others tell no classes apart from those of their parents."""
    kept = [node for node in range(len(tree.labels)) if has_siblings(tree, node)]
    return node_matrix(tree)[:, kept]


def state(rows, seed=0, batch=(3,), n_points=N_POINTS):
    return np.random.default_rng(seed).standard_normal((*batch, rows, n_points))


def variances_of(tree):
    return np.random.default_rng(9).random(tree.n_latent) + 0.5


# --- the map ---


@every_tree
def test_sizes_are_those_of_the_matrix(tree):
    assert (tree.n_classes, tree.n_latent) == mixing_matrix(tree).shape


@every_tree
def test_branches_are_the_nodes_with_siblings(tree):
    assert tree.branches.tolist() == [node for node in range(len(tree.labels)) if has_siblings(tree, node)]


@every_tree
def test_forward_is_the_product_with_the_matrix(tree):
    latent = state(tree.n_latent)
    np.testing.assert_allclose(tree.forward(latent), mixing_matrix(tree) @ latent, rtol=1e-12, atol=1e-12)


@every_tree
def test_adjoint_is_the_product_with_the_transposed_matrix(tree):
    per_class = state(tree.n_classes)
    np.testing.assert_allclose(tree.adjoint(per_class), mixing_matrix(tree).T @ per_class, rtol=1e-12, atol=1e-12)


@every_tree
def test_diagonal_is_that_of_the_mixed_covariance(tree):
    own, matrix = np.abs(state(tree.n_latent, batch=())), mixing_matrix(tree)
    expected = [np.diagonal(matrix @ np.diag(column) @ matrix.T) for column in own.T]
    np.testing.assert_allclose(tree.forward_diagonal(own), np.transpose(expected), rtol=1e-12)


@every_tree
def test_couple_is_the_covariance_over_classes(tree):
    per_class, matrix = state(tree.n_classes), mixing_matrix(tree)
    expected = (matrix * variances_of(tree)) @ matrix.T @ per_class
    np.testing.assert_allclose(tree.couple(per_class, variances_of(tree)), expected, rtol=1e-12, atol=1e-12)


@every_tree
def test_couple_may_take_the_place_of_its_argument(tree):
    per_class = state(tree.n_classes)
    expected = tree.couple(per_class, variances_of(tree))
    assert tree.couple(per_class, variances_of(tree), out=per_class) is per_class
    np.testing.assert_array_equal(per_class, expected)


@every_tree
def test_couple_gradient_is_that_of_the_matrix(tree):
    left, right, matrix = state(tree.n_classes), state(tree.n_classes, 1), mixing_matrix(tree)
    expected = np.sum((matrix.T @ left) * (matrix.T @ right), axis=(0, 2))
    np.testing.assert_allclose(tree.couple_gradient(left, right), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_points", [TILE_POINTS - 1, TILE_POINTS, 2 * TILE_POINTS + 1])
def test_many_points_are_coupled_piece_by_piece(n_points):
    tree = TREES["random 3"]
    left, right = (state(tree.n_classes, seed, (2,), n_points) for seed in (0, 1))
    matrix = mixing_matrix(tree)
    expected = (matrix * variances_of(tree)) @ matrix.T @ left
    np.testing.assert_allclose(tree.couple(left, variances_of(tree)), expected, rtol=1e-11, atol=1e-11)
    slope = np.sum((matrix.T @ left) * (matrix.T @ right), axis=(0, 2))
    # Sums of up to 4000 products of size 10.
    np.testing.assert_allclose(tree.couple_gradient(left, right), slope, rtol=1e-10, atol=1e-10)


@every_tree
def test_node_sums_add_up_the_leaves_below(tree):
    per_class = state(tree.n_classes)
    np.testing.assert_allclose(tree.node_sums(per_class), node_matrix(tree).T @ per_class, rtol=1e-12, atol=1e-12)


@every_tree
def test_leaf_sums_add_up_the_path(tree):
    per_node = state(len(tree.labels))
    np.testing.assert_allclose(tree.leaf_sums(per_node), node_matrix(tree) @ per_node, rtol=1e-12, atol=1e-12)


MAPS = {
    "forward": lambda tree: (tree.forward, tree.n_latent),
    "adjoint": lambda tree: (tree.adjoint, tree.n_classes),
    "forward_diagonal": lambda tree: (tree.forward_diagonal, tree.n_latent),
    "couple": lambda tree: (lambda per_class: tree.couple(per_class, variances_of(tree)), tree.n_classes),
    "node_sums": lambda tree: (tree.node_sums, tree.n_classes),
    "leaf_sums": lambda tree: (tree.leaf_sums, len(tree.labels)),
}
every_map = pytest.mark.parametrize("bind", MAPS.values(), ids=MAPS)


@every_map
@every_tree
def test_single_precision_is_kept(tree, bind):
    function, n_rows = bind(tree)
    assert function(state(n_rows).astype(np.float32)).dtype == np.float32


@every_tree
def test_single_precision_is_kept_by_the_gradient(tree):
    given = state(tree.n_classes).astype(np.float32)
    assert tree.couple_gradient(given, given).dtype == np.float32


@every_map
@pytest.mark.parametrize("batch", [(), (1,), (2, 3)], ids=str)
def test_axes_in_front_are_independent(batch, bind):
    function, n_rows = bind(TREES["random 5"])
    given = state(n_rows, batch=batch)
    together = function(given)
    for place in np.ndindex(*batch):
        np.testing.assert_allclose(together[place], function(given[place]), rtol=1e-13, atol=1e-13)


@every_map
@every_tree
def test_argument_is_left_alone(tree, bind):
    function, n_rows = bind(tree)
    given = state(n_rows)
    function(given)
    np.testing.assert_array_equal(given, state(n_rows))


# --- places ---


@every_tree
def test_depth_is_the_number_of_ancestors(tree):
    assert tree.depths.tolist() == [len(ancestors(tree, node)) for node in range(len(tree.labels))]


@every_tree
def test_path_holds_the_ancestors_from_the_top(tree):
    for node in range(len(tree.labels)):
        assert tree.path(node) == sorted(ancestors(tree, node))


@every_tree
def test_latent_depth_counts_the_ancestors_with_siblings(tree):
    counted = [sum(has_siblings(tree, above) for above in ancestors(tree, node)) for node in tree.branches]
    assert tree.latent_depths.tolist() == counted


@every_tree
def test_classes_are_sorted(tree):
    assert tree.classes.tolist() == sorted(tree.classes.tolist())


def test_tree_is_made_of_lists_and_arrays_too():
    tree = Tree(["u", "v", "w"], np.array([-1, 0, 0]))
    assert (tree.labels, tree.parents, tree.n_latent) == (("u", "v", "w"), (-1, 0, 0), 2)


def test_classes_keep_their_types():
    labels = [2, "a", 1, b"a", 2**63, "b", -1]
    tree = Tree(tuple(labels), (ROOT,) * len(labels))
    assert tree.classes.tolist() == labels


def test_classes_that_cannot_be_compared_stay_as_they_are():
    # Enough numbers for a sort to have moved some before it comes to the name.
    labels = (*range(40, 0, -2), *range(1, 40, 2), "a")
    assert Tree(labels, (ROOT,) * len(labels)).leaves.tolist() == list(range(len(labels)))


def test_tree_is_kept_without_what_can_be_computed():
    tree = TREES["random 1"]
    assert tree.n_latent > 0
    again = pickle.loads(pickle.dumps(tree))
    assert (again.labels, again.parents) == (tree.labels, tree.parents)
    assert set(tree.__getstate__()) == {"labels", "parents"}


# --- tyings ---

# Without siblings, hence without functions of their own, are p/q/r and the leaf p/q/r/b/e.
RAGGED = read_tree(["p/a", "p/q/r/s", "p/q/r/b/e", "c", "d"])
BRANCHES = ["c", "d", "p", "p/a", "p/q", "p/q/r/b", "p/q/r/s"]
LEVELS = (0, 0, 1, 0, 2, 0, 0)
EACH = tuple(range(7))
ONE = (0,) * 7


def test_branches_of_the_ragged_tree():
    assert [RAGGED.labels[node] for node in RAGGED.branches] == BRANCHES


@pytest.mark.parametrize(
    "name, expected",
    {
        "shared": Tying(ONE, ONE),
        "scaled": Tying(ONE, EACH),
        "level": Tying(ONE, LEVELS),
        "subtree": Tying(ONE, (0, 1, 2, 3, 2, 3, 3)),
        "separate": Tying(LEVELS, LEVELS),
        "leaf": Tying(ONE, EACH),  # each level has one inner node
    }.items(),
)
def test_named_tying_of_a_tree(name, expected):
    assert tie(name, RAGGED) == expected


def test_leaves_are_single_and_inner_nodes_of_a_level_are_one_group():
    tree = read_tree(["a/x", "a/y", "b/x", "b/y"])
    assert [tree.labels[node] for node in tree.branches] == ["a", "a/x", "a/y", "b", "b/x", "b/y"]
    groups = (0, 1, 2, 0, 3, 4)
    assert tie("leaf", tree) == Tying((0,) * 6, groups) and tie("leaves", tree) == Tying(groups, groups)


@every_tree
def test_each_tying_of_a_tree_is_finer_than_the_one_before(tree):
    # "leaf" and "separate" are both finer than "level", and coarser than "leaves".
    names = ever_finer(tree)
    pairs = [
        *zip(names[:3], names[1:3], strict=False),
        (names[1], names[3]),
        (names[2], names[4]),
        (names[3], names[4]),
    ]
    for coarse, fine in (tuple(tie(name, tree) for name in pair) for pair in pairs):
        for before, after in ((coarse.kernel_of, fine.kernel_of), (coarse.variance_of, fine.variance_of)):
            assert len(set(zip(before, after, strict=True))) == len(set(after))


def test_list_of_groups_goes_by_branches():
    assert tie(list("xxyxyzz"), RAGGED) == Tying((0, 0, 1, 0, 1, 2, 2), (0, 0, 1, 0, 1, 2, 2))


@pytest.mark.parametrize(
    "groups, expected",
    [
        ({"c": 1, "d": 1, "p": 2}, (0, 0, 1, 1, 1, 1, 1)),
        ({"c": 1, "d": 2, "p": 1, "p/q": 3}, (0, 1, 0, 0, 2, 2, 2)),
        ({"c": "x", "d": "x", "p": "y", "p/q/r": "z"}, (0, 0, 1, 1, 1, 2, 2)),
    ],
    ids=["tops", "inner node", "node without siblings"],
)
def test_group_holds_for_all_below(groups, expected):
    assert tie(groups, RAGGED) == Tying(expected, expected)


def test_single_top_may_have_the_group_of_all():
    assert tie({"top": "x", "top/c": "y"}, TREES["single top"]).kernel_of == (0, 1, 1, 1)


@pytest.mark.parametrize(
    "tying, fragment",
    [
        ("levels", "'level', 'scaled'"),
        (["x"], r"each node that has siblings \(7\), but has 1"),
        ({"c": 1}, "no group for the node 'd'"),
        ({"c": 1, "z": 2}, "names 'z', which is not a node"),
    ],
)
def test_what_is_no_tying_of_a_tree_is_refused(tying, fragment):
    with pytest.raises(ValueError, match=fragment):
        tie(tying, RAGGED)
