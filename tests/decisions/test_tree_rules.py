"""Decisions on a tree have the least expected loss of all, by brute force."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from logikern import read_tree
from logikern.decisions import tree_rules
from logikern.decisions.rules import decide
from logikern.decisions.tree_rules import decide_on_tree
from tests.decisions.catalogue import draw
from tests.decisions.trees import ANIMALS, all_distances, flat, membership, problems, steady

# Classes: duck, fox, robin, salmon, trout, brown.
DUCK, FOX, ROBIN, SALMON, BROWN = np.eye(5)


def names(decided, tree=ANIMALS):
    return [tree.labels[node] for node in decided.decisions]


def expected_by_brute_force(problem, decisions):
    """(n, D): the sum over truths of probability times distance."""
    dense, leaves = all_distances(problem.tree), problem.tree.leaves
    return np.array(
        [
            [sum(p * dense[node, leaf] for p, leaf in zip(row, leaves, strict=True)) for node in decisions]
            for row in problem.probabilities
        ]
    )


@given(problem=problems())
@steady
def test_taxonomic_decision_is_the_best_leaf(problem):
    decided = decide_on_tree(problem.probabilities, problem.tree, "taxonomic")
    expected = expected_by_brute_force(problem, problem.tree.leaves)
    np.testing.assert_allclose(decided.expected_loss, expected.min(axis=1), atol=1e-12)
    assert np.isin(decided.decisions, problem.tree.leaves).all()
    column = [problem.tree.leaves.tolist().index(node) for node in decided.decisions]
    chosen = expected[np.arange(len(expected)), column]
    assert (chosen[:, None] <= expected + 1e-12).all()


@given(problem=problems())
@steady
def test_taxonomic_decision_is_the_best_node(problem):
    decided = decide_on_tree(problem.probabilities, problem.tree, "taxonomic", allow_inner=True)
    expected = expected_by_brute_force(problem, range(len(problem.tree.labels)))
    chosen = expected[np.arange(len(expected)), decided.decisions]
    assert (chosen[:, None] <= expected + 1e-12).all()
    np.testing.assert_allclose(decided.expected_loss, chosen, atol=1e-12)


@given(problem=problems())
@steady
def test_best_node_is_the_deepest_of_more_than_half(problem):
    tree = problem.tree
    decided = decide_on_tree(problem.probabilities, tree, "taxonomic", allow_inner=True).decisions
    mass = problem.probabilities @ membership(tree).T
    for row, node in zip(mass, decided, strict=True):
        probable = [other for other in range(len(row)) if row[other] > 0.5 + 1e-12]
        if probable:
            assert node == max(probable, key=lambda other: tree.depths[other])
        elif (row < 0.5 - 1e-12).all():
            tops = [other for other in range(len(row)) if tree.parents[other] == -1]
            assert row[node] == pytest.approx(max(row[tops]))


@given(problem=problems())
@steady
def test_expected_taxonomic_loss_is_never_above_that_of_the_most_probable_leaf(problem):
    best = problem.tree.leaves[problem.probabilities.argmax(axis=1)]
    dense = all_distances(problem.tree)[:, problem.tree.leaves]
    standard = np.sum(problem.probabilities * dense[best], axis=1)
    assert (decide_on_tree(problem.probabilities, problem.tree, "taxonomic").expected_loss <= standard + 1e-12).all()


@given(problem=problems())
@steady
def test_parent_rule_has_the_most_probable_parent(problem):
    tree = problem.tree
    decided = decide_on_tree(problem.probabilities, tree, "parent")
    parents = np.array([tree.parents[leaf] for leaf in tree.leaves])
    for row, node, loss in zip(problem.probabilities, decided.decisions, decided.expected_loss, strict=True):
        mass = {parent: row[parents == parent].sum() for parent in set(parents)}
        assert loss == pytest.approx(1 - max(mass.values()), abs=1e-12)
        assert mass[tree.parents[node]] == pytest.approx(max(mass.values()))
        children = [p for p, parent in zip(row, parents, strict=True) if parent == tree.parents[node]]
        assert row[tree.leaves.tolist().index(node)] == max(children)


@given(problem=problems())
@steady
def test_zero_one_decides_the_most_probable_leaf(problem):
    decided = decide_on_tree(problem.probabilities, problem.tree)
    np.testing.assert_array_equal(decided.decisions, problem.tree.leaves[problem.probabilities.argmax(axis=1)])
    np.testing.assert_allclose(decided.expected_loss, 1 - problem.probabilities.max(axis=1))


@pytest.mark.parametrize("allow_inner", [False, True])
@given(problem=problems())
@steady
def test_matrix_of_distances_is_the_taxonomic_loss(allow_inner, problem):
    tree = problem.tree
    dense = all_distances(tree)[:, tree.leaves]
    losses = dense if allow_inner else dense[tree.leaves]
    by_matrix = decide_on_tree(problem.probabilities, tree, losses, allow_inner)
    by_name = decide_on_tree(problem.probabilities, tree, "taxonomic", allow_inner)
    np.testing.assert_allclose(by_matrix.expected_loss, by_name.expected_loss, atol=1e-12)


@pytest.mark.parametrize("loss", ["zero_one", "taxonomic", "parent"])
def test_without_a_tree_above_them_classes_are_decided_by_probability(loss):
    probabilities = draw(60, 5).probabilities
    decided = decide_on_tree(probabilities, flat(5), loss)
    np.testing.assert_array_equal(decided.decisions, probabilities.argmax(axis=1))


def test_callable_is_asked_about_labels():
    sample, tree = draw(30, 4), flat(4)
    decided = decide_on_tree(sample.probabilities, tree, lambda decision, truth: abs(decision - truth))
    by_rules = decide(sample.probabilities, lambda decision, truth: abs(decision - truth))
    np.testing.assert_array_equal(decided.decisions, by_rules.decisions)


def test_callable_is_asked_about_inner_nodes_where_they_are_allowed():
    decided = decide_on_tree([DUCK], ANIMALS, lambda decision, truth: float(decision != "fish"), allow_inner=True)
    assert names(decided) == ["fish"]


@pytest.mark.parametrize("allow_inner", [False, True])
def test_rows_and_columns_of_a_frame_go_by_their_names(allow_inner):
    random = np.random.default_rng(0)
    decisions = list(ANIMALS.labels) if allow_inner else ANIMALS.classes.tolist()
    probabilities = random.dirichlet(np.ones(ANIMALS.n_classes), 20)
    frame = pd.DataFrame(random.random((len(decisions), ANIMALS.n_classes)), decisions, ANIMALS.classes)
    shuffled = frame.sample(frac=1.0, random_state=1).sample(frac=1.0, axis=1, random_state=2)
    expected = decide_on_tree(probabilities, ANIMALS, frame.to_numpy(), allow_inner)
    seen = decide_on_tree(probabilities, ANIMALS, shuffled, allow_inner)
    assert seen.decisions.tolist() == expected.decisions.tolist()


def test_frame_with_a_column_of_no_class_is_refused():
    frame = pd.DataFrame(1.0 - np.eye(ANIMALS.n_classes), columns=[*ANIMALS.classes[:-1], "cow"])
    with pytest.raises(ValueError, match="must be named after the 5 classes, but one is named 'cow'"):
        decide_on_tree([DUCK], ANIMALS, frame)


def test_tree_may_come_in_any_form():
    tree, proba = {"duck": "bird", "robin": "bird", "trout": None}, [[0.3, 0.35, 0.35]]
    decided = decide_on_tree(proba, tree, "taxonomic", allow_inner=True)
    assert read_tree(tree).labels[decided.decisions[0]] == "bird"


def test_siblings_outweigh_a_more_probable_stranger():
    row = 0.35 * DUCK + 0.25 * ROBIN + 0.4 * FOX
    assert names(decide_on_tree([row], ANIMALS)) == ["fox"]
    assert names(decide_on_tree([row], ANIMALS, "parent")) == ["duck"]
    assert names(decide_on_tree([row], ANIMALS, "taxonomic")) == ["duck"]
    assert names(decide_on_tree([row], ANIMALS, "taxonomic", allow_inner=True)) == ["bird"]


def test_certain_truth_is_decided_at_no_loss():
    for allow_inner in (False, True):
        decided = decide_on_tree(np.eye(5), ANIMALS, "taxonomic", allow_inner)
        assert names(decided) == ANIMALS.classes.tolist()
        assert (decided.expected_loss == 0).all()


def test_only_child_is_decided_with_its_parent():
    # Half or less for the chain: its upper end is as good as its lower one, and comes first.
    assert names(decide_on_tree([0.5 * BROWN + 0.5 * SALMON], ANIMALS, "taxonomic", allow_inner=True)) == ["fish"]
    assert names(decide_on_tree([0.75 * BROWN + 0.25 * SALMON], ANIMALS, "taxonomic", True)) == ["trout, brown"]


@pytest.mark.parametrize("loss", ["zero_one", "taxonomic", "parent"])
def test_among_equal_leaves_the_first_class_is_taken(loss):
    row = 0.5 * DUCK + 0.5 * ROBIN
    assert names(decide_on_tree([row], ANIMALS, loss)) == ["duck"]


def test_among_equal_nodes_the_upper_is_taken():
    # The duck has exactly one half: to stop above it and to go on cost the same.
    assert names(decide_on_tree([0.5 * DUCK + 0.5 * ROBIN], ANIMALS, "taxonomic", allow_inner=True)) == ["bird"]


def test_rejection_is_the_root():
    decided = decide_on_tree([0.5 * DUCK + 0.5 * FOX, DUCK], ANIMALS, "taxonomic", reject_cost=0.7)
    assert decided.rejected.tolist() == [True, False]
    assert decided.decisions[0] == -1
    assert decided.expected_loss.tolist() == [0.7, 0.0]


@pytest.mark.parametrize("loss", ["zero_one", "taxonomic", "parent", lambda decision, truth: float(decision > truth)])
def test_tiles_leave_no_trace(loss, monkeypatch):
    probabilities = draw(50, 5).probabilities
    at_once = decide_on_tree(probabilities, ANIMALS, loss)
    monkeypatch.setattr(
        tree_rules, "row_tiles", lambda n_rows, _: (slice(start, start + 7) for start in range(0, n_rows, 7))
    )
    in_tiles = decide_on_tree(probabilities, ANIMALS, loss)
    np.testing.assert_array_equal(in_tiles.decisions, at_once.decisions)
    np.testing.assert_allclose(in_tiles.expected_loss, at_once.expected_loss, atol=1e-15)


def test_no_cases_have_no_decisions():
    assert decide_on_tree(np.zeros((0, 5)), ANIMALS, "taxonomic").decisions.shape == (0,)


@pytest.mark.parametrize("loss", ["zero_one", "parent"])
def test_losses_between_leaves_have_nothing_to_say_about_inner_nodes(loss):
    with pytest.raises(ValueError, match=f"loss='{loss}' is for leaves only. Pass loss='taxonomic'"):
        decide_on_tree([DUCK], ANIMALS, loss, allow_inner=True)


@pytest.mark.parametrize(
    ("proba", "loss", "allow_inner", "complaint"),
    [
        ([DUCK], "taxo", False, r"one of \['zero_one', 'parent', 'taxonomic'\], a matrix .* but is 'taxo'"),
        ([[0.5, 0.5]], "taxonomic", False, "column for each of the 5 leaves, .* but has 2"),
        ([2 * DUCK], "taxonomic", False, "row 0 sums to 2"),
        ([DUCK], np.ones((8, 5)), False, "a row for each of the 5 leaves, .* but has 8"),
        ([DUCK], np.ones((5, 5)), True, "a row for each of the 8 nodes, .* but has 5"),
        ([DUCK], np.ones((5, 4)), False, r"\(n_decisions, 5\), but has shape \(5, 4\)"),
        ([DUCK], -np.ones((5, 5)), False, "finite and non-negative"),
    ],
)
def test_what_cannot_be_decided_is_named(proba, loss, allow_inner, complaint):
    with pytest.raises(ValueError, match=complaint):
        decide_on_tree(proba, ANIMALS, loss, allow_inner)
