"""A stream of points ends where a fit to all of them does; what it takes and what it refuses."""

import gc
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from logikern import KernelLogisticClassifier, load_model
from logikern.fitting.pairwise.sweeps import SweepState
from tests.estimators.samples import KINDS, NAMES, WORDS, X, fixed, shared_pairs

N_CHUNKS = 20
CLASSES = np.unique(NAMES)
# Hyperparameters given: those read off the first chunk are not those of all points.
GIVEN = {"rate": 0.5, "variance": 10.0, "random_state": 0}


def stream(model, points, labels, n_chunks=N_CHUNKS, weights=None, classes=CLASSES):
    """Chunks in random order, so that some lack a class."""
    order = np.random.default_rng(0).permutation(len(labels))
    for rows in np.array_split(order, n_chunks):
        own = None if weights is None else weights[rows]
        model.partial_fit(points[rows], labels[rows], classes, own)
    return model, order


def test_twenty_chunks_end_at_the_optimum_of_all_points():
    streamed, order = stream(fixed(**GIVEN), X, NAMES)
    expected = fixed(**GIVEN, tol=1e-8).fit(X[order], NAMES[order])
    np.testing.assert_allclose(streamed.predict_proba(X), expected.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(streamed.dual_coef_, expected.dual_coef_, atol=1e-4)


def test_probabilities_are_right_after_every_chunk():
    model, order = fixed(**GIVEN, tol=1e-6), np.random.default_rng(0).permutation(len(X))
    for start, end in ((0, 20), (20, 40), (40, 75)):
        model.partial_fit(X[order[start:end]], NAMES[order[start:end]], CLASSES)
        expected = fixed(**GIVEN, tol=1e-8).fit(X[order[:end]], NAMES[order[:end]])
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "smo", "newton", "exact", "kcg"])
def test_any_solver_goes_on(solver):
    streamed, order = stream(fixed(**GIVEN, solver=solver), X, NAMES, n_chunks=4)
    expected = fixed(**GIVEN, tol=1e-8).fit(X[order], NAMES[order])
    np.testing.assert_allclose(streamed.predict_proba(X), expected.predict_proba(X), atol=2e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {"tying": "separate"},
        {"tying": "scaled", "bias_variance": 0.0},
        {"precision": "single"},
        {"operator": "dense"},
        {"class_weight": {"setosa": 3.0}},
    ],
    ids=str,
)
def test_settings_of_the_model_hold_for_a_stream(settings):
    streamed, order = stream(fixed(**GIVEN, **settings), X, NAMES, n_chunks=5)
    expected = fixed(**GIVEN, **settings, tol=1e-7).fit(X[order], NAMES[order])
    np.testing.assert_allclose(streamed.predict_proba(X), expected.predict_proba(X), atol=2e-4)


def test_weights_count_and_rows_without_weight_have_no_dual():
    weights = np.random.default_rng(1).uniform(0.0, 3.0, len(X)) * (np.arange(len(X)) % 5 > 0)
    streamed, order = stream(fixed(**GIVEN), X, NAMES, 5, weights)
    expected = fixed(**GIVEN, tol=1e-8).fit(X[order], NAMES[order], weights[order])
    np.testing.assert_allclose(streamed.dual_coef_, expected.dual_coef_, atol=3e-4)
    assert (streamed.dual_coef_[weights[order] == 0] == 0).all()


def test_chunk_without_weight_changes_nothing():
    model = fixed(**GIVEN, tol=1e-8).partial_fit(X[:40], NAMES[:40], CLASSES)
    before = model.predict_proba(X)
    model.partial_fit(X[40:60], NAMES[40:60], sample_weight=np.zeros(20))
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-7)
    assert model.dual_coef_.shape == (60, 3) and not model.dual_coef_[40:].any()


def test_stream_goes_on_after_a_chunk_without_weight():
    model = fixed(**GIVEN, tol=1e-7).partial_fit(X[:40], NAMES[:40], CLASSES)
    model.partial_fit(X[40:50], NAMES[40:50], sample_weight=np.zeros(10)).partial_fit(X[50:], NAMES[50:])
    rest = np.r_[:40, 50:75]
    expected = fixed(**GIVEN, tol=1e-8).fit(X[rest], NAMES[rest])
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-5)


def interrupt(monkeypatch):
    """Ctrl-C in the first sweep."""
    monkeypatch.setattr(SweepState, "sweep", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))


def test_interrupted_first_chunk_leaves_no_model(monkeypatch):
    model = fixed(**GIVEN)
    with monkeypatch.context() as patch:
        interrupt(patch)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, NAMES, CLASSES)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.partial_fit(X, NAMES, CLASSES).score(X, NAMES) > 0.9


def test_interrupted_chunk_leaves_the_model_as_it_was(monkeypatch):
    # A search came first: its fit would be kept, but here there is a model to return to.
    model = KernelLogisticClassifier(cv=2, random_state=0).fit(X[::2], NAMES[::2])
    before = model.predict_proba(X)
    interrupt(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[1::2], NAMES[1::2])
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_distributions_may_come_instead_of_labels():
    table = np.random.default_rng(0).dirichlet(np.ones(3), len(X))
    streamed, order = stream(fixed(**GIVEN), X, table, 4, classes=np.arange(3))
    expected = fixed(**GIVEN, tol=1e-8).fit(X[order], table[order])
    np.testing.assert_allclose(streamed.predict_proba(X), expected.predict_proba(X), atol=1e-4)


def test_sparse_chunks_give_what_dense_ones_do():
    dense, _ = stream(fixed(**GIVEN), X, NAMES, 4)
    thin, _ = stream(fixed(**GIVEN), sparse.csr_matrix(X), NAMES, 4)
    np.testing.assert_allclose(thin.predict_proba(X), dense.predict_proba(X), atol=1e-4)


def test_objects_may_be_streamed():
    words, kinds = np.array(WORDS, dtype=object), np.array(KINDS)
    streamed, _ = stream(fixed(shared_pairs), words, kinds, 4, classes=["a", "i"])
    expected = fixed(shared_pairs, tol=1e-8).fit(WORDS, KINDS)
    np.testing.assert_allclose(streamed.predict_proba(WORDS), expected.predict_proba(WORDS), atol=1e-4)


def test_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = fixed().partial_fit(frame[:30], NAMES[:30], CLASSES)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[30:].rename(columns={"a": "z"}), NAMES[30:])


def test_leaves_of_a_hierarchy_may_be_streamed():
    paths = np.where(NAMES == "setosa", "setosa", np.char.add("others/", NAMES))
    streamed, order = stream(fixed(**GIVEN, hierarchy="paths"), X, paths, 4, classes=np.unique(paths))
    expected = fixed(**GIVEN, hierarchy="paths", tol=1e-8).fit(X[order], paths[order])
    np.testing.assert_allclose(streamed.predict_proba(X), expected.predict_proba(X), atol=1e-4)


def test_a_first_chunk_of_one_point_is_enough():
    model = fixed(**GIVEN).partial_fit(X[:1], NAMES[:1], CLASSES)
    assert model.predict(X[:1]) == NAMES[:1]


def test_points_may_be_added_to_a_fit():
    model = fixed(**GIVEN).fit(X[::2], NAMES[::2])
    model.partial_fit(X[1::2], NAMES[1::2])
    order = np.concatenate([np.arange(len(X))[::2], np.arange(len(X))[1::2]])
    expected = fixed(**GIVEN, tol=1e-8).fit(X[order], NAMES[order])
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, atol=1e-4)


def test_learned_hyperparameters_stay():
    model = KernelLogisticClassifier(cv=2, random_state=0).fit(X[::2], NAMES[::2])
    before = model.model_.specification, model.criterion_value_
    model.partial_fit(X[1::2], NAMES[1::2])
    assert (model.model_.specification, model.criterion_value_) == before
    assert model.verdicts_ and "evaluations" in model.explain()


def test_nothing_is_learned_from_a_stream():
    model = KernelLogisticClassifier().partial_fit(X, NAMES, CLASSES)
    expected = fixed(tol=1e-8).fit(X, NAMES)
    assert model.kernels_ == expected.kernels_ and model.verdicts_ == ()
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-4)


def test_few_new_points_take_few_sweeps():
    points, labels = make_blobs(800, centers=4, cluster_std=3.0, random_state=0)
    model = fixed(**GIVEN).partial_fit(points[:790], labels[:790], np.unique(labels))
    sweeps = model.n_iter_
    assert model.partial_fit(points[790:], labels[790:]).n_iter_ < sweeps


def test_fit_forgets_the_stream():
    model, _ = stream(fixed(**GIVEN), X, NAMES, 3)
    model.fit(X[:60], NAMES[:60])
    assert model.dual_coef_.shape == (60, len(np.unique(NAMES[:60])))


def test_leave_one_out_is_that_of_all_points():
    model = fixed(**GIVEN).partial_fit(X[:50], NAMES[:50], CLASSES)
    assert model.loo_proba_.shape == (50, 3)
    assert model.partial_fit(X[50:], NAMES[50:]).loo_proba_.shape == (75, 3)


def test_memory_is_that_of_the_points_not_of_the_calls():
    points, labels = make_blobs(600, n_features=50, centers=3, cluster_std=20.0, random_state=0)
    fixed(**GIVEN).partial_fit(points[:5], labels[:5], np.unique(labels))  # compiled before it counts
    kept = []
    for n_chunks in (2, 12):
        model = fixed(**GIVEN)
        gc.collect()
        tracemalloc.start()
        stream(model, points, labels, n_chunks, classes=np.unique(labels))
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert kept[1] < 1.5 * kept[0]  # what calls leave behind in caches varies by up to a quarter
    assert model.model_.points.nbytes == points.nbytes


# --- what is refused ---


def test_classes_are_needed_in_the_first_call():
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        fixed().partial_fit(X, NAMES)


def test_other_classes_are_refused_later():
    model = fixed().partial_fit(X, NAMES, CLASSES)
    with pytest.raises(ValueError, match="must be the same as in the first call"):
        model.partial_fit(X, NAMES, ["setosa", "rose", "virginica"])


def test_labels_that_were_not_declared_are_refused():
    with pytest.raises(ValueError, match="not in `classes`"):
        fixed().partial_fit(X, NAMES, ["setosa", "versicolor"])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two labels"):
        fixed().partial_fit(X, np.zeros(len(X)), [0])


def test_columns_must_be_the_classes():
    with pytest.raises(ValueError, match="one column for each"):
        fixed().partial_fit(X, np.full((len(X), 2), 0.5), [0, 1, 2])


def test_inner_nodes_are_refused():
    tree = {"p": ["a", "b"], "c": None}
    with pytest.raises(ValueError, match="inner nodes"):
        fixed(hierarchy=tree).partial_fit(X[:3], ["a", "p", "c"])


def test_a_refused_chunk_leaves_the_model_as_it_was():
    model = fixed(**GIVEN).partial_fit(X, NAMES, CLASSES)
    before = model.predict_proba(X)
    for wrong in (np.array(["rose"] * len(X)), NAMES[:3]):
        with pytest.raises(ValueError):
            model.partial_fit(X, wrong)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    "settings",
    [{"one_vs_rest": True}, {"kernel": "precomputed"}, {"bias_variance": np.inf}, {"class_weight": "balanced"}],
    ids=str,
)
def test_settings_that_no_stream_has_hide_the_method(settings):
    model = fixed().set_params(**settings)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError):
        model.partial_fit(X, NAMES, CLASSES)


def test_a_model_from_a_file_takes_no_points(tmp_path):
    fixed().fit(X, NAMES).save_model(tmp_path / "model.skops")
    with pytest.raises(ValueError, match="model file does not contain"):
        load_model(tmp_path / "model.skops").partial_fit(X, NAMES)


# --- the solver by name ---


def test_smo_finds_what_newton_finds():
    settings = {**GIVEN, "tol": 1e-7}
    pairwise, newton = (fixed(solver=solver, **settings).fit(X, NAMES) for solver in ("smo", "newton"))
    np.testing.assert_allclose(pairwise.dual_coef_, newton.dual_coef_, atol=1e-6)


def test_smo_does_not_store_the_matrix():
    model = fixed(solver="smo").fit(X, NAMES)
    assert "Rows of the kernel matrix" in model.operator_


def test_smo_serves_the_final_fit_of_a_search():
    settings = {"cv": 2, "random_state": 0, "tol": 1e-6, "tying": "shared", "ard": False}
    pairwise, newton = (
        KernelLogisticClassifier(solver=solver, **settings).fit(X, NAMES) for solver in ("smo", "newton")
    )
    assert pairwise.kernels_ == newton.kernels_
    np.testing.assert_allclose(pairwise.predict_proba(X), newton.predict_proba(X), atol=1e-4)


def test_distributions_are_found_by_the_names_of_columns():
    table = pd.DataFrame(np.eye(3)[np.searchsorted(CLASSES, NAMES)], columns=CLASSES)
    turned = table[CLASSES[[2, 0, 1]]]
    model = fixed(**GIVEN).partial_fit(X, turned, classes=CLASSES[::-1])
    wanted = fixed(**GIVEN).partial_fit(X, NAMES, classes=CLASSES)
    np.testing.assert_allclose(model.predict_proba(X), wanted.predict_proba(X), atol=1e-6)


def test_labels_follow_a_fit_with_columns_in_any_order():
    table = pd.DataFrame(np.eye(3)[np.searchsorted(CLASSES, NAMES)], columns=CLASSES)[CLASSES[[2, 0, 1]]]
    model = fixed(**GIVEN).fit(X[:40], table[:40]).partial_fit(X[40:], NAMES[40:])
    wanted = fixed(tol=1e-8, **GIVEN).fit(X, NAMES).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), wanted[:, [2, 0, 1]], atol=1e-3)


TREE = {"setosa": "small", "versicolor": "large", "virginica": "large"}


@pytest.mark.parametrize(
    "settings, labels, classes, message",
    [
        ({"class_weight": {"setosa": 0.0}}, ["setosa"] * 3, CLASSES, "all have weight 0"),
        ({"hierarchy": "paths"}, ["a/b", "a/c", "d"], None, "`classes` must be passed on the first call"),
        ({"hierarchy": TREE}, ["setosa"] * 3, ["setosa", "rose"], "rose"),
        ({}, ["setosa", None, "setosa"], CLASSES, "but is None, NaN or NA in row 1"),
        ({}, [["a", "b", "c"]] * 3, CLASSES, "Pass class labels as one column"),
    ],
)
def test_first_chunks_that_cannot_begin_are_refused(settings, labels, classes, message):
    with pytest.raises(ValueError, match=message):
        fixed(**settings).partial_fit(X[:3], np.array(labels, dtype=object), classes)


def test_classes_of_a_hierarchy_may_be_repeated():
    model = fixed(hierarchy=TREE, **GIVEN)
    for rows in (slice(0, 40), slice(40, None)):
        model.partial_fit(X[rows], NAMES[rows], classes=["setosa", "virginica"])
    assert list(model.classes_) == list(CLASSES)


@pytest.mark.parametrize(
    "fitted, changed", [({"kernel": "precomputed"}, "linear"), ({"bias_variance": np.inf}, 16.0)]
)
def test_nothing_is_added_to_a_fit_that_cannot_grow_whatever_is_set_later(fitted, changed):
    model = fixed(**fitted).fit(X @ X.T if "kernel" in fitted else X, NAMES)
    model.set_params(**dict.fromkeys(fitted, changed))
    with pytest.raises(ValueError, match="No points can be added"):
        model.partial_fit(X, NAMES)


def test_hierarchies_cannot_come_later():
    model = fixed(**GIVEN).fit(X, NAMES).set_params(hierarchy=TREE)
    with pytest.raises(ValueError, match="`hierarchy` was set after the last fit"):
        model.partial_fit(X, NAMES)


def test_nothing_is_added_to_one_against_the_rest():
    model = fixed(one_vs_rest=True, **GIVEN).fit(X, NAMES).set_params(one_vs_rest=False)
    with pytest.raises(ValueError, match="one_vs_rest=True"):
        model.partial_fit(X, NAMES)
