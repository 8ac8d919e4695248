"""What a model of sequences says about itself."""

import numpy as np
import pytest

from logikern import KernelSequenceClassifier, explain, load_model
from tests.sequences.samples import draw_sequences

X, NUMBERS = draw_sequences(30)
Y = [np.array(["red", "green", "blue"])[labels] for labels in NUMBERS]


@pytest.fixture(scope="module")
def searched():
    return KernelSequenceClassifier(random_state=0, search_size=60, window=1).fit(X, Y)


def words(told):
    """The text with its lines joined."""
    return " ".join(told.split())


def test_explanation_has_every_learned_value(searched):
    told, own = words(searched.explain()), searched.specification_
    assert "Final model: 7 learned hyperparameters." in told
    assert f"Kernel: Gaussian, rate {own.positions.kernels[0].rate:.3g} for all inputs." in told
    assert f"Variance: {own.positions.variances[0]:.3g}. Bias variance: 16." in told
    mean = f"mean estimated from the transition counts of the training labels, with pseudocount {own.pseudocount:.3g}"
    assert f"Prior of the transition scores: variance {own.transition_variance:.3g}; {mean}." in told
    assert f"plus {own.piecewise:.3g} (`piecewise`) times the log loss of each position on its own." in told
    before, after = own.window
    assert f"has weight 1: {before:.2g} at -1, {after:.2g} at +1." in told


def test_explanation_names_the_most_and_least_likely_pairs(searched):
    told, scores = words(searched.explain()), searched.transition_
    names = searched.classes_
    (one, two), (three, four) = (np.unravel_index(find(scores), (3, 3)) for find in (np.argmax, np.argmin))
    assert f"Highest scores: {names[two]} after {names[one]} ({scores.max():.2f})," in told
    assert f"Lowest: {names[four]} after {names[three]} ({scores.min():.2f})," in told


def test_explanation_has_the_search_and_the_fit(searched):
    told = words(searched.explain())
    assert f"Criterion {searched.criterion_value_:.4f} on {searched.trace_[0].n_points} rows" in told
    assert f"{len(searched.trace_)} evaluations in" in told
    assert f"Final fit: {searched.n_iter_} steps, {searched.n_products_} kernel products." in told
    assert told.endswith(searched.outcome_.value)


def test_explanation_of_fixed_hyperparameters():
    told = words(KernelSequenceClassifier(criterion=None, piecewise=0.0, pseudocount=np.inf).fit(X, Y).explain())
    assert "Final model: fixed hyperparameters, without a search." in told and "mean zero." in told
    assert not any(part in told for part in ("piecewise", "neighbouring inputs", "Criterion", "Cost"))


def test_two_labels_have_two_named_pairs():
    binary = [labels == "red" for labels in Y]
    told = words(KernelSequenceClassifier(criterion=None).fit(X, binary).explain())
    highest, lowest = told.partition("Highest scores: ")[2].split(". Positions")[0].split(". Lowest: ")
    assert highest.count(" after ") == 2 and lowest.count(" after ") == 2


def test_explanation_of_a_search_that_was_stopped_or_failed(monkeypatch):
    with pytest.warns(match="time limit"):
        stopped = KernelSequenceClassifier(random_state=0, search_size=60, max_time=1e-6).fit(X, Y)
    assert "The search ended early: the time limit was reached." in words(stopped.explain())
    with pytest.warns(match="failed at its starting"):
        failed = KernelSequenceClassifier(random_state=0, search_size=60, max_iter=1, variance=1e4).fit(X, Y)
    assert "Final model: the starting values of the search, because the search failed." in words(failed.explain())


def test_explanation_of_a_loaded_model_is_the_same(searched, tmp_path):
    searched.save_model(tmp_path / "m.skops")
    assert explain(load_model(tmp_path / "m.skops")) == searched.explain()
