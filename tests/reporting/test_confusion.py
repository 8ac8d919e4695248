"""Confusion matrices, against scikit-learn's and against counting."""

import numpy as np
import pytest
from sklearn import metrics

from logikern import Tree
from logikern.reporting.confusion import ConfusionPolicy, confuse, confuse_on_tree

PATHS = ("a", "b", "a/x", "a/y", "b/z", "b/w", "c")
TREE = Tree(PATHS, (-1, -1, 0, 0, 1, 1, -1))


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    true = rng.choice(40, 500, p=np.arange(1, 41) / 820)
    return true, np.where(rng.random(500) < 0.3, rng.choice(40, 500), true)


def test_small_matrix_is_that_of_scikit_learn(pairs):
    true, predicted = pairs[0] % 5, pairs[1] % 5
    matrix = confuse(true, predicted, list("abcde"))
    np.testing.assert_array_equal(matrix.counts, metrics.confusion_matrix(true, predicted))
    assert matrix.names == tuple("abcde") and matrix.n_hidden == 0


def test_large_matrix_shows_the_most_frequent_classes(pairs):
    matrix = confuse(*pairs, [f"class {number}" for number in range(40)])
    totals = np.bincount(pairs[0], minlength=40)
    shown = [int(name.removeprefix("class ")) for name in matrix.names]
    assert len(shown) == 30 and matrix.n_hidden == 10
    assert totals[shown].min() >= np.delete(totals, shown).max()
    whole = metrics.confusion_matrix(*pairs, labels=range(40))
    np.testing.assert_array_equal(matrix.counts, whole[np.ix_(shown, shown)])
    np.testing.assert_array_equal(matrix.totals, totals[shown])


def test_largest_confusions_are_of_all_classes(pairs):
    whole = metrics.confusion_matrix(*pairs, labels=range(40))
    np.fill_diagonal(whole, 0)
    matrix = confuse(*pairs, [str(number) for number in range(40)], policy=ConfusionPolicy(classes=3))
    expected = np.sort(whole.ravel())[::-1][:15]
    assert [own.count for own in matrix.confused] == expected.tolist()
    for own in matrix.confused:
        assert own.count == whole[int(own.true), int(own.predicted)]


def test_matrix_of_a_depth_counts_ancestors():
    rng = np.random.default_rng(1)
    labels = rng.choice(PATHS, 80)
    probabilities = rng.dirichlet(np.ones(TREE.n_classes), 80)
    true = np.array([TREE.place[label] for label in labels])
    errors = confuse_on_tree(labels, true, probabilities, TREE)
    decided = TREE.classes[probabilities.argmax(axis=1)]
    (matrix,) = errors.matrices
    expected = metrics.confusion_matrix([label[0] for label in labels], [str(label)[0] for label in decided])
    np.testing.assert_array_equal(matrix.counts, expected)
    assert matrix.names == ("a", "b", "c")


def test_inner_nodes_are_not_judged_below_themselves():
    tree = Tree(("a", "b", "a/x", "a/y", "a/x/1", "a/x/2"), (-1, -1, 0, 0, 2, 2))
    true = np.array([0, 2, 4])  # a, a/x, a/x/1
    errors = confuse_on_tree(np.array(["a", "a/x", "a/x/1"]), true, np.full((3, tree.n_classes), 0.25), tree)
    assert [int(matrix.counts.sum()) for matrix in errors.matrices] == [3, 2]


@pytest.mark.parametrize(
    "names",
    [
        [f"the same long beginning {number}" for number in range(3)],
        [f"the beginning {number} and a long end" for number in range(3)],
        [("region", "the same long beginning", str(number)) for number in range(3)],
    ],
)
def test_long_names_stay_apart(names):
    matrix = confuse(np.array([0, 1, 2]), np.array([1, 2, 0]), names)
    assert len(set(matrix.names)) == 3
    assert {own.true for own in matrix.confused} == {own.predicted for own in matrix.confused} == set(matrix.names)


def test_long_names_keep_their_ends():
    names = ["region A/very long district name 4", "b"]
    assert confuse(np.array([0, 1]), np.array([0, 1]), names).names == ("region A/ve…trict name 4", "b")
