"""Tuned models repeat, are kept to the last bit, and are learned from every kind of input."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from logikern import KernelLogisticClassifier, load_model
from tests.tuning.samples import MOONS, NAMES, SIDES, X, default_fit, same, tuned

MANY = np.vstack([MOONS, MOONS + 0.01])
MANY_SIDES = np.tile(SIDES, 2)


def test_same_random_state_gives_the_same_model():
    assert same(tuned().fit(X, NAMES), default_fit())


def test_same_random_state_gives_the_same_model_of_more_points():
    # More than the exact solver takes: random pivots are drawn as well.
    models = [tuned(tying="shared").fit(MANY, MANY_SIDES) for _ in range(2)]
    assert same(*models)


def test_other_random_state_draws_other_folds():
    assert tuned(random_state=1).fit(X, NAMES).criterion_value_ != default_fit().criterion_value_


def test_fit_again_forgets_the_first():
    model = tuned().fit(MOONS, SIDES)
    assert same(model.fit(X, NAMES), default_fit())


def test_clone_learns_the_same():
    assert same(clone(default_fit()).fit(X, NAMES), default_fit())


def test_order_of_names_does_not_matter():
    renamed = np.char.add("species ", NAMES)
    np.testing.assert_array_equal(tuned().fit(X, renamed).predict_proba(X), default_fit().predict_proba(X))


MODELS = {
    "default": {},
    "separate with rates of inputs": {"tying": "separate", "ard": True},
    "against the rest": {"one_vs_rest": True, "tying": "shared"},
}


@pytest.mark.parametrize("name", MODELS)
def test_pickle_keeps_every_bit(name):
    model = tuned(**MODELS[name]).fit(X, NAMES)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", MODELS)
def test_model_file_keeps_every_bit(name, tmp_path):
    model = tuned(**MODELS[name]).fit(X, NAMES)
    model.save_model(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("part", ["trace_", "verdicts_", "criterion_value_"])
def test_model_file_keeps_the_story(part, tmp_path):
    default_fit().save_model(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    # Of the first verdict the gain is nan, which equals nothing.
    assert repr(getattr(loaded, part)) == repr(getattr(default_fit(), part))


def test_model_file_keeps_the_frame(tmp_path):
    default_fit().save_model(tmp_path / "model")
    assert load_model(tmp_path / "model").hyperparameters_.equals(default_fit().hyperparameters_)


def test_model_file_keeps_the_explanation(tmp_path):
    default_fit().save_model(tmp_path / "model")
    assert load_model(tmp_path / "model").explain() == default_fit().explain()


def text():
    """Counts of 300 words in 120 texts on two subjects."""
    generator = np.random.default_rng(0)
    labels = np.arange(120) % 2
    rates = np.full((2, 300), 0.05)
    rates[0, :30], rates[1, 30:60] = 0.2, 0.2
    return sparse.csr_matrix(generator.poisson(rates[labels]).astype(float)), labels


def test_variance_of_a_linear_kernel_on_sparse_text_is_learned():
    counts, labels = text()
    model = tuned("linear").fit(counts, labels)
    assert model.variances_[0] != model.start_.variances[0] and model.score(counts, labels) > 0.9


def test_sparse_and_dense_text_learn_the_same():
    counts, labels = text()
    dense = tuned("linear").fit(counts.toarray(), labels)
    other = tuned("linear").fit(counts, labels)
    # The criterion is flat and its fits are rough, so the searches end at variances that differ by a fifth.
    assert other.criterion_value_ == pytest.approx(dense.criterion_value_, rel=5e-3)
    np.testing.assert_allclose(other.predict_proba(counts), dense.predict_proba(counts.toarray()), atol=0.02)


def test_variance_of_a_given_matrix_is_learned():
    named = tuned("linear").fit(X, NAMES)
    given = tuned("precomputed").fit(X @ X.T, NAMES)
    np.testing.assert_allclose(given.variances_, named.variances_, rtol=1e-6)


def test_variance_of_a_function_is_learned():
    named = tuned("linear").fit(X, NAMES)
    function = tuned(lambda left, right: float(left @ right)).fit(X, NAMES)
    np.testing.assert_allclose(function.variances_, named.variances_, rtol=1e-6)


def test_soft_targets_equal_labels_where_they_are_certain():
    soft = tuned().fit(X, (NAMES[:, None] == np.unique(NAMES)).astype(float))
    np.testing.assert_array_equal(soft.predict_proba(X), default_fit().predict_proba(X))


def test_soft_targets_are_learned_from():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), len(X))
    # Distributions without any relation to the inputs: no better than their mean.
    prior = -(shares * np.log(shares.mean(axis=0))).sum(axis=1).mean()
    assert tuned().fit(X, shares).criterion_value_ == pytest.approx(prior, rel=0.1)


def test_class_with_one_member():
    labels = NAMES.copy().astype(object)
    labels[0] = "rare"
    model = tuned().fit(X, labels)
    assert np.isfinite(model.predict_log_proba(X)).all() and model.classes_.tolist()[0] == "rare"


def test_every_row_a_class_of_its_own(recwarn):
    model = tuned(tying="shared", ard=False).fit(X[:6], np.arange(6))
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.criterion_value_ >= np.log(6) - 1e-6


def test_two_rows_of_two_classes():
    model = tuned().fit(np.array([[0.0], [1.0]]), [0, 1])
    assert np.isfinite(model.predict_log_proba([[0.5]])).all()


def test_two_classes_have_mirrored_probabilities():
    flipped = tuned(tying="shared").fit(MOONS, 1 - SIDES).predict_proba(MOONS)
    np.testing.assert_allclose(
        tuned(tying="shared").fit(MOONS, SIDES).predict_proba(MOONS), flipped[:, ::-1], atol=1e-4
    )


def test_nested_cross_validation_works():
    assert cross_val_score(tuned(tying="shared"), MOONS, SIDES, cv=2).mean() > 0.7


def test_constant_inputs_learn_the_shares():
    model = tuned().fit(np.ones((40, 2)), np.arange(40) % 4 // 3)
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), [[0.75, 0.25]], atol=0.02)


def mean_loss_of_separated_classes(share_wrong):
    """Test log loss of two distant classes, some of whose labels are wrong."""
    generator = np.random.default_rng(0)
    sides = generator.random(800) < 0.5
    inputs = np.column_stack([np.where(sides, 2.0, -2.0), np.zeros(800)]) + 0.2 * generator.standard_normal((800, 2))
    labels = np.where(generator.random(800) < share_wrong, ~sides, sides).astype(int)
    model = KernelLogisticClassifier(random_state=0).fit(inputs[:300], labels[:300])
    return -np.log(model.predict_proba(inputs[300:])[np.arange(500), labels[300:]]).mean()


def test_separated_classes_are_predicted_with_certainty():
    # 300 rows without an error leave a rate of errors of about one over their number.
    assert mean_loss_of_separated_classes(0.0) < 1 / 300


def test_wrong_labels_prevent_certainty():
    entropy = -(0.1 * np.log(0.1) + 0.9 * np.log(0.9))
    assert abs(mean_loss_of_separated_classes(0.1) - entropy) < 0.1
