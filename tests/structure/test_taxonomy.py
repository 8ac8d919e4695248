"""Labels, paths and distances on a tree against sets of ancestors."""

import doctest

import numpy as np
import pytest
from hypothesis import given

from logikern.structure import taxonomy
from logikern.structure.taxonomy import (
    ancestors_at,
    common_depths,
    distances,
    diverging_nodes,
    expected_distances,
    labels_of,
    leaves_of,
    nodes_of,
    paths_of,
    subtree_sums,
)
from logikern.structure.tree import Tree
from tests.decisions.trees import ANIMALS, all_distances, flat, lineage, membership, problems, steady, trees


def all_pairs(tree):
    """Every pair of nodes, the root among them."""
    nodes = np.arange(-1, len(tree.labels))
    return (pairs.ravel() for pairs in np.meshgrid(nodes, nodes, indexing="ij"))


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("duck", "duck", 0),
        ("duck", "robin", 1),
        ("duck", "salmon", 2),
        ("duck", "bird", 0.5),
        ("duck", "fox", 1.5),
        ("bird", "fish", 1),
        ("trout, brown", "trout", 0.5),
        ("trout, brown", "salmon", 1.5),
        ("trout, brown", "fox", 2),
    ],
)
def test_distance_is_half_the_path(first, second, distance):
    nodes = nodes_of([first], ANIMALS), nodes_of([second], ANIMALS)
    assert distances(*nodes, ANIMALS) == distances(*reversed(nodes), ANIMALS) == distance


@given(tree=trees())
@steady
def test_distances_are_those_of_the_path_sets(tree):
    nodes = np.arange(len(tree.labels))
    found = [distances(np.full_like(nodes, node), nodes, tree) for node in nodes]
    np.testing.assert_array_equal(found, all_distances(tree))


@given(tree=trees())
@steady
def test_common_depth_counts_common_ancestors(tree):
    first, second = all_pairs(tree)
    expected = [len(lineage(tree, a) & lineage(tree, b)) for a, b in zip(first, second, strict=True)]
    np.testing.assert_array_equal(common_depths(first, second, tree), expected)


@given(tree=trees())
@steady
def test_paths_part_at_siblings_or_not_at_all(tree):
    first, second = all_pairs(tree)
    for a, b, left, right in zip(first, second, *diverging_nodes(first, second, tree), strict=True):
        if left == right:
            assert lineage(tree, left) == lineage(tree, a) & lineage(tree, b)
        else:
            assert left in lineage(tree, a) - lineage(tree, b)
            assert right in lineage(tree, b) - lineage(tree, a)
            assert tree.parents[left] == tree.parents[right]


def test_arguments_are_left_alone():
    first, second = np.array([6]), np.array([3])
    diverging_nodes(first, second, ANIMALS)
    ancestors_at(first, 1, ANIMALS)
    assert first.tolist() == [6] and second.tolist() == [3]


@given(tree=trees())
@steady
def test_climbing_ends_at_the_depth_or_stays(tree):
    nodes = np.arange(len(tree.labels))
    for depth in range(1, tree.depths.max() + 1):
        for node, upper in zip(nodes, ancestors_at(nodes, depth, tree), strict=True):
            assert upper in lineage(tree, node)
            assert tree.depths[upper] == min(depth, tree.depths[node])


def test_climbing_to_depth_zero_ends_at_the_root():
    assert ancestors_at(np.array([6, 2]), 0, ANIMALS).tolist() == [-1, -1]


@given(problem=problems())
@steady
def test_expected_distances_are_the_dense_product(problem):
    dense = all_distances(problem.tree)[:, problem.tree.leaves]
    found = expected_distances(problem.probabilities.T, problem.tree)
    np.testing.assert_allclose(found, dense @ problem.probabilities.T, atol=1e-13)


def test_expected_distances_need_no_sum_of_one():
    # What is left of probabilities in single precision.
    masses = np.array([[0.2], [0.3], [0.1], [0.1], [0.4]])
    dense = all_distances(ANIMALS)[:, ANIMALS.leaves]
    np.testing.assert_allclose(expected_distances(masses, ANIMALS), dense @ masses, atol=1e-14)


@given(problem=problems())
@steady
def test_sums_upward_are_those_over_descendants(problem):
    tree = problem.tree
    values = np.arange(1.0, len(tree.labels) + 1)
    below = [[node in lineage(tree, other) for other in range(len(values))] for node in range(len(values))]
    np.testing.assert_array_equal(subtree_sums(values, tree), np.array(below) @ values)


def test_sums_of_leaves_agree_with_the_tree():
    per_class = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(ANIMALS.node_sums(per_class[:, None])[:, 0], membership(ANIMALS) @ per_class)


def test_paths_name_every_node_from_the_top():
    paths = paths_of(nodes_of(["trout, brown", "fox", "bird"], ANIMALS), ANIMALS)
    assert paths == [("fish", "trout", "trout, brown"), ("fox",), ("bird",)]


def test_path_of_the_root_is_empty():
    assert paths_of([-1, 2], ANIMALS) == [(), ("fox",)]


@pytest.mark.parametrize("labels", [(3, 1, 2), ("c", "a", "b"), (("a", 1), ("a", 2), ("b", 1)), ("a", 1, ("b", 2))])
def test_labels_return_from_their_places(labels):
    tree = Tree(labels, (-1, -1, 0))
    nodes = np.array([2, 0, 1, 1])
    found = labels_of(nodes, tree)
    assert found.shape == (4,)
    assert found.tolist() == [labels[node] for node in nodes]
    np.testing.assert_array_equal(nodes_of(found, tree), nodes)


def test_labels_of_one_kind_keep_it():
    tree = Tree(("odd", 1, 2), (-1, 0, -1))
    assert labels_of(np.array([1, 2]), tree).dtype.kind == "i"
    assert labels_of(np.array([0, 2]), tree).dtype == object


def test_numbers_among_texts_are_not_made_texts():
    tree = Tree(("odd", 1, 2), (-1, 0, -1))
    assert nodes_of(["odd", 2, 1], tree).tolist() == [0, 2, 1]


def test_tuples_of_several_lengths_are_labels():
    tree = Tree((("a",), ("a", "b"), ("c",)), (-1, 0, -1))
    assert nodes_of([("a", "b"), ("c",)], tree).tolist() == [1, 2]
    assert nodes_of(np.array([["a", "b"], ["a", "b"]]), tree).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        (["duck", "goose"], "`y` must hold labels of the 8 nodes of the tree, but row 1 is 'goose'"),
        ("duck", r"one label per case, but has shape \(\)"),
        (np.zeros((2, 2, 2)), r"one label per case, but has shape \(2, 2, 2\)"),
        ([None], "but row 0 is None"),
    ],
)
def test_labels_off_the_tree_are_named(labels, complaint):
    with pytest.raises(ValueError, match=complaint):
        nodes_of(labels, ANIMALS)


def test_inner_node_is_no_leaf():
    with pytest.raises(ValueError, match="`y` must hold labels of leaves, but row 1 is 'bird', which has 2 children"):
        leaves_of(["duck", "bird"], ANIMALS)


def test_error_names_the_argument():
    with pytest.raises(ValueError, match="`decisions` must hold labels"):
        nodes_of([7], flat(3), "decisions")


def test_examples_of_docstrings_hold():
    result = doctest.testmod(taxonomy)
    assert result.attempted > 0 and result.failed == 0
