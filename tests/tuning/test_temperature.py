"""Probabilities as sharp as held-out rows want them."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss

import logikern
from logikern.model import persistence
from logikern.numerics.temperature import Temperature
from tests.tuning.samples import MOONS, SIDES, X, default_fit, same, tuned

WORDS, TOPICS = 60, 4
PLAIN = {"tying": "shared", "ard": False}


def texts(n=160, seed=0):
    """Bags of words of unit norm, most of whose words are of any topic, and their topics."""
    random = np.random.default_rng(seed)
    topics = np.arange(n) % TOPICS
    counts = random.poisson(0.15, (n, WORDS)).astype(float)
    for row, topic in enumerate(topics):
        counts[row, random.integers(topic * 15, topic * 15 + 15, random.integers(1, 5))] += 1.0
    return sparse.csr_matrix(counts / np.linalg.norm(counts, axis=1, keepdims=True)), topics


BAGS, NUMBERS = texts()
NEW_BAGS, NEW_NUMBERS = texts(400, seed=1)


def temperature(model):
    return model.model_.specification.temperature


@pytest.fixture(scope="module")
def of_texts():
    return tuned("linear", **PLAIN).fit(BAGS, NUMBERS)


def test_texts_are_sharpened_unless_told_otherwise(of_texts):
    assert not temperature(of_texts).is_neutral
    assert temperature(tuned("linear", sharpen=False, **PLAIN).fit(BAGS, NUMBERS)).is_neutral


def test_tables_are_sharpened_on_request_only():
    assert temperature(default_fit()).is_neutral
    assert temperature(tuned(**PLAIN).fit(MOONS, SIDES)).is_neutral
    assert not temperature(tuned(sharpen=True, **PLAIN).fit(MOONS, SIDES)).is_neutral


def test_dense_texts_are_as_sharp(of_texts):
    found = temperature(tuned("linear", **PLAIN).fit(BAGS.toarray(), NUMBERS))
    # Rough fits end the searches at variances that differ, and the temperature follows the variance.
    assert (found.certain, found.uncertain) == pytest.approx(
        (temperature(of_texts).certain, temperature(of_texts).uncertain), rel=0.15
    )


def test_zeros_that_are_stored_are_zeros(of_texts):
    stored = sparse.csr_matrix(BAGS.toarray() + 1.0)
    stored.data -= 1.0
    assert stored.nnz > BAGS.nnz and not temperature(tuned("linear", **PLAIN).fit(stored, NUMBERS)).is_neutral


def test_sparse_tables_without_zeros_are_tables():
    filled = sparse.csr_matrix(np.abs(BAGS.toarray()) + 0.01)
    assert temperature(tuned("linear", **PLAIN).fit(filled, NUMBERS)).is_neutral


def test_temperature_lowers_the_criterion(of_texts):
    plain = tuned("linear", sharpen=False, **PLAIN).fit(BAGS, NUMBERS)
    assert of_texts.criterion_value_ < plain.criterion_value_


@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_both_criteria_learn_it(criterion):
    model = tuned(criterion=criterion, sharpen=True, **PLAIN).fit(MOONS, SIDES)
    assert not temperature(model).is_neutral and np.isfinite(log_loss(SIDES, model.predict_proba(MOONS)))


def test_nothing_is_sharpened_where_nothing_is_learned():
    assert temperature(tuned("linear", sharpen=True, criterion=None).fit(BAGS, NUMBERS)).is_neutral


def test_probabilities_are_those_of_sharpened_latents(of_texts):
    values = of_texts.decision_function(NEW_BAGS)
    expected = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(of_texts.predict_proba(NEW_BAGS), expected, rtol=1e-10)


def test_latents_are_those_of_the_dual_times_a_scale_for_each_row(of_texts):
    model = of_texts.model_
    plain = type(model)(without(model.specification), model.points, model.dual).latents(NEW_BAGS)
    ratio = of_texts.decision_function(NEW_BAGS) / plain
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[:, :1], ratio.shape), rtol=1e-9)
    low, high = sorted([temperature(of_texts).certain, temperature(of_texts).uncertain])
    assert (ratio >= low - 1e-12).all() and (ratio <= high + 1e-12).all()


def without(specification):
    return replace(specification, temperature=Temperature())


def test_predicted_class_is_the_most_probable_one(of_texts):
    best = of_texts.predict_proba(NEW_BAGS).argmax(axis=1)
    assert np.array_equal(of_texts.predict(NEW_BAGS), of_texts.classes_[best])


def test_rows_left_out_are_as_sharp_as_new_ones(of_texts):
    # The approximation of leave-one-out is checked elsewhere; refitting shares nothing with it but the temperature.
    np.testing.assert_allclose(of_texts.loo_proba_, of_texts.exact_loo(), atol=0.03)
    plain = tuned("linear", criterion=None, variance=of_texts.variances_[0]).fit(BAGS, NUMBERS)
    assert np.abs(of_texts.loo_proba_ - plain.loo_proba_).max() > 0.01


def test_saved_model_is_as_sharp(of_texts, tmp_path):
    of_texts.save_model(tmp_path / "m.skops")
    again = logikern.load_model(tmp_path / "m.skops")
    assert np.array_equal(again.predict_proba(NEW_BAGS), of_texts.predict_proba(NEW_BAGS))


def test_model_files_without_the_setting_are_read(of_texts, tmp_path):
    older = copy.copy(of_texts)
    del older.sharpen
    persistence.save_model(older, tmp_path / "m.skops")
    again = logikern.load_model(tmp_path / "m.skops")
    assert again.get_params()["sharpen"] == "auto"
    assert np.array_equal(again.predict_proba(NEW_BAGS), of_texts.predict_proba(NEW_BAGS))


@pytest.mark.parametrize("wrong", [Temperature(0.0, 1.0), Temperature(1.0, np.inf), Temperature(1, 1.0)], ids=str)
def test_model_files_with_an_invalid_temperature_are_refused(of_texts, tmp_path, wrong):
    forged = copy.copy(of_texts)
    forged.model_ = replace(of_texts.model_, specification=replace(of_texts.model_.specification, temperature=wrong))
    persistence.save_model(forged, tmp_path / "m.skops")
    with pytest.raises(ValueError, match="its temperature is not positive and finite"):
        logikern.load_model(tmp_path / "m.skops")


def test_regressors_with_a_temperature_are_refused(tmp_path):
    forged = logikern.KernelRegressor(criterion=None).fit(MOONS, SIDES.astype(float))
    specification = replace(forged.model_.specification, temperature=Temperature(2.0, 3.0))
    forged.model_ = replace(forged.model_, specification=specification)
    persistence.save_model(forged, tmp_path / "m.skops")
    with pytest.raises(ValueError, match="it is a regressor, but has a temperature"):
        logikern.load_model(tmp_path / "m.skops")


def test_nodes_are_sums_of_sharpened_leaves():
    paths = np.array(["a/x", "a/y", "b/x", "b/y"])[NUMBERS]
    model = tuned("linear", hierarchy="paths").fit(BAGS, paths)
    assert not temperature(model).is_neutral
    nodes, leaves = model.predict_node_proba_frame(NEW_BAGS), model.predict_proba_frame(NEW_BAGS)
    np.testing.assert_allclose(nodes["a"], leaves["a/x"] + leaves["a/y"], rtol=1e-12)


def test_more_rows_leave_the_temperature(of_texts):
    model = tuned("linear", **PLAIN).fit(BAGS, NUMBERS)
    model.partial_fit(NEW_BAGS[:8], NEW_NUMBERS[:8])
    assert temperature(model) == temperature(of_texts)


def test_checkpoint_keeps_the_temperature(of_texts, tmp_path):
    path = tmp_path / "fit.search"
    tuned("linear", checkpoint=path, **PLAIN).fit(BAGS, NUMBERS)
    again = tuned("linear", checkpoint=path, **PLAIN).fit(BAGS, NUMBERS)
    assert same(again, of_texts) and temperature(again) == temperature(of_texts)


def test_frame_and_story_tell_of_it(of_texts):
    frame = of_texts.hyperparameters_.set_index("name")
    assert frame.loc["inverse temperature of uncertain rows", "value"] == temperature(of_texts).uncertain
    assert f"Inverse temperature: {temperature(of_texts).certain:.2f} for certain rows" in of_texts.explain()
    assert "Latents count" not in default_fit().explain()


@pytest.mark.parametrize("wrong", ["always", 2, None])
def test_wrong_values_are_refused(wrong):
    with pytest.raises(ValueError, match="`sharpen` must be 'auto', True or False"):
        tuned(sharpen=wrong).fit(X, np.arange(len(X)) % 2)
