"""Labels that are nodes of a tree: probabilities, decisions, and what is accepted as labels."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, cross_val_score

from logikern import KernelLogisticClassifier, KernelMultilabelClassifier, load_model, node_indicators, read_tree

FIXED = {"kernel": "gaussian", "rate": 0.7, "variance": 5.0, "criterion": None, "random_state": 0}
PATHS = ["art", "art/film", "art/music", "art/music/jazz", "sport"]
PARENTS = np.array([-1, 0, 0, 2, -1])
STRUCTURES = ("independent", "joint", "coupled")
every_structure = pytest.mark.parametrize("structure", STRUCTURES)


def rows(n, seed):
    return np.random.default_rng(seed).standard_normal((n, 3))


def close(y):
    for child, parent in [(3, 2), (2, 0), (1, 0)]:
        y[:, parent] |= y[:, child]
    return y


def labels(X, seed):
    """Each label given its parent."""
    noise = np.random.default_rng(seed).logistic(size=(len(X), 5))
    y = (X[:, [0, 1, 2, 0, 1]] + [1.5, 0, 1, 0.5, -0.5] + 0.7 * noise > 0).astype(int)
    for child, parent in enumerate(PARENTS):
        y[:, child] *= y[:, parent] if parent >= 0 else 1
    return y


X, NEW = rows(110, 0), rows(40, 2)
Y, NEW_Y = labels(X, 1), labels(NEW, 3)
FRAME = pd.DataFrame(Y, columns=PATHS)
ALL_SETS = np.array(list(itertools.product([0, 1], repeat=5)))
IS_CLOSED = (close(ALL_SETS.copy()) == ALL_SETS).all(axis=1)


def fixed(structure="independent", **settings):
    return KernelMultilabelClassifier(**FIXED | {"structure": structure, "hierarchy": "paths"} | settings)


def test_independent_labels_are_binary_classifiers_of_the_rows_that_have_the_parent():
    closely = {"solver": "exact", "tol": 1e-9}
    model = fixed(**closely).fit(X, FRAME)
    expected = np.ones((len(NEW), 5))
    for label, parent in enumerate(PARENTS):
        own = np.full(len(X), True) if parent < 0 else Y[:, parent] == 1
        alone = KernelLogisticClassifier(**FIXED, **closely).fit(X[own], Y[own, label])
        expected[:, label] = alone.predict_proba(NEW)[:, 1] * (1.0 if parent < 0 else expected[:, parent])
    np.testing.assert_allclose(model.predict_proba(NEW), expected, atol=1e-7)


@every_structure
def test_probabilities_are_normalised_over_the_sets_that_are_closed_upwards(structure):
    model = fixed(structure).fit(X, FRAME)
    found, proba = model.predict_set_proba(NEW, ALL_SETS), model.predict_proba(NEW)
    assert (found[:, ~IS_CLOSED] == 0).all() and (found[:, IS_CLOSED] > 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found @ ALL_SETS, proba, rtol=1e-10)
    own = found[np.arange(len(NEW)), NEW_Y @ [16, 8, 4, 2, 1]]
    np.testing.assert_allclose(model.set_log_proba(NEW, NEW_Y), np.log(own), rtol=1e-9)
    for label, parent in enumerate(PARENTS):
        assert parent < 0 or (proba[:, label] <= proba[:, parent]).all()


@pytest.mark.parametrize("loss", ["hamming", "subset", "f1"])
@every_structure
def test_decisions_are_closed_upwards(structure, loss):
    model = fixed(structure).fit(X, FRAME)
    decided = model.decide(NEW, loss)
    np.testing.assert_array_equal(close(decided.copy()), decided)
    assert decided.any()


def test_auto_compares_refitted_folds_of_both_structures():
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = fixed("auto", cv=splits).fit(X, FRAME)
    total = 0.0
    for kept, out in splits:
        for label, parent in enumerate(PARENTS):
            known = np.full(len(X), True) if parent < 0 else Y[:, parent] == 1
            own, held = kept[known[kept]], out[known[out]]
            alone = KernelLogisticClassifier(**FIXED).fit(X[own], Y[own, label])
            total += log_loss(Y[held, label], alone.predict_proba(X[held]), labels=[0, 1]) * len(held)
    np.testing.assert_allclose(model.comparison_.independent, total / len(X), atol=2e-5)
    assert model.structure_ == model.comparison_.best


@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_criterion_is_the_held_out_loss_given_the_parents(criterion):
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = KernelMultilabelClassifier(
        "gaussian",
        structure="independent",
        hierarchy="paths",
        tying="shared",
        ard=False,
        inputs="raw",
        criterion=criterion,
        cv=splits,
        search_size=None,
        random_state=0,
    ).fit(X, FRAME)
    found = {"rate": model.kernels_[0].rate, "variance": float(model.variances_[0])}
    total = 0.0
    for kept, out in splits if criterion == "cv" else [(np.delete(np.arange(110), row), [row]) for row in range(110)]:
        again = fixed(**found, inputs="raw").fit(X[kept], FRAME.iloc[kept])
        total -= again.set_log_proba(X[out], Y[out]).sum()
    # Leave-one-out is approximate: one Newton step.
    np.testing.assert_allclose(model.criterion_value_, total / len(X), atol=1e-4 if criterion == "cv" else 0.02)


def test_ancestors_of_labels_are_added():
    bare = Y.copy()
    bare[:, 2] *= 1 - bare[:, 3]
    bare[:, 0] *= 1 - bare[:, 1:4].max(axis=1)
    assert (bare != Y).any()
    found, expected = fixed().fit(X, pd.DataFrame(bare, columns=PATHS)), fixed().fit(X, FRAME)
    np.testing.assert_array_equal(found.predict_proba(NEW), expected.predict_proba(NEW))
    np.testing.assert_array_equal(found.set_log_proba(X, bare), expected.set_log_proba(X, Y))
    assert found.score(X, bare) == expected.score(X, Y) > 0
    assert not (found.label_sets_ != close(found.label_sets_.copy())).any()


@pytest.mark.parametrize("order", [[4, 3, 2, 1, 0], [3, 0, 4, 1, 2]])
@every_structure
def test_columns_may_have_any_order(structure, order):
    # Coupled classes are fitted by iterations, to their tolerance.
    settings = {"structure": structure, "tol": 1e-9, "precision": "double"}
    model, expected = fixed(**settings).fit(X, FRAME.iloc[:, order]), fixed(**settings).fit(X, FRAME)
    assert model.classes_.tolist() == [PATHS[place] for place in order]
    np.testing.assert_allclose(model.predict_proba(NEW), expected.predict_proba(NEW)[:, order], atol=1e-8)
    for loss in ("hamming", "subset", "f1"):
        np.testing.assert_array_equal(model.decide(NEW, loss), expected.decide(NEW, loss)[:, order])
    # Columns of a frame are matched by name.
    np.testing.assert_allclose(
        model.set_log_proba(X, FRAME), expected.set_log_proba(X, FRAME.iloc[:, order]), atol=1e-8
    )


@pytest.mark.parametrize(
    "hierarchy",
    [
        {"jazz": "music", "music": "art", "film": "art", "sport": None},
        {"art": {"film": None, "music": ["jazz"]}, "sport": None},
        [("jazz", "music"), ("music", "art"), ("film", "art"), ("sport", None)],
        read_tree({"jazz": "music", "music": "art", "film": "art", "sport": None}),
    ],
    ids=["links", "nested", "pairs", "tree"],
)
def test_tree_may_have_any_form(hierarchy):
    expected = fixed().fit(X, FRAME).predict_proba(NEW)
    named = FRAME.rename(columns=lambda path: path.rpartition("/")[2])
    model = fixed(hierarchy=hierarchy).fit(X, named)
    np.testing.assert_array_equal(model.predict_proba(NEW), expected)
    plain = fixed(hierarchy=hierarchy).fit(X, Y)  # in the order of the tree
    np.testing.assert_array_equal(plain.predict_proba(NEW), expected)
    assert plain.classes_.tolist() == list(plain.tree_.labels) == ["art", "film", "music", "jazz", "sport"]


@every_structure
def test_constant_labels_have_their_share(structure):
    wide = FRAME.assign(**{"art/opera": 0, "art/opera/late": 0, "all": 1, "all/some": Y[:, 4], "sport": Y[:, 1]})
    with pytest.warns(
        UserWarning, match="'art/opera', 'art/opera/late', 'all' are present in all rows, or absent from all"
    ):
        model = fixed(structure).fit(X, wide)
    found = dict(zip(model.classes_.tolist(), model.predict_proba(NEW).T, strict=True))
    assert (found["art/opera"] == 0).all() and (found["art/opera/late"] == 0).all() and (found["all"] == 1).all()
    assert (found["all/some"] < 1).all()
    assert np.isfinite(model.set_log_proba(X, wide)).all()
    for loss in ("hamming", "subset", "f1"):
        decided = pd.DataFrame(model.decide(NEW, loss), columns=model.classes_)
        assert (decided["all"] == 1).all() and (decided["art/opera"] == 0).all()


@every_structure
def test_parent_whose_only_child_is_always_present_may_be_alone_in_new_rows(structure):
    bound = FRAME.assign(**{"art/music": FRAME["art/music/jazz"]})
    model = fixed(structure).fit(X, bound)
    alone = np.tile([1, 0, 1, 0, 0], (len(NEW), 1))  # "art/music" without "art/music/jazz"
    assert np.isfinite(model.set_log_proba(NEW, alone)).all()
    found = model.predict_set_proba(NEW, ALL_SETS)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found @ ALL_SETS, model.predict_proba(NEW), rtol=1e-10)


@every_structure
def test_model_files_keep_every_bit(structure, tmp_path):
    model = fixed(structure).fit(X, FRAME.iloc[:, ::-1])
    model.save_model(tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_set_proba(NEW), model.predict_set_proba(NEW))
    np.testing.assert_array_equal(loaded.decide(NEW, "f1"), model.decide(NEW, "f1"))
    assert loaded.tree_.labels == model.tree_.labels and loaded.explain() == model.explain()


def test_paths_may_be_tuples(tmp_path):
    rows = [[tuple(path.split("/")) for path, own in zip(PATHS, row, strict=True) if own] for row in Y]
    frame = node_indicators(rows, "paths")
    model = fixed().fit(X, frame)
    assert model.classes_.tolist() == [tuple(path.split("/")) for path in PATHS]
    np.testing.assert_array_equal(model.predict_proba(NEW), fixed().fit(X, FRAME).predict_proba(NEW))
    model.save_model(tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.score(X, frame) == model.score(X, frame)


def test_explanation_says_that_labels_depend_on_their_parents():
    assert "Structure of the labels: independent given their parents." in fixed().fit(X, FRAME).explain()


def test_tools_of_scikit_learn_work():
    assert (cross_val_score(fixed(), X, FRAME, cv=3) > 0).all()


LISTS = [["art/music/jazz"], {"sport", "art/film"}, ("art",), []]
INDICATORS = [[1, 0, 1, 1, 0], [1, 1, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]


def test_node_indicators_of_lists_have_a_column_for_each_node():
    found = node_indicators(LISTS, "paths")
    assert found.columns.tolist() == PATHS
    np.testing.assert_array_equal(found, INDICATORS)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_node_indicators_of_frames_keep_the_library(make):
    given = make({"sport": [0, 1, 0, 0], "art/film": [0, 1, 0, 0], "art/music/jazz": [1, 0, 0, 0]})
    found = node_indicators(given, "paths")
    assert isinstance(found, make) and list(found.columns) == PATHS
    np.testing.assert_array_equal(found, [*INDICATORS[:2], [0] * 5, [0] * 5])


@pytest.mark.parametrize(
    "y, hierarchy, told",
    [
        (["art/film"], "paths", "a list or set of labels for each row"),
        (np.eye(2), "paths", "a list or set of labels for each row"),
        ([["art/films"]], ["art/film", "sport"], "at row 0, label 0 is not one of them. Did you mean 'art/film'"),
        (pd.DataFrame({"a": [0.5], "b": [1]}), "paths", "continuous"),
    ],
)
def test_wrong_labels_of_nodes_are_refused(y, hierarchy, told):
    with pytest.raises(ValueError, match=told):
        node_indicators(y, hierarchy)


@pytest.mark.parametrize(
    "y, hierarchy, told",
    [
        (Y, "paths", "the columns of `y` have no names"),
        (FRAME.drop(columns="art/music"), "paths", r"lacks 'art/music'. `node_indicators\(y, hierarchy\)`"),
        (FRAME.drop(columns=["art", "sport"]), PATHS[1:], "lacks 'art', 'sport'"),
        (FRAME.rename(columns={"sport": "sports"}), PATHS[1:], "Did you mean 'sport'"),
        (Y[:, :4], PATHS[1:], "a column for each of the 5 nodes"),
        (FRAME, {"a": "b", "b": "a"}, "cycle"),
        (pd.concat([FRAME, FRAME[["sport"]]], axis=1), "paths", "'sport' has several"),
    ],
)
def test_wrong_hierarchies_are_refused(y, hierarchy, told):
    with pytest.raises(ValueError, match=told):
        fixed(hierarchy=hierarchy).fit(X, y)


def test_learned_hyperparameters_are_better_than_fixed_ones():
    model = KernelMultilabelClassifier("gaussian", hierarchy="paths", cv=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned = model.fit(X, FRAME)
    worse = fixed(variance=1000.0).fit(X, FRAME)
    assert learned.set_log_proba(NEW, NEW_Y).mean() > worse.set_log_proba(NEW, NEW_Y).mean()
