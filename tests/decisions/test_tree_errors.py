"""Counts of nodes and of confused siblings against sets of ancestors."""

import numpy as np
import pytest
from hypothesis import given

from logikern import confused_siblings, node_scores
from tests.decisions.trees import ANIMALS, lineage, problems, steady


@given(problem=problems())
@steady
def test_node_counts_are_those_of_ancestors(problem):
    found = node_scores(problem.y, problem.decisions, problem.tree, problem.weights)
    true = [lineage(problem.tree, node) for node in problem.true]
    decided = [lineage(problem.tree, node) for node in problem.decided]
    for node in range(len(problem.tree.labels)):
        is_true, is_decided = (np.array([node in line for line in lines]) for lines in (true, decided))
        assert found.true[node] == problem.weights[is_true].sum()
        # Below a truth that is an inner node nobody knows.
        is_open = np.array(
            [own in line and node not in lines for own, line, lines in zip(problem.true, decided, true, strict=True)]
        )
        assert found.decided[node] == problem.weights[is_decided & ~is_open].sum()
        assert found.both[node] == problem.weights[is_true & is_decided].sum()


def test_recall_and_precision_of_a_hand_example():
    found = node_scores(["duck", "robin", "salmon"], ["duck", "duck", "bird"], ANIMALS)
    place = ANIMALS.place
    assert found.recall[place["bird"]] == 1.0
    assert found.recall[place["robin"]] == 0.0
    assert found.precision[place["duck"]] == 0.5
    assert found.precision[place["bird"]] == pytest.approx(2 / 3)


def test_decision_below_the_truth_is_left_open():
    found = node_scores(["bird", "duck"], ["duck", "duck"], ANIMALS)
    assert found.precision[ANIMALS.place["duck"]] == 1.0
    assert found.precision[ANIMALS.place["bird"]] == 1.0


def test_node_without_cases_has_no_recall():
    found = node_scores(["duck"], ["fox"], ANIMALS)
    assert np.isnan(found.recall[ANIMALS.place["fox"]])
    assert np.isnan(found.precision[ANIMALS.place["duck"]])


@given(problem=problems(n_cases=30))
@steady
def test_confusions_are_those_of_the_path_sets(problem):
    tree, labels = problem.tree, problem.tree.labels
    expected = {}
    for true, decided, weight in zip(problem.true, problem.decided, problem.weights, strict=True):
        ours, theirs = lineage(tree, true) - lineage(tree, decided), lineage(tree, decided) - lineage(tree, true)
        if ours and theirs and weight:
            left, right = (min(line, key=lambda node: tree.depths[node]) for line in (ours, theirs))
            expected[labels[left], labels[right]] = expected.get((labels[left], labels[right]), 0) + weight
    found = {}
    for pair in confused_siblings(problem.y, problem.decisions, tree, problem.weights, n_pairs=1000):
        found |= {(pair.first, pair.second): pair.first_as_second, (pair.second, pair.first): pair.second_as_first}
    assert {pair: count for pair, count in found.items() if count} == expected


def test_confusion_names_the_pair_its_parent_and_both_directions():
    y = ["duck", "duck", "robin", "robin", "fox"]
    (pair,) = confused_siblings(y, ["robin", "duck", "duck", "robin", "fox"], ANIMALS)
    assert (pair.parent, pair.first, pair.second) == ("bird", "duck", "robin")
    assert (pair.first_as_second, pair.second_as_first, pair.count) == (1, 1, 2)
    assert (pair.n_cases, pair.rate) == (4, 0.5)


def test_wrong_branch_counts_at_the_top():
    (pair,) = confused_siblings(["duck"], ["trout, brown"], ANIMALS)
    assert (pair.parent, pair.first, pair.second) == (None, "bird", "fish")


def test_stopping_early_confuses_nobody():
    assert confused_siblings(["duck", "bird"], ["bird", "duck"], ANIMALS) == []


def test_most_frequent_pairs_come_first_and_alone():
    y = ["duck", "salmon", "salmon", "fox"]
    decisions = ["robin", "trout", "trout", "fox"]
    pairs = confused_siblings(y, decisions, ANIMALS)
    assert [pair.second for pair in pairs] == ["salmon", "robin"]
    assert confused_siblings(y, decisions, ANIMALS, n_pairs=1) == pairs[:1]


def test_weights_count_cases():
    (pair,) = confused_siblings(["duck", "duck"], ["robin", "duck"], ANIMALS, [3, 1])
    assert (pair.count, pair.n_cases, pair.rate) == (3, 4, 0.75)


def test_unknown_label_is_named():
    with pytest.raises(ValueError, match="`decisions` must hold labels of .* but row 0 is 'goose'"):
        confused_siblings(["duck"], ["goose"], ANIMALS)
