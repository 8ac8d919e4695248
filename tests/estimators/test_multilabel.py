"""Labels that rows may have in any number: structures, decisions, and what is accepted as labels."""

import itertools
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from logikern import KernelLogisticClassifier, KernelMultilabelClassifier, joint_log_loss
from logikern.estimators.multilabel import _choice, _structures

FIXED = {"kernel": "gaussian", "rate": 0.7, "variance": 5.0, "criterion": None, "random_state": 0}
COMPARED = ("independent", "joint")
STRUCTURES = (*COMPARED, "coupled")
every_structure = pytest.mark.parametrize("structure", STRUCTURES)


def rows(n=90, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 3))


def labels(X, dependence=0.0, seed=1):
    """Three labels. With dependence 1 the second one is the first one, up to the inputs."""
    random = np.random.default_rng(seed)
    noise = random.logistic(size=(len(X), 3))
    noise[:, 1] = np.where(random.random(len(X)) < dependence, noise[:, 0], noise[:, 1])
    return (np.column_stack([X[:, 0], X[:, 0], X[:, 1] - X[:, 2]]) + 0.7 * noise > 0).astype(int)


X, NEW = rows(), rows(40, 2)
Y, NEW_Y = labels(X), labels(NEW, seed=3)
ALL_SETS = np.array(list(itertools.product([0, 1], repeat=3)))


def fixed(**settings):
    return KernelMultilabelClassifier(**FIXED | settings)


def set_numbers(y):
    return np.asarray(y) @ [4, 2, 1]


def test_independent_labels_are_binary_classifiers_with_the_same_hyperparameters():
    found = fixed(structure="independent").fit(X, Y).predict_proba(NEW)
    for label in range(3):
        alone = KernelLogisticClassifier(**FIXED).fit(X, Y[:, label]).predict_proba(NEW)[:, 1]
        np.testing.assert_allclose(found[:, label], alone, atol=1e-8)


@pytest.mark.parametrize("solver", ["newton", "exact"])
def test_solvers_agree_on_independent_labels(solver):
    found = fixed(structure="independent", solver=solver, tol=1e-9, precision="double").fit(X, Y).predict_proba(NEW)
    alone = MultiOutputClassifier(KernelLogisticClassifier(**FIXED)).fit(X, Y).predict_proba(NEW)
    np.testing.assert_allclose(found, np.stack([own[:, 1] for own in alone], axis=1), atol=1e-8)


def test_joint_structure_is_a_classifier_over_label_sets():
    model = fixed(structure="joint").fit(X, Y)
    alone = KernelLogisticClassifier(**FIXED).fit(X, set_numbers(Y))
    expected = alone.predict_proba(NEW)
    np.testing.assert_array_equal(set_numbers(model.label_sets_), alone.classes_)
    np.testing.assert_allclose(model.set_classifier_.predict_proba(NEW), expected, atol=1e-10)
    marginals = model.predict_proba(NEW)
    np.testing.assert_allclose(marginals, expected @ model.label_sets_, atol=1e-10)
    product = np.where(model.label_sets_ == 1, marginals[:, None], 1.0 - marginals[:, None]).prod(axis=2)
    mixed = (1.0 - model.unseen_share_) * expected + model.unseen_share_ * product
    np.testing.assert_allclose(model.predict_set_proba(NEW), mixed, atol=1e-10)


@every_structure
def test_probabilities_of_all_sets_sum_to_one_and_to_the_marginals(structure):
    model = fixed(structure=structure).fit(X, Y)
    whole = model.predict_set_proba(NEW, ALL_SETS)
    np.testing.assert_allclose(whole.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(whole @ ALL_SETS, model.predict_proba(NEW), rtol=1e-10)
    own = whole[np.arange(len(NEW)), set_numbers(NEW_Y)]
    np.testing.assert_allclose(model.set_log_proba(NEW, NEW_Y), np.log(own), rtol=1e-9)


@pytest.mark.parametrize(
    "loss, wrong", [("hamming", lambda t, c: (t != c).mean()), ("subset", lambda t, c: (t != c).any())]
)
@every_structure
def test_decisions_have_the_smallest_expected_loss(structure, loss, wrong):
    model = fixed(structure=structure).fit(X, Y)
    losses = np.array([[wrong(true, chosen) for chosen in ALL_SETS] for true in ALL_SETS], dtype=float)
    expected = model.predict_set_proba(NEW, ALL_SETS) @ losses
    chosen = set_numbers(model.decide(NEW, loss))
    np.testing.assert_allclose(expected[np.arange(len(NEW)), chosen], expected.min(axis=1), rtol=1e-9)


def test_prediction_minimises_the_hamming_loss():
    model = fixed(structure="joint").fit(X, Y)
    np.testing.assert_array_equal(model.predict(NEW), model.predict_proba(NEW) > 0.5)
    np.testing.assert_array_equal(model.predict(NEW), model.decide(NEW))


def test_unseen_share_counts_sets_that_occur_once():
    y = np.array([[0, 1]] * 5 + [[1, 0]] * 3 + [[1, 1], [0, 0]])
    model = fixed(structure="joint").fit(X[:10], y)
    assert model.unseen_share_ == (2 + 1) / (10 + 2)
    weighted = fixed(structure="joint").fit(X[:10], y, sample_weight=[1] * 8 + [2, 0])
    assert weighted.unseen_share_ == 1 / (10 + 2)
    assert len(weighted.label_sets_) == 3


SPLITS = list(KFold(3, shuffle=True, random_state=0).split(X))


def held_out(structure, kept, out):
    model = KernelLogisticClassifier(**FIXED)
    if structure == "independent":
        found = [model.fit(X[kept], own[kept]).predict_proba(X[out])[:, 1] for own in Y.T]
        return sum(log_loss(Y[out, label], own) for label, own in enumerate(found)) * len(out)
    sets, counts = np.unique(set_numbers(Y[kept]), return_counts=True)
    share = (counts[counts == 1].sum() + 1) / (len(kept) + 2)
    proba = model.fit(X[kept], set_numbers(Y[kept])).predict_proba(X[out])
    return joint_log_loss(Y[out], proba, ALL_SETS[sets], share) * len(out)


def test_structures_are_compared_by_the_loss_of_refitted_folds():
    model = fixed(cv=iter(SPLITS)).fit(X, Y)
    # Every fold keeps every set; otherwise folds of the comparison would know sets that refits do not.
    assert all(len(np.unique(set_numbers(Y[kept]))) == len(model.label_sets_) for kept, _ in SPLITS)
    for structure in COMPARED:
        expected = sum(held_out(structure, kept, out) for kept, out in SPLITS) / len(X)
        np.testing.assert_allclose(getattr(model.comparison_, structure), expected, atol=2e-5)
    assert model.structure_ == min(COMPARED, key=lambda name: getattr(model.comparison_, name))
    assert f"Structure of the labels: {model.structure_}" in model.explain()
    assert str(model.comparison_) in " ".join(model.explain().split())


@pytest.mark.parametrize("dependence, best", [(0.0, "independent"), (1.0, "joint")])
def test_auto_finds_the_structure_of_the_data(dependence, best):
    more = rows(200)
    model = fixed(rate=0.2, structure="auto").fit(more, labels(more, dependence))
    assert model.structure_ == best
    assert (model.comparison_.best == "joint") == (model.comparison_.joint < model.comparison_.independent)


def test_rows_that_alone_have_a_label_are_not_compared():
    rare = np.column_stack([Y, np.arange(len(Y)) == 7])
    model = fixed().fit(X, rare)
    assert model.comparison_.n_rows == len(X) - 1 and np.isfinite(model.comparison_.noise)
    assert np.isfinite(model.set_log_proba(X, rare)).all()
    alone = fixed().fit(np.eye(4), np.eye(4)[:, :3])
    assert alone.structure_ == "independent"


@pytest.mark.parametrize(
    "changed, told",
    [({"most_entries": 500}, "8 label sets to 90 rows would take too long"), ({"most_unseen": 0.0}, "are unique")],
)
def test_auto_leaves_out_a_joint_structure_of_too_many_sets(changed, told, monkeypatch):
    y = np.column_stack([Y, np.arange(len(Y)) == 7]) if "most_unseen" in changed else Y
    policy = replace(_structures.USUAL, **changed)
    monkeypatch.setattr(_choice, "obstacle_to_joint", partial(_structures.obstacle_to_joint, policy=policy))
    model = fixed().fit(X, y)
    assert model.structure_ == "independent" and model.comparison_ is None
    assert told in " ".join(model.explain().split())
    assert fixed(structure="joint").fit(X, y).structure_ == "joint"


@pytest.mark.parametrize("weights", [None, np.ones(len(X))], ids=["plain", "weighted"])
def test_large_joint_search_inherits_kernel_and_scale_of_inputs(weights, monkeypatch):
    policy = replace(_structures.USUAL, many_entries=1)
    monkeypatch.setattr(_choice, "inherit_inputs", partial(_structures.inherit_inputs, policy=policy))
    fits, fit = {}, _choice.fit_structure
    monkeypatch.setattr(_choice, "fit_structure", lambda name, *rest: fits.setdefault(name, fit(name, *rest)))
    KernelMultilabelClassifier(cv=2, random_state=0).fit(X, Y, sample_weight=weights)
    first, second = (fits[name].classifier for name in COMPARED)
    assert len(first.plan_.alternatives) > 1
    if weights is not None:
        assert len(second.plan_.alternatives) == len(first.plan_.alternatives)
        return
    assert len(second.plan_.alternatives) == 1
    assert type(second.kernels_[0]) is type(first.kernels_[0])
    assert second.encoder_.scaling.kind == first.encoder_.scaling.kind


def test_independent_labels_are_penalised_linear_models():
    """scikit-learn's own optimiser: log odds with weights of prior variance 2 * variance, and a constant as input."""
    variance, bias_variance = 0.3, 1.5
    model = fixed(kernel="linear", rate=None, variance=variance, bias_variance=bias_variance, structure="independent")
    found = model.fit(X, Y).predict_proba(NEW)
    wide, new = (np.column_stack([own, np.full(len(own), (bias_variance / variance) ** 0.5)]) for own in (X, NEW))
    linear = LogisticRegression(C=2 * variance, fit_intercept=False, tol=1e-10, max_iter=1000)
    for label in range(3):
        expected = linear.fit(wide, Y[:, label]).predict_proba(new)[:, 1]
        np.testing.assert_allclose(found[:, label], expected, atol=1e-5)


def test_learned_hyperparameters_lower_the_joint_log_loss():
    settings = {"structure": "independent", "random_state": 0, "kernel": "gaussian"}
    learned = KernelMultilabelClassifier(**settings).fit(X, Y)
    given = KernelMultilabelClassifier(**settings, criterion=None, variance=100.0).fit(X, Y)
    assert learned.set_log_proba(NEW, NEW_Y).mean() > given.set_log_proba(NEW, NEW_Y).mean()
    assert learned.criterion_value_ < joint_log_loss(Y, np.tile(Y.mean(axis=0), (len(Y), 1)))
    assert {"rate", "variance"} <= set(learned.hyperparameters_["name"])


def test_criterion_is_the_held_out_loss_of_binary_classifiers():
    learned = KernelMultilabelClassifier(
        "gaussian", structure="independent", tying="shared", ard=False, cv=SPLITS, search_size=None, random_state=0
    ).fit(X, Y)
    found = {"rate": learned.kernels_[0].rate, "variance": float(learned.variances_[0])}
    assert learned.encoder_.scaling.kind == "standard"
    inputs = learned.encoder_.transform(X)
    total = 0.0
    for kept, out in SPLITS:
        for own in Y.T:
            model = KernelLogisticClassifier("gaussian", criterion=None, inputs="raw", **found)
            total += log_loss(own[out], model.fit(inputs[kept], own[kept]).predict_proba(inputs[out])) * len(out)
    np.testing.assert_allclose(learned.criterion_value_, total / len(X), atol=1e-4)


@pytest.mark.parametrize(
    "form",
    [
        Y.astype(bool),
        Y.tolist(),
        Y.astype(float),
        sparse.csr_matrix(Y),
        sparse.csc_array(Y.astype(bool)),
        pd.DataFrame(Y),
    ],
    ids=["bool", "lists", "floats", "sparse", "sparse bool", "frame"],
)
def test_indicators_may_have_any_form(form):
    expected = fixed(structure="independent").fit(X, Y).predict_proba(NEW)
    np.testing.assert_array_equal(fixed(structure="independent").fit(X, form).predict_proba(NEW), expected)


def test_frames_give_labels_their_names():
    frame = pd.DataFrame(NEW, columns=["a", "b", "c"], index=[f"row {place}" for place in range(len(NEW))])
    model = fixed(structure="joint").fit(
        pd.DataFrame(X, columns=frame.columns), pd.DataFrame(Y, columns=["p", "q", "r"])
    )
    assert model.classes_.tolist() == ["p", "q", "r"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    found = model.predict_proba_frame(frame)
    assert found.columns.tolist() == ["p", "q", "r"] and found.index.equals(frame.index)
    np.testing.assert_array_equal(found, model.predict_proba(frame))


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_other_frames_give_labels_their_names(make):
    model = fixed(structure="independent").fit(X, make(pd.DataFrame(Y, columns=["p", "q", "r"])))
    assert model.classes_.tolist() == ["p", "q", "r"]
    np.testing.assert_array_equal(
        model.predict_proba(NEW), fixed(structure="independent").fit(X, Y).predict_proba(NEW)
    )


@every_structure
def test_constant_labels_have_their_share(structure):
    wide = np.column_stack([np.zeros(len(Y)), Y, np.ones(len(Y))]).astype(int)
    with pytest.warns(UserWarning, match="'0', '4' are present in all rows, or absent from all"):
        model = fixed(structure=structure).fit(X, wide)
    found = model.predict_proba(NEW)
    assert (found[:, 0] == 0).all() and (found[:, 4] == 1).all()
    plain = fixed(structure=structure).fit(X, Y)
    np.testing.assert_array_equal(found[:, 1:4], plain.predict_proba(NEW))
    own = np.column_stack([np.zeros(len(NEW)), NEW_Y, np.ones(len(NEW))])
    np.testing.assert_allclose(model.set_log_proba(NEW, own), plain.set_log_proba(NEW, NEW_Y), rtol=1e-12)
    for loss in ("hamming", "subset", "f1"):
        np.testing.assert_array_equal(model.decide(NEW, loss)[:, [0, 4]], np.tile([0, 1], (len(NEW), 1)))


def test_rows_without_weight_do_not_count():
    weights = np.r_[np.ones(60), np.zeros(30)]
    for structure in STRUCTURES:
        expected = fixed(structure=structure).fit(X[:60], Y[:60])
        found = fixed(structure=structure).fit(X, Y, sample_weight=pd.Series(weights))
        np.testing.assert_allclose(found.predict_proba(NEW), expected.predict_proba(NEW), atol=1e-9)
        assert found.unseen_share_ == expected.unseen_share_


@every_structure
def test_a_weight_of_two_counts_as_two_rows(structure):
    weights = np.arange(len(X)) % 2 + 1
    # So many rows are fitted by iterations, to their tolerance.
    model = fixed(structure=structure, tol=1e-9, precision="double")
    weighted = clone(model).fit(X, Y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    np.testing.assert_allclose(weighted.set_log_proba(NEW, NEW_Y), repeated.set_log_proba(NEW, NEW_Y), atol=1e-7)


def test_tools_of_scikit_learn_work():
    pipeline = make_pipeline(StandardScaler(), fixed(structure="independent"))
    assert cross_val_score(pipeline, X, Y, cv=3).shape == (3,)
    grid = GridSearchCV(fixed(), {"structure": list(STRUCTURES)}, cv=2).fit(X, Y)
    assert grid.predict(NEW).shape == NEW_Y.shape
    model = fixed(structure="joint").fit(X, Y)
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict_set_proba(NEW), model.predict_set_proba(NEW))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("tying", ["auto", "shared", "scaled", "separate"])
def test_coupled_structure_learns_variances_of_labels_and_of_label_sets(tying):
    model = KernelMultilabelClassifier("gaussian", structure="coupled", tying=tying, cv=3, random_state=0).fit(X, Y)
    n_sets = len(model.label_sets_)
    assert len(model.variances_) == 3 + n_sets
    assert len(set(model.variances_[:3])) == 1
    assert "labels" in set(model.hyperparameters_["classes"])
    assert np.isfinite(model.set_log_proba(NEW, NEW_Y)).all()
    assert "functions of labels" in model.explain() or "Functions of labels" in model.explain()


def test_sparse_inputs_and_precomputed_kernels_give_the_same_probabilities():
    for structure in COMPARED:
        expected = fixed(structure=structure).fit(X, Y).predict_proba(NEW)
        found = fixed(structure=structure).fit(sparse.csr_array(X), Y).predict_proba(sparse.csr_array(NEW))
        np.testing.assert_allclose(found, expected, atol=1e-8)
    values = np.exp(-0.35 * ((X[:, None] - X) ** 2).sum(axis=2))
    new = np.exp(-0.35 * ((NEW[:, None] - X) ** 2).sum(axis=2))
    given = fixed(kernel="precomputed", rate=None).fit(values, Y)
    np.testing.assert_allclose(given.predict_proba(new), fixed().fit(X, Y).predict_proba(NEW), atol=1e-7)


def test_groups_are_held_out_together():
    groups = np.arange(len(X)) // 3
    model = fixed().fit(X, Y, groups=groups)
    assert model.comparison_.n_rows == len(X)
    with pytest.raises(ValueError, match="one group for each of the 90 rows"):
        fixed().fit(X, Y, groups=groups[:5])
