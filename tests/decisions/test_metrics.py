"""Target information, Brier score and calibration error against closed forms and scikit-learn."""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import log_loss

from logikern import target_information
from logikern.decisions.metrics import brier_score, calibration_error, reliability_bins
from tests.decisions.catalogue import draw, round_off, two_columns


def shares(true, n_classes):
    return np.bincount(true, minlength=n_classes) / len(true)


def test_information_of_a_hand_example():
    # 1 bit of entropy, less the mean of 1, 0, 2 and 0 bits.
    proba = [[0.5, 0.5], [1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]
    assert target_information([0, 0, 1, 1], proba) == pytest.approx(1 - 3 / 4, rel=1e-12)


def test_uniform_prior_gives_the_formula_of_cawley_and_talbot():
    sample = draw(100, 2)
    positive = sample.probabilities[:, 1]
    formula = 1 + np.mean(sample.true * np.log2(positive) + (1 - sample.true) * np.log2(1 - positive))
    assert target_information(sample.true, sample.probabilities, prior="uniform") == pytest.approx(formula, rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_information_is_the_entropy_of_the_shares_less_the_log_loss(n_classes):
    sample = draw(400, n_classes)
    expected = entropy(shares(sample.true, n_classes), base=2) - log_loss(sample.true, sample.probabilities) / np.log(
        2
    )
    assert target_information(sample.true, sample.probabilities) == pytest.approx(expected, rel=1e-9)


def test_certain_and_right_has_the_entropy_of_the_shares():
    true = draw(200, 5).true
    assert target_information(true, np.eye(5)[true]) == pytest.approx(entropy(shares(true, 5), base=2), rel=1e-12)


@pytest.mark.parametrize("prior", [(0.2, 0.3, 0.5), (0.6, 0.3, 0.1)])
def test_predicting_the_prior_has_no_information(prior):
    true = draw(100, 3).true
    assert target_information(true, np.tile(prior, (100, 1)), prior=prior) == pytest.approx(0.0, abs=1e-12)


def test_predicting_the_shares_has_no_information():
    true = draw(100, 3).true
    assert target_information(true, np.tile(shares(true, 3), (100, 1))) == pytest.approx(0.0, abs=1e-12)


def test_worse_than_the_prior_is_negative():
    assert target_information([0, 1], [[0.2, 0.8], [0.8, 0.2]]) < -1


def test_true_class_of_probability_zero_has_minus_infinite_information():
    assert target_information([0, 1], [[1.0, 0.0], [1.0, 0.0]]) == -np.inf


def test_class_that_does_not_occur_leaves_information_finite():
    assert target_information([0, 1], [[0.5, 0.5, 0.0]] * 2, classes=[0, 1, 2]) == pytest.approx(0.0, abs=1e-12)


def test_prior_of_zero_is_lawful_for_a_class_that_does_not_occur():
    proba = [[0.5, 0.5, 0.0]] * 2
    bits = target_information([0, 1], proba, classes=[0, 1, 2], prior=[0.5, 0.5, 0.0])
    assert bits == pytest.approx(0.0, abs=1e-12)


def test_case_of_no_weight_has_no_say():
    proba = [[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]
    weighted = target_information([0, 1, 1], proba, sample_weight=[1, 1, 0])
    assert weighted == target_information([0, 1], proba[:2])


@pytest.mark.parametrize("score", [target_information, brier_score, calibration_error])
def test_weight_of_two_is_two_cases(score):
    sample = draw(50, 3)
    weights = np.random.default_rng(0).integers(0, 4, 50)
    repeated = np.repeat(np.arange(50), weights)
    assert score(sample.true, sample.probabilities, sample_weight=weights) == pytest.approx(
        score(sample.true[repeated], sample.probabilities[repeated]), rel=1e-9
    )


@pytest.mark.parametrize("score", [target_information, brier_score, calibration_error])
def test_labels_follow_the_order_of_classes(score):
    sample, names = draw(50, 3), np.array(["plum", "apple", "pear"])
    assert score(names[sample.true], sample.probabilities, classes=names) == score(sample.true, sample.probabilities)


@pytest.mark.parametrize(
    ("prior", "complaint"),
    [
        ([0.5, 0.5, 0.0], r"2 probabilities, but is \[0.5, 0.5, 0.0\]"),
        ("flat", "`prior` must hold numbers, but is 'flat'"),
        ([0.5, 0.6], "sums to 1.1"),
        ([1.0, 0.0], "is 0 for 'b'"),
    ],
)
def test_unlawful_prior_is_refused(prior, complaint):
    with pytest.raises(ValueError, match=complaint):
        target_information(["a", "b"], [[0.5, 0.5], [0.5, 0.5]], prior=prior)


def test_probabilities_that_sum_to_less_are_refused():
    with pytest.raises(ValueError, match="row 1 sums to 0.9"):
        target_information([0, 1], [[0.5, 0.5], [0.5, 0.4]])


def test_single_precision_is_accepted():
    sample = draw(100, 300)
    single = brier_score(sample.true, sample.probabilities.astype(np.float32), classes=range(300))
    assert single == pytest.approx(brier_score(sample.true, sample.probabilities, classes=range(300)), rel=1e-5)


def test_brier_score_of_a_hand_example():
    assert brier_score([0, 2], [[0.5, 0.25, 0.25], [1, 0, 0]], classes=[0, 1, 2]) == pytest.approx(
        (0.25 + 0.0625 + 0.0625 + 2) / 2
    )


def test_uniform_bins_are_those_of_a_loop():
    sample = draw(300, 4)
    top, correct = sample.probabilities.max(axis=1), sample.probabilities.argmax(axis=1) == sample.true
    gaps = 0.0
    for low in np.arange(10) / 10:
        inside = (top >= low) & (top < low + 0.1)
        if inside.any():
            gaps += inside.mean() * abs(top[inside].mean() - correct[inside].mean())
    error = calibration_error(sample.true, sample.probabilities, n_bins=10, strategy="uniform")
    assert error == pytest.approx(gaps, rel=1e-9)


def test_quantile_bins_are_blocks_of_the_sorted_cases():
    sample = draw(300, 4)
    order = np.argsort(sample.probabilities.max(axis=1))
    correct = (sample.probabilities.argmax(axis=1) == sample.true)[order]
    bins = reliability_bins(sample.true, sample.probabilities, n_bins=10)
    np.testing.assert_allclose(bins.share, 0.1)
    np.testing.assert_allclose(bins.accuracy, correct.reshape(10, 30).mean(axis=1))


def test_equal_confidence_shares_a_bin():
    sample = draw(300, 2)
    proba = round_off(sample.probabilities)
    bins = reliability_bins(sample.true, proba, n_bins=300)
    np.testing.assert_allclose(bins.confidence, np.unique(proba.max(axis=1)))


def test_certain_cases_fall_into_the_last_bin():
    bins = reliability_bins([0, 1], [[1.0, 0.0], [0.04, 0.96]], strategy="uniform")
    assert bins.confidence == pytest.approx([0.98])


def test_one_bin_gives_confidence_less_accuracy():
    y, proba = two_columns([0.9, 0.8, 0.7, 0.8], [True, False, False, True])
    assert calibration_error(y, proba, n_bins=1) == pytest.approx(0.8 - 0.5)


def test_calibrated_probabilities_have_calibration_error_of_noise_only():
    # With 20000 cases in 15 bins the noise of a bin is about sqrt(0.2 / 1333) = 0.012.
    sample = draw(20000, 4)
    assert calibration_error(sample.true, sample.probabilities) < 0.02


def test_overconfidence_is_its_gap():
    y, proba = two_columns(np.full(10, 0.95), [True] * 7 + [False] * 3)
    assert calibration_error(y, proba) == pytest.approx(0.25)


@pytest.mark.parametrize("n_bins", [0, 2.5, True, "many"])
def test_unlawful_number_of_bins_is_refused(n_bins):
    with pytest.raises(ValueError, match="`n_bins` must be a positive integer"):
        calibration_error([0, 1], np.eye(2), n_bins=n_bins)


def test_unknown_strategy_is_refused():
    with pytest.raises(ValueError, match=r"one of \['quantile', 'uniform'\], but is 'kmeans'"):
        calibration_error([0, 1], np.eye(2), strategy="kmeans")


@pytest.mark.parametrize("classes", [[1, "a"], [("x", "y"), ("x", "z")]], ids=["mixed", "paths"])
def test_labels_may_be_of_several_kinds_or_paths(classes):
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert brier_score(classes, proba, classes=classes) == pytest.approx(brier_score([0, 1], proba, classes=[0, 1]))
