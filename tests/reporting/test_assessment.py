"""Scores of a report, against scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.dummy import DummyClassifier

from logikern.reporting.assessment import assess, n_bins_for


@pytest.fixture(scope="module")
def sample():
    """Log probabilities of four classes, and the true class of each row."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(300, 4))
    log_probabilities = latent - np.log(np.exp(latent).sum(axis=1, keepdims=True))
    true = np.array([rng.choice(4, p=np.exp(row) / np.exp(row).sum()) for row in 1.5 * latent])
    return log_probabilities, true


@pytest.fixture(scope="module")
def found(sample):
    return assess(*sample)


def scores_of(probabilities, true):
    """Log loss, error and Brier score by scikit-learn."""
    return [
        metrics.log_loss(true, probabilities, labels=range(4)),
        1 - metrics.accuracy_score(true, probabilities.argmax(axis=1)),
        metrics.brier_score_loss(true, probabilities, labels=range(4), scale_by_half=False),
    ]


def test_scores_are_those_of_scikit_learn(found, sample):
    expected = scores_of(np.exp(sample[0]), sample[1])
    np.testing.assert_allclose([score.model.value for score in found.scores], expected)


def test_baseline_is_the_dummy_of_scikit_learn(found, sample):
    true = sample[1]
    dummy = DummyClassifier(strategy="prior").fit(np.zeros((len(true), 1)), true)
    expected = scores_of(dummy.predict_proba(np.zeros((len(true), 1))), true)
    np.testing.assert_allclose([score.baseline.value for score in found.scores], expected)


def test_intervals_contain_the_scores(found):
    for score in found.scores:
        for own in (score.model, score.baseline):
            assert own.low <= own.value <= own.high


def test_bins_count_all_rows_and_average_to_the_accuracy(found, sample):
    counts = np.array([own.n_rows for own in found.bins])
    right = np.array([own.accuracy.value for own in found.bins]) @ counts
    assert counts.sum() == 300 and len(counts) == n_bins_for(300)
    assert right == pytest.approx(np.sum(sample[0].argmax(axis=1) == sample[1]))


def test_rejections_follow_the_sorted_rows(found, sample):
    order = np.argsort(np.exp(sample[0]).max(axis=1))
    wrong = (sample[0].argmax(axis=1) != sample[1])[order]
    for fraction, error in found.rejections:
        assert error == pytest.approx(wrong[round(300 * fraction) :].mean())


def test_class_without_rows_is_no_problem():
    found = assess(np.log(np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])), np.array([0, 1]))
    assert all(np.isfinite(score.baseline.value) for score in found.scores)
