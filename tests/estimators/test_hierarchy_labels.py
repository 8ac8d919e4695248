"""Labels that name inner nodes, distributions over nodes, and weights, on a tree of classes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from logikern.estimators._inputs.weights import weigh_rows
from logikern.structure.hierarchy import read_tree
from tests.estimators.trees import (
    LABELS,
    LEAVES,
    NEW,
    PARENTS,
    PATHS,
    X,
    Y,
    coarse,
    coarse_labels,
    fixed,
    sample,
)


@pytest.mark.parametrize("solver", ["newton", "exact"])
def test_penalised_loss_never_rises_with_coarse_labels(solver):
    model = coarse(solver=solver).fit(X, coarse_labels(2))
    losses = np.array([step.loss for step in model.newton_trace_])
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()


def test_solvers_agree_on_coarse_labels():
    one, other = (coarse(solver=solver).fit(X, coarse_labels()) for solver in ("newton", "exact"))
    np.testing.assert_allclose(one.predict_proba(NEW), other.predict_proba(NEW), atol=1e-5)


def test_coarse_labels_are_nearly_as_good_as_fine_ones():
    right = {}
    for name, labels in {"fine": Y, "coarse": coarse_labels()}.items():
        test_X, test_numbers = sample(300, seed=2)
        right[name] = (coarse().fit(X, labels).predict(test_X) == np.array(LEAVES)[test_numbers]).mean()
    assert right["coarse"] > right["fine"] - 0.05


def test_coarse_labels_are_better_than_none():
    """Rows that say "art" tell art from science, even if not music from film."""
    fine = np.arange(len(X)) < 30
    tops = np.array([path.partition("/")[0] for path in LABELS])
    labels = np.where(fine, Y, tops)
    test_X, test_numbers = sample(300, seed=2)
    top = np.array([path.partition("/")[0] for path in PATHS])[test_numbers]
    right = []
    for rows in (np.ones(len(X), dtype=bool), fine):
        found = coarse().fit(X[rows], labels[rows]).predict_paths(test_X)
        right.append(np.mean([path[0] for path in found] == top))
    assert right[0] > right[1]


def test_label_of_a_node_with_one_child_is_that_child():
    renamed = np.where(Y == "sport", "work", Y)
    expected = fixed(hierarchy=PARENTS).fit(X, Y).predict_proba(NEW)
    np.testing.assert_array_equal(fixed(hierarchy=PARENTS).fit(X, renamed).predict_proba(NEW), expected)


def test_rows_of_a_node_and_of_its_only_child_are_warned_of():
    labels = LABELS.copy()
    labels[np.flatnonzero(LABELS == "work/sport")[:3]] = "work"
    with pytest.warns(UserWarning, match="Rows labelled 'work' count as rows of 'work/sport'") as caught:
        fixed(hierarchy="paths").fit(X, labels)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("hierarchy", ["paths", read_tree(sorted(set(LABELS)))])
def test_rows_of_an_inner_node_are_no_reason_to_warn(hierarchy):
    """Nor are those above an only child where it is the hierarchy, not the labels, that says there is one."""
    labels = LABELS.copy()
    labels[np.flatnonzero(LABELS == "art/music")[:3]] = "art"
    if hierarchy != "paths":
        labels[np.flatnonzero(LABELS == "work/sport")[:3]] = "work"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        coarse(hierarchy=hierarchy).fit(X, labels)
    assert not caught


def test_class_weight_of_paths_that_are_tuples():
    paths = [tuple(path.split("/")) for path in LABELS]
    model = fixed(hierarchy="paths", class_weight={("art", "film"): 3.0}).fit(X, paths)
    expected = fixed(hierarchy="paths").fit(X, paths, sample_weight=np.where(Y == "film", 3.0, 1.0))
    np.testing.assert_allclose(model.predict_proba(NEW), expected.predict_proba(NEW), atol=1e-6)


def test_class_whose_rows_are_all_coarse_is_found_as_its_parent():
    labels = np.where(Y == "music", "art", Y)
    model = coarse().fit(X, labels)
    own = model.predict_node_proba_frame(X[Y == "music"])
    assert (own["art"] > 0.5).mean() > 0.8
    assert (own["music"] > 0).all()


def test_all_rows_coarse_tell_the_upper_nodes_apart():
    tops = np.array([path.partition("/")[0] for path in LABELS])
    with pytest.warns(UserWarning, match="No row is labelled below 'art', 'science'"):
        model = coarse(tol=1e-4).fit(X, tops)
    assert (np.array([path[0] for path in model.predict_paths(X)]) == tops).mean() > 0.8
    assert (model.predict_proba(NEW) > 0).all()


def test_distributions_over_leaves_or_nodes_are_labels_too():
    labels = coarse_labels()
    model = coarse().fit(X, labels)
    tree = model.tree_
    table = np.eye(len(tree.labels))[[tree.place[label] for label in labels.tolist()]]
    expected = model.predict_proba(NEW)
    np.testing.assert_allclose(coarse().fit(X, table).predict_proba(NEW), expected, atol=1e-5)
    named = pd.DataFrame(table, columns=list(tree.labels)).loc[:, ::-1]
    np.testing.assert_allclose(coarse().fit(X, named).predict_proba(NEW), expected, atol=1e-5)
    leaves = np.eye(6)[[tree.classes.tolist().index(label) for label in Y]]
    np.testing.assert_allclose(
        coarse().fit(X, leaves).predict_proba(NEW), coarse().fit(X, Y).predict_proba(NEW), atol=1e-6
    )


def test_mixed_distribution_of_a_leaf_and_its_parent_lies_between():
    tree = read_tree(PARENTS)
    table = np.eye(len(tree.labels))[[tree.place[label] for label in Y.tolist()]]
    mixed = table.copy()
    mixed[:, tree.place["art"]] += table[:, tree.place["music"]]
    mixed[:, tree.place["music"]] *= 0.5
    mixed[:, tree.place["art"]] *= 0.5
    model = coarse().fit(X, mixed)
    assert model.outcome_.converged
    sharp = coarse().fit(X, table)
    own = Y == "music"
    place = model.classes_.tolist().index("music")
    assert 0.2 < model.predict_proba(X[own])[:, place].mean() < sharp.predict_proba(X[own])[:, place].mean() + 1e-3


def test_rows_of_weight_zero_do_not_count():
    weights = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    labels = coarse_labels()
    some = weights > 0
    expected = coarse(rate=0.1).fit(X[some], labels[some]).predict_proba(NEW)
    np.testing.assert_allclose(coarse(rate=0.1).fit(X, labels, weights).predict_proba(NEW), expected, atol=1e-5)


def test_weight_two_is_a_row_twice():
    labels = coarse_labels()
    twice = np.r_[np.arange(len(X)), np.arange(10)]
    weights = np.where(np.arange(len(X)) < 10, 2.0, 1.0)
    one = coarse(rate=0.1).fit(X[twice], labels[twice])
    other = coarse(rate=0.1).fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(one.predict_proba(NEW), other.predict_proba(NEW), atol=1e-5)


def test_class_weight_may_name_nodes():
    labels = coarse_labels()
    weights = np.where(labels == "art", 3.0, np.where(labels == "optics", 0.5, 1.0))
    expected = coarse(rate=0.1).fit(X, labels, weights).predict_proba(NEW)
    model = coarse(rate=0.1, class_weight={"art": 3.0, "optics": 0.5}).fit(X, labels)
    np.testing.assert_allclose(model.predict_proba(NEW), expected, atol=1e-5)


def test_balanced_weights_with_a_class_without_rows():
    model = fixed(hierarchy={**PARENTS, "opera": "art"}, class_weight="balanced").fit(X, Y)
    assert np.isfinite(model.predict_proba(NEW)).all()


def test_distributions_may_be_lists():
    table = np.eye(len(LEAVES))[[LEAVES.index(label) for label in Y]]
    wanted = fixed(hierarchy=PARENTS).fit(X, table).predict_proba(NEW)
    np.testing.assert_array_equal(fixed(hierarchy=PARENTS).fit(X, table.tolist()).predict_proba(NEW), wanted)


def test_labels_in_a_column_are_labels():
    wanted = fixed(hierarchy=PARENTS).fit(X, Y).predict_proba(NEW)
    with pytest.warns(UserWarning, match="column-vector y"):
        model = fixed(hierarchy=PARENTS).fit(X, np.asarray(Y)[:, None])
    np.testing.assert_array_equal(model.predict_proba(NEW), wanted)


@pytest.mark.parametrize("criterion", [None, "cv"])
def test_pairwise_training_of_coarse_labels_is_refused_before_a_search(criterion):
    model = fixed(hierarchy=PARENTS, solver="smo", criterion=criterion)
    with pytest.raises(ValueError, match="some labels are inner nodes"):
        model.fit(X, coarse_labels())
    assert not hasattr(model, "trace_") or not model.trace_


# --- weights ---


def test_balanced_weights_are_those_of_the_labels_that_occur():
    few = np.r_[0:60, 60:90:6]
    counts = {leaf: (Y[few] == leaf).sum() for leaf in LEAVES}
    by_hand = np.array([len(few) / (len(LEAVES) * counts[leaf]) for leaf in Y[few]])
    wider = read_tree({**PARENTS, "folk": "art", "crime": "film"} | {f"trade{number}": "work" for number in range(9)})
    balanced, weighed = fixed(hierarchy=wider, class_weight="balanced"), fixed(hierarchy=wider)
    relabelled = np.where(Y[few] == "film", "crime", Y[few])  # a film is now something above it
    found = balanced.fit(X[few], relabelled).predict_proba(NEW)
    wanted = weighed.fit(X[few], relabelled, sample_weight=by_hand).predict_proba(NEW)
    np.testing.assert_allclose(found, wanted, atol=1e-7)


def test_balanced_rows_of_inner_nodes_weigh_what_those_below_do():
    labels = np.r_[["film"] * 8, ["music"] * 2, ["optics"] * 5, ["art"] * 4, ["work"] * 1]
    tree = read_tree({**PARENTS, "office": "work"})
    nodes = np.array([tree.place[label] for label in labels])
    weights = weigh_rows("balanced", nodes, tree.classes, None, tree)
    # Of the four labels that count as classes 16 rows are in all: each has the weight 4.
    of_label = {label: float(weights[labels == label][0]) for label in labels}
    assert of_label == {"film": 0.5, "music": 2.0, "optics": 0.8, "art": 0.8, "work": 4.0}


# --- what nothing tells apart ---


def test_node_without_labels_below_it_is_warned_of():
    labels = np.where(np.isin(Y, ["film", "music"]), "art", Y)
    with pytest.warns(UserWarning, match="No row is labelled below 'art'"):
        coarse(tol=1e-3).fit(X, labels)


def test_labels_below_a_node_are_no_reason_to_warn():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        coarse(tol=1e-3).fit(X, coarse_labels())
    assert not [own for own in seen if "No row is labelled" in str(own.message)]


# --- scores ---


def test_class_that_was_not_there_to_learn_is_not_found():
    model = fixed(hierarchy="paths").fit(X, LABELS)
    known = model.score(X[1:], LABELS[1:])
    assert model.score(X, ["art/opera", *LABELS[1:]]) == pytest.approx(known * (len(X) - 1) / len(X))
    with pytest.raises(ValueError, match="labels of the 10 nodes of the tree, but row 0 is 'opera'"):
        model.score(X, ["opera"] * len(X))


def test_labels_may_stand_in_a_column():
    model = fixed(hierarchy="paths").fit(X, LABELS)
    column = pd.DataFrame({"y": LABELS})
    with pytest.warns(DataConversionWarning):
        assert model.score(X, column) == model.score(X, LABELS)


def test_score_of_what_is_all_right_is_one():
    model = fixed(hierarchy="paths").fit(X, LABELS)
    assert model.score(X, model.predict(X)) == 1.0
