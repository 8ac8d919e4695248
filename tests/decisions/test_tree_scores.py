"""Scores on a tree against sets of ancestors, hand examples and, for classes without a tree, scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import accuracy_score, log_loss, zero_one_loss

from logikern import (
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    level_scores,
    mean_reciprocal_rank,
    node_log_loss,
    parent_accuracy,
    read_tree,
    taxonomic_loss,
)
from logikern.decisions import tree_scores
from logikern.structure.tree import Tree
from tests.decisions.catalogue import draw
from tests.decisions.trees import ANIMALS, all_distances, flat, lineage, membership, problems, steady

OF_DECISIONS = [taxonomic_loss, parent_accuracy, hierarchical_precision, hierarchical_recall, hierarchical_f1]
OF_PROBABILITIES = [mean_reciprocal_rank, node_log_loss]

# Two levels of codes, 1 to 6: 1 > 2 > {3 > 4, 5 > 6}.
CODES = Tree((1, 2, 3, 4, 5, 6), (-1, 0, 1, 2, 1, 4))


def weighted_mean(values, weights):
    return np.sum(np.asarray(values) * weights) / np.sum(weights)


@given(problem=problems())
@steady
def test_taxonomic_loss_is_the_mean_distance(problem):
    each = all_distances(problem.tree)[problem.true, problem.decided]
    found = taxonomic_loss(problem.y, problem.decisions, problem.tree, problem.weights)
    assert found == pytest.approx(weighted_mean(each, problem.weights), abs=1e-12)


@given(problem=problems(leaves_only=True))
@steady
def test_parent_accuracy_compares_parents(problem):
    true, decided = ([problem.tree.parents[node] for node in nodes] for nodes in (problem.true, problem.decided))
    same = np.equal(true, decided)
    found = parent_accuracy(problem.y, problem.decisions, problem.tree, problem.weights)
    assert found == pytest.approx(weighted_mean(same, problem.weights), abs=1e-12)


@given(problem=problems())
@steady
def test_hierarchical_scores_pool_ancestors(problem):
    true = [lineage(problem.tree, node) for node in problem.true]
    decided = [lineage(problem.tree, node) for node in problem.decided]
    both = sum(w * len(t & d) for t, d, w in zip(true, decided, problem.weights, strict=True))
    precision = both / sum(w * len(d) for d, w in zip(decided, problem.weights, strict=True))
    recall = both / sum(w * len(t) for t, w in zip(true, problem.weights, strict=True))
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    given_cases = problem.y, problem.decisions, problem.tree, problem.weights
    assert hierarchical_precision(*given_cases) == pytest.approx(precision, abs=1e-12)
    assert hierarchical_recall(*given_cases) == pytest.approx(recall, abs=1e-12)
    assert hierarchical_f1(*given_cases) == pytest.approx(f1, abs=1e-12)


@given(problem=problems())
@steady
def test_log_loss_of_a_node_sums_its_leaves(problem):
    mass = problem.probabilities @ membership(problem.tree).T
    each = -np.log(mass[np.arange(len(mass)), problem.true])
    found = node_log_loss(problem.y, problem.probabilities, problem.tree, problem.weights)
    assert found == pytest.approx(weighted_mean(each, problem.weights), abs=1e-12)


@given(problem=problems(leaves_only=True))
@steady
def test_reciprocal_rank_counts_classes_as_probable(problem):
    column = [problem.tree.leaves.tolist().index(node) for node in problem.true]
    each = [1 / sum(p >= row[c] for p in row) for row, c in zip(problem.probabilities, column, strict=True)]
    found = mean_reciprocal_rank(problem.y, problem.probabilities, problem.tree, problem.weights)
    assert found == pytest.approx(weighted_mean(each, problem.weights), abs=1e-12)


def cut_of(tree, depth):
    """What is left for leaves where everything below a depth is cut off."""
    inner = set(tree.parents)
    return [
        node
        for node in range(len(tree.labels))
        if len(lineage(tree, node)) == depth or (len(lineage(tree, node)) < depth and node not in inner)
    ]


@given(problem=problems())
@steady
def test_level_scores_are_those_of_the_cut_tree(problem):
    tree, found = problem.tree, level_scores(problem.y, problem.probabilities, problem.tree, problem.weights)
    below = membership(tree)
    assert found.depth.tolist() == list(range(1, max(len(lineage(tree, node)) for node in tree.leaves) + 1))
    for level, depth in enumerate(found.depth):
        cut = cut_of(tree, depth)
        right, losses = [], []
        for node, row in zip(problem.true, problem.probabilities, strict=True):
            (truth,) = [
                a for a in lineage(tree, node) if len(lineage(tree, a)) == min(depth, len(lineage(tree, node)))
            ]
            best = max(cut, key=lambda other, row=row: below[other] @ row)
            right.append(truth in lineage(tree, best))
            losses.append(-np.log(below[truth] @ row))
        assert found.n_nodes[level] == len(cut)
        assert found.accuracy[level] == pytest.approx(weighted_mean(right, problem.weights), abs=1e-12)
        assert found.log_loss[level] == pytest.approx(weighted_mean(losses, problem.weights), abs=1e-12)


def test_last_level_is_that_of_the_leaves():
    sample = draw(80, 5)
    y = ANIMALS.classes[sample.true]
    found = level_scores(y, sample.probabilities, ANIMALS)
    assert found.n_nodes.tolist() == [3, 5, 5]
    assert found.accuracy[-1] == pytest.approx(np.mean(sample.probabilities.argmax(axis=1) == sample.true))
    assert found.log_loss[-1] == pytest.approx(node_log_loss(y, sample.probabilities, ANIMALS))


@pytest.mark.parametrize("n_classes", [2, 5])
def test_without_a_tree_scores_are_those_of_scikit_learn(n_classes):
    sample, tree = draw(100, n_classes), flat(n_classes)
    predicted, weights = sample.probabilities.argmax(axis=1), np.arange(100)
    decisions = sample.true, predicted, tree, weights
    error = zero_one_loss(sample.true, predicted, sample_weight=weights)
    assert taxonomic_loss(*decisions) == pytest.approx(error, rel=1e-12)
    for score in (hierarchical_precision, hierarchical_recall, hierarchical_f1):
        assert score(*decisions) == pytest.approx(1 - error, rel=1e-12)
    loss = log_loss(sample.true, sample.probabilities, sample_weight=weights)
    assert node_log_loss(sample.true, sample.probabilities, tree, weights) == pytest.approx(loss, rel=1e-12)
    levels = level_scores(sample.true, sample.probabilities, tree, weights)
    accuracy = accuracy_score(sample.true, predicted, sample_weight=weights)
    assert levels.accuracy == pytest.approx([accuracy], rel=1e-12)
    assert levels.log_loss == pytest.approx([loss], rel=1e-12)


def test_without_a_tree_all_classes_have_the_root_for_parent():
    assert parent_accuracy([0, 1], [1, 2], flat(3)) == 1.0


def test_hierarchical_scores_of_hand_examples():
    # Half of each path is common.
    assert hierarchical_precision([4, 6], [6, 4], CODES) == 0.5
    assert hierarchical_f1([4, 6], [6, 4], CODES) == 0.5
    # A decision that goes on below the truth loses precision, one that stops above it recall.
    assert hierarchical_recall([2, 2], [6, 4], CODES) == 1.0
    assert hierarchical_recall([6, 4], [2, 2], CODES) == 0.5
    assert hierarchical_precision([6, 4], [2, 2], CODES) == 1.0


def test_hierarchical_score_of_paths_of_several_lengths():
    tree = Tree(("1", "2", "3", "4", "5", "6"), (-1, -1, 1, -1, 3, 4))
    assert hierarchical_f1(["3", "1", "6"], ["1", "3", "6"], tree) == 0.5
    assert hierarchical_f1(["3", "1", "6"], ["3", "1", "6"], tree) == 1.0


PARENTS = {"duck": "bird", "robin": "bird", "trout": None}


@pytest.mark.parametrize("score", OF_DECISIONS)
def test_scores_of_decisions_take_a_tree_in_any_form(score):
    y, decisions = ["duck", "robin", "trout"], ["robin", "robin", "duck"]
    assert score(y, decisions, PARENTS) == score(y, decisions, read_tree(PARENTS))


@pytest.mark.parametrize("score", [*OF_PROBABILITIES, lambda *case: level_scores(*case).log_loss[0]])
def test_scores_of_probabilities_take_a_tree_in_any_form(score):
    y, proba = ["duck", "trout"], [[0.5, 0.3, 0.2], [0.1, 0.5, 0.4]]
    assert score(y, proba, PARENTS) == score(y, proba, read_tree(PARENTS))


def test_label_above_a_single_leaf_is_that_leaf():
    assert parent_accuracy(["trout"], ["trout, brown"], ANIMALS) == 1.0
    proba = (ANIMALS.classes == "trout, brown")[None].astype(float)
    assert mean_reciprocal_rank(["trout"], proba, ANIMALS) == 1.0


def test_equal_probabilities_rank_last():
    assert mean_reciprocal_rank(["duck"], [[0.2] * 5], ANIMALS) == pytest.approx(1 / 5)
    assert mean_reciprocal_rank(["fox"], [[0.5, 0.25, 0.25, 0.0, 0.0]], ANIMALS) == pytest.approx(1 / 3)


def test_ranking_takes_scores_that_are_no_probabilities():
    assert mean_reciprocal_rank(["fox"], [[-3.0, 7.0, 8.0, 0.0, 1.0]], ANIMALS) == 0.5


def test_impossible_truth_has_infinite_loss():
    assert node_log_loss(["fish"], [[0.5, 0.5, 0.0, 0.0, 0.0]], ANIMALS) == np.inf


def test_truth_that_stops_early_asks_no_more_further_down():
    row = [0.1, 0.0, 0.2, 0.4, 0.3]  # duck, fox, robin, salmon, brown trout
    found = level_scores(["fish", "bird"], [row, row], ANIMALS)
    assert found.accuracy.tolist() == [0.5, 0.5, 0.5]
    np.testing.assert_allclose(found.log_loss, -0.5 * (np.log(0.7) + np.log(0.3)))


def test_tiles_leave_no_trace(monkeypatch):
    sample = draw(50, 5)
    y = ANIMALS.classes[sample.true]
    at_once = [score(y, sample.probabilities, ANIMALS) for score in OF_PROBABILITIES]
    levels = level_scores(y, sample.probabilities, ANIMALS)
    monkeypatch.setattr(
        tree_scores, "row_tiles", lambda n_rows, _: (slice(start, start + 7) for start in range(0, n_rows, 7))
    )
    np.testing.assert_allclose([score(y, sample.probabilities, ANIMALS) for score in OF_PROBABILITIES], at_once)
    np.testing.assert_allclose(level_scores(y, sample.probabilities, ANIMALS).log_loss, levels.log_loss)
    np.testing.assert_allclose(level_scores(y, sample.probabilities, ANIMALS).accuracy, levels.accuracy)


@pytest.mark.parametrize("score", OF_DECISIONS)
@pytest.mark.parametrize("sample_weight", [None, [2.0, 1.0]])
def test_truth_itself_is_the_best_decision(score, sample_weight):
    assert score(["duck", "fox"], ["duck", "fox"], ANIMALS, sample_weight) == (score is not taxonomic_loss)


@pytest.mark.parametrize("score", OF_PROBABILITIES)
def test_case_of_no_weight_has_no_say(score):
    proba = [[0.5, 0.5, 0.0, 0.0, 0.0]] * 2
    # The second truth is impossible.
    assert score(["duck", "robin"], proba, ANIMALS, [1, 0]) == score(["duck"], proba[:1], ANIMALS)


@pytest.mark.parametrize("score", OF_DECISIONS)
@pytest.mark.parametrize(
    ("y", "decisions", "weights", "complaint"),
    [
        (["duck"], ["duck", "fox"], None, "`y` and `decisions` must have the same length, but have 1 and 2"),
        ([], [], None, "must have at least one case"),
        (["duck"], ["goose"], None, "`decisions` must hold labels of the 8 nodes of the tree, but row 0 is 'goose'"),
        (["goose"], ["duck"], None, "`y` must hold labels of the 8 nodes"),
        (["duck"], ["duck"], [0.0], "must be positive for at least one case"),
        (["duck"], ["duck"], [1.0, 1.0], r"`sample_weight` must have shape \(1,\)"),
    ],
)
def test_cases_that_cannot_be_judged_are_named(score, y, decisions, weights, complaint):
    with pytest.raises(ValueError, match=complaint):
        score(y, decisions, ANIMALS, weights)


@pytest.mark.parametrize("score", [*OF_PROBABILITIES, level_scores])
@pytest.mark.parametrize(
    ("y", "proba", "complaint"),
    [
        (["duck"], np.eye(5)[:2], "`y` and `proba` must have the same length, but have 1 and 2"),
        (["duck"], [[0.5, 0.5]], "column for each of the 5 leaves"),
        (["goose"], np.eye(5)[:1], "but row 0 is 'goose'"),
        (["duck"], [0.2] * 5, "a row per case and a column per class"),
    ],
)
def test_probabilities_that_cannot_be_judged_are_named(score, y, proba, complaint):
    with pytest.raises(ValueError, match=complaint):
        score(y, proba, ANIMALS)


@pytest.mark.parametrize("score", [parent_accuracy, mean_reciprocal_rank])
def test_scores_of_leaves_refuse_inner_nodes(score):
    other = ["duck"] if score is parent_accuracy else np.eye(5)[:1]
    with pytest.raises(ValueError, match="must hold labels of leaves, but row 0 is 'bird'"):
        score(["bird"], other, ANIMALS)
