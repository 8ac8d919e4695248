"""The classifier of sequences: other models that it contains, and forms of inputs."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GroupKFold

from logikern import (
    KernelLogisticClassifier,
    KernelSequenceClassifier,
    Linear,
    predict_decisions,
    suspects,
)
from tests.sequences.enumeration import fit_linear_field
from tests.sequences.samples import draw_sequences

FIXED = {"criterion": None, "rate": 0.5, "variance": 3.0, "precision": "double", "tol": 1e-10}
PLAIN = {"pseudocount": np.inf, "piecewise": 0.0}
X, Y = draw_sequences(25)
NEW, NEW_Y = draw_sequences(10, seed=1)


def fit(**settings):
    return KernelSequenceClassifier(**{**FIXED, "random_state": 0, **settings}).fit(X, Y)


@pytest.mark.parametrize("longest", [1, 6])
@pytest.mark.parametrize("tying", ["shared", "separate"])
def test_without_transitions_it_is_the_classifier_of_single_rows(longest, tying):
    own, labels = draw_sequences(40, longest=longest)
    rows = KernelLogisticClassifier(kernel="gaussian", inputs="raw", tying=tying, **FIXED)
    rows.fit(np.concatenate(own), np.concatenate(labels))
    sequences = KernelSequenceClassifier(transition_variance=0.0, tying=tying, **FIXED, **PLAIN).fit(own, labels)
    np.testing.assert_allclose(
        np.concatenate(sequences.predict_proba(NEW)), rows.predict_proba(np.concatenate(NEW)), atol=1e-8
    )


def test_without_transitions_the_weight_of_places_repeats_the_data():
    twice = KernelSequenceClassifier(transition_variance=0.0, **FIXED, **PLAIN).fit(X + X, Y + Y)
    once = fit(transition_variance=0.0, pseudocount=np.inf, piecewise=1.0)
    np.testing.assert_allclose(
        np.concatenate(once.predict_proba(NEW)), np.concatenate(twice.predict_proba(NEW)), atol=1e-8
    )


def test_linear_kernel_is_the_linear_field_in_its_primal_form():
    settings = {**FIXED, **PLAIN, "kernel": Linear(), "rate": None, "transition_variance": 2.0}
    model = KernelSequenceClassifier(**settings).fit(X, Y)
    weights, constants, pairs, first, last = fit_linear_field(X, Y, 3, 3.0, 16.0, 2.0)
    np.testing.assert_allclose(model.transition_, pairs, atol=1e-4)
    np.testing.assert_allclose(model.start_, first, atol=1e-4)
    np.testing.assert_allclose(model.end_, last, atol=1e-4)
    latent = model._model.positions.latents(np.concatenate(NEW))
    np.testing.assert_allclose(latent, np.concatenate(NEW) @ weights + constants, atol=1e-4)


def test_single_precision_agrees_with_double():
    single, double = fit(precision="single", tol=1e-4), fit(tol=1e-4)
    for one, other in zip(single.predict_proba(NEW), double.predict_proba(NEW), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_learned_model_beats_single_rows_on_new_sequences():
    own, labels = draw_sequences(80, seed=2)
    model = KernelSequenceClassifier(random_state=0).fit(own, labels)
    rows = KernelLogisticClassifier(random_state=0).fit(np.concatenate(own), np.concatenate(labels))
    new, right = draw_sequences(200, seed=3)
    assert model.score(new, right) > rows.score(np.concatenate(new), np.concatenate(right)) + 0.03
    values = [record.value for record in model.trace_]
    assert min(values) < values[0] and model.outcome_.converged


def test_table_with_scattered_groups_is_the_list_of_sequences():
    model = fit()
    groups = np.repeat(np.arange(len(X)), [len(one) for one in X])
    # Rows of a sequence keep their order, but lie between those of others.
    order = np.argsort(np.concatenate([np.arange(len(one)) for one in X]), kind="stable")
    table, labels = np.concatenate(X)[order], np.concatenate(Y)[order]
    by_groups = clone(model).fit(table, labels, groups=groups[order])
    wanted = np.concatenate(model.predict_proba(X))[order]
    np.testing.assert_allclose(by_groups.predict_proba(table, groups=groups[order]), wanted, atol=1e-9)
    np.testing.assert_array_equal(
        by_groups.predict(table, groups=groups[order]), np.concatenate(model.predict(X))[order]
    )
    assert by_groups.score(table, labels, groups=groups[order]) == model.score(X, Y)


def test_sparse_rows_are_dense_rows():
    dense = fit()
    own = KernelSequenceClassifier(**FIXED).fit([sparse.csr_matrix(one) for one in X], Y)
    np.testing.assert_allclose(
        np.concatenate(own.predict_proba([sparse.csr_matrix(one) for one in NEW])),
        np.concatenate(dense.predict_proba(NEW)),
        atol=1e-8,
    )


def test_feature_dicts_are_their_vectors():
    dicts = [[{"left": row[0], "right": row[1]} for row in one] for one in X]
    settings = {**FIXED, "kernel": "linear", "rate": None}
    own, arrays = (KernelSequenceClassifier(**settings).fit(data, Y) for data in (dicts, X))
    np.testing.assert_allclose(
        np.concatenate(own.predict_proba(dicts)), np.concatenate(arrays.predict_proba(X)), atol=1e-8
    )
    assert list(own.vectorizer_.get_feature_names_out()) == ["left", "right"]


def test_strings_are_features_and_labels():
    words = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "dog"}], [{"word": "the"}, {"word": "dog"}]]
    model = KernelSequenceClassifier(criterion=None).fit(words, [["D", "N"]] * 3)
    assert [labels.tolist() for labels in model.predict([[{"word": "a"}, {"word": "cat"}]])] == [["D", "N"]]


def test_places_have_the_most_probable_label():
    model = fit(decoding="positions")
    for labels, chances in zip(model.predict(NEW), model.predict_marginals(NEW), strict=True):
        np.testing.assert_array_equal(labels, model.classes_[chances.argmax(axis=1)])


def test_best_sequence_is_at_least_as_probable_as_best_places():
    sequence, positions = fit(), fit(decoding="positions")
    best, other = sequence.predict(NEW), positions.predict(NEW)
    assert (sequence.log_likelihood(NEW, best) >= sequence.log_likelihood(NEW, other) - 1e-12).all()


def test_log_likelihoods_of_all_labels_sum_to_one():
    model, one = fit(), NEW[0][:2]
    every = [[first, second] for first in range(3) for second in range(3)]
    assert np.exp(model.log_likelihood([one] * 9, every)).sum() == pytest.approx(1.0)


def test_samples_have_the_frequencies_of_marginals():
    model = fit()
    drawn = model.sample(NEW, 4000, random_state=0)
    assert drawn[0].shape == (4000, len(NEW[0]))
    for own, chances in zip(drawn, model.predict_proba(NEW), strict=True):
        np.testing.assert_allclose([np.mean(own == label, axis=0) for label in range(3)], chances.T, atol=0.04)
    np.testing.assert_array_equal(drawn[0], model.sample(NEW, 4000, random_state=0)[0])


def test_prediction_in_parts_is_prediction_at_once(monkeypatch):
    model = fit()
    whole, likelihood = model.predict_proba(NEW), model.log_likelihood(NEW, NEW_Y)
    monkeypatch.setattr("logikern.sequences.model.TILE_ENTRIES", 40)
    np.testing.assert_allclose(np.concatenate(model.predict_proba(NEW)), np.concatenate(whole), atol=1e-12)
    np.testing.assert_allclose(model.log_likelihood(NEW, NEW_Y), likelihood, atol=1e-10)


def test_standardised_inputs_do_not_depend_on_their_units():
    scaled = [one * [1000.0, 0.01] + [5.0, -3.0] for one in X]
    settings = {**FIXED, "inputs": "standard"}
    one, other = (KernelSequenceClassifier(**settings).fit(data, Y).predict_proba(data) for data in (X, scaled))
    np.testing.assert_allclose(np.concatenate(one), np.concatenate(other), atol=1e-8)


def test_same_seed_gives_the_same_model_and_pickle_keeps_it():
    one, other = (KernelSequenceClassifier(random_state=3, search_size=40).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.transition_, other.transition_)
    kept = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(np.concatenate(kept.predict_proba(NEW)), np.concatenate(one.predict_proba(NEW)))


def test_splits_of_sequences_are_accepted():
    splits = list(GroupKFold(2).split(X, groups=np.arange(len(X)) // 5))
    assert len(KernelSequenceClassifier(cv=splits, random_state=0).fit(X, Y).trace_) > 1


def test_verbose_shows_evaluations_and_the_final_fit(capsys):
    fit(criterion="cv", verbose=1)
    shown = capsys.readouterr().out
    assert "evaluation 1 (hyperparameters): criterion" in shown and "final fit" in shown


def test_hyperparameters_are_a_frame():
    frame = fit(tying="scaled", transition_variance=0.0).hyperparameters_
    assert frame["name"].tolist() == [
        "rate",
        *["variance"] * 3,
        *("bias_variance", "transition_variance", "pseudocount", "piecewise"),
    ]
    assert frame["classes"].tolist() == ["all", "0", "1", "2", *["all"] * 4]
    assert frame["value"].tolist() == [0.5, 3.0, 3.0, 3.0, 16.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("answer", [suspects, lambda model: predict_decisions(model, X)])
def test_answers_for_single_rows_are_refused(answer):
    with pytest.raises(ValueError, match="must be a KernelLogisticClassifier.* is of type KernelSequenceClassifier"):
        answer(fit())


def test_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fit(max_iter=1)


def test_unfitted_model_says_so():
    model = KernelSequenceClassifier()
    with pytest.raises(ValueError):
        model.fit(X, Y[:1])
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("seed", range(12))
def test_fits_converge_at_random_settings(seed):
    random = np.random.RandomState(seed)
    model = fit(
        rate=10 ** random.uniform(-3, 2),
        variance=10 ** random.uniform(-2, 4),
        transition_variance=random.choice([0.0, 10 ** random.uniform(-2, 4)]),
        pseudocount=random.choice([np.inf, 1.0, 1e-3]),
        piecewise=random.choice([0.0, 1.0]),
        precision=random.choice(["single", "double"]),
        tol=1e-4,
    )
    assert model.outcome_.converged
