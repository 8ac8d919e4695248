"""Error-reject curves: hand examples, all orders, simulation, and what is refused."""

import numpy as np
import pytest
from scipy.integrate import quad

from logikern import error_reject_curve
from tests.decisions.catalogue import draw, error_over_all_orders, round_off, two_columns

# Ties at 0.9 and 0.7, where right and wrong cases mix.
CONFIDENCE = np.array([0.9, 0.6, 0.7, 0.9, 0.7, 0.8, 0.7])
CORRECT = np.array([True, False, True, False, False, True, True])


def tied_curve(order=slice(None), sample_weight=None):
    y, proba = two_columns(CONFIDENCE[order], CORRECT[order])
    return error_reject_curve(y, proba, sample_weight=sample_weight)


def assert_same_curve(one, other):
    for name in ("rejected", "error", "thresholds"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-14, err_msg=name)


def test_hand_example():
    y, proba = two_columns([0.9, 0.6, 0.8, 0.7], [True, False, True, True])
    curve = error_reject_curve(y, proba)
    np.testing.assert_allclose(curve.rejected, [0.0, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(curve.error, [0.25, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(curve.thresholds, [0.6, 0.7, 0.8, 0.9])


def test_cases_of_equal_confidence_leave_together():
    curve = tied_curve()
    np.testing.assert_allclose(curve.thresholds, [0.6, 0.7, 0.8, 0.9])
    np.testing.assert_allclose(curve.rejected, np.array([0, 1, 4, 5]) / 7)


def test_thresholds_keep_what_the_curve_keeps():
    sample = draw(200, 3)
    y, proba = sample.true, sample.probabilities
    curve = error_reject_curve(y, proba)
    top, wrong = proba.max(axis=1), proba.argmax(axis=1) != y
    for rejected, error, threshold in zip(curve.rejected, curve.error, curve.thresholds, strict=True):
        assert np.mean(top < threshold) == pytest.approx(rejected)
        assert wrong[top >= threshold].mean() == pytest.approx(error)


@pytest.mark.parametrize("n_kept", range(1, 8))
def test_between_thresholds_the_error_is_the_mean_over_all_orders(n_kept):
    expected = error_over_all_orders(CONFIDENCE, ~CORRECT, n_kept)
    assert tied_curve().error_at(1 - n_kept / 7) == pytest.approx(expected, rel=1e-12)


def test_order_of_the_rows_does_not_matter():
    assert_same_curve(tied_curve(), tied_curve(np.random.default_rng(0).permutation(7)))


def test_weight_of_two_is_two_cases():
    weights = np.array([2, 1, 3, 1, 0, 1, 2])
    weighted, repeated = tied_curve(sample_weight=weights), tied_curve(np.repeat(np.arange(7), weights))
    assert_same_curve(weighted, repeated)
    assert weighted.area == pytest.approx(repeated.area, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e308])
def test_scale_of_the_weights_does_not_matter(scale):
    assert_same_curve(tied_curve(), tied_curve(sample_weight=np.full(7, scale)))


def test_vanishing_weights_change_nothing():
    weights = np.where(CONFIDENCE == 0.7, 1e-30, 1.0)
    left = np.flatnonzero(CONFIDENCE != 0.7)
    assert tied_curve(sample_weight=weights).area == pytest.approx(tied_curve(left).area, rel=1e-12)


def test_area_is_the_integral_of_the_curve():
    curve = tied_curve()
    integral, _ = quad(curve.error_at, 0.0, 1.0, points=curve.rejected, limit=200)
    assert curve.area == pytest.approx(integral, rel=1e-10)


def test_area_is_the_mean_error_over_random_fractions():
    sample = draw(300, 5, sharpness=3.0)
    curve = error_reject_curve(sample.true, sample.probabilities)
    errors = curve.error_at(np.random.default_rng(3).random(100_000))
    assert errors.mean() == pytest.approx(curve.area, abs=4 * errors.std() / np.sqrt(100_000))


def test_area_is_the_limit_of_means_over_cases_kept():
    # Geifman, Uziel & El-Yaniv (2019) average the error over k = 1, ..., n cases kept.
    sample = draw(3000, 4, sharpness=3.0)
    y, proba = sample.true, sample.probabilities
    wrong = (proba.argmax(axis=1) != y)[np.argsort(-proba.max(axis=1))]
    mean = np.mean(wrong.cumsum() / np.arange(1, 3001))
    assert error_reject_curve(y, proba).area == pytest.approx(mean, rel=0.01)


def test_area_of_repeated_cases_is_that_of_the_cases():
    assert tied_curve(np.tile(np.arange(7), 5)).area == pytest.approx(tied_curve().area, rel=1e-12)


def test_perfect_classifier_has_no_area():
    sample = draw()
    curve = error_reject_curve(sample.probabilities.argmax(axis=1), sample.probabilities, classes=range(4))
    assert (curve.area, curve.excess_area) == (0.0, 0.0)


def test_classifier_that_is_always_wrong_has_area_one():
    curve = error_reject_curve(*two_columns([0.7, 0.8, 0.9], [False] * 3), classes=[0, 1])
    assert (curve.area, curve.excess_area) == (pytest.approx(1.0), pytest.approx(0.0))


def test_confidence_that_is_constant_gives_the_error_as_area():
    curve = error_reject_curve(*two_columns([0.8] * 5, [True, True, True, True, False]))
    assert curve.area == pytest.approx(0.2, rel=1e-12)
    assert curve.error_at([0.0, 0.5, 1.0]) == pytest.approx([0.2, 0.2, 0.2])


def test_confidence_that_says_nothing_gives_the_error_as_area():
    generator = np.random.default_rng(0)
    curve = error_reject_curve(*two_columns(generator.uniform(0.5, 1, 20000), generator.random(20000) < 0.7))
    assert curve.area == pytest.approx(0.3, abs=0.02)


def test_best_order_has_no_excess_area():
    y, proba = two_columns([0.6, 0.65, 0.7, 0.8, 0.9], [False, False, True, True, True])
    curve = error_reject_curve(y, proba)
    assert curve.area == pytest.approx(0.4 + 0.6 * np.log(0.6), rel=1e-12)
    assert curve.excess_area == pytest.approx(0.0, abs=1e-15)


def test_no_order_has_less_area_than_the_best():
    generator = np.random.default_rng(5)
    correct = generator.random(30) < 0.6
    orders = [two_columns(generator.permutation(np.linspace(0.5, 1.0, 30)), correct) for _ in range(50)]
    assert min(error_reject_curve(y, proba).excess_area for y, proba in orders) > 0.0


def test_calibrated_probabilities_have_the_area_of_their_distribution():
    # Confidence uniform on [0.5, 1]: E(a) = (1 - a) / 4, so the area is 1 / 8.
    confidence = np.random.default_rng(2).uniform(0.5, 1.0, 100_000)
    correct = np.random.default_rng(3).random(100_000) < confidence
    assert error_reject_curve(*two_columns(confidence, correct)).area == pytest.approx(1 / 8, abs=0.003)


def test_error_at_given_fractions():
    confidence = np.linspace(0.51, 0.99, 20)
    correct = np.ones(20, dtype=bool)
    correct[[0, 2, 10]] = False
    curve = error_reject_curve(*two_columns(confidence, correct))
    np.testing.assert_allclose(curve.error_at([0.0, 0.05, 0.10, 0.25, 0.95]), [3 / 20, 2 / 19, 2 / 18, 1 / 15, 0])


def test_error_at_one_is_that_of_the_most_confident():
    assert tied_curve().error_at(1.0) == pytest.approx(0.5)


@pytest.mark.parametrize("fractions", [-0.1, 5, [0.1, 25], np.nan])
def test_fractions_out_of_range_are_refused(fractions):
    with pytest.raises(ValueError, match="between 0 and 1"):
        tied_curve().error_at(fractions)


def test_ties_of_many_cases_do_not_depend_on_their_order():
    sample = draw(500, 2)
    proba = round_off(sample.probabilities)
    order = np.random.default_rng(1).permutation(500)
    one = error_reject_curve(sample.true, proba)
    assert len(one.thresholds) == 5
    assert_same_curve(one, error_reject_curve(sample.true[order], proba[order]))


def test_many_classes_with_labels_in_any_order():
    sample = draw(300, 26)
    names = np.array(list("qwertyuiopasdfghjklzxcvbnm"))
    assert_same_curve(
        error_reject_curve(names[sample.true], sample.probabilities, classes=names),
        error_reject_curve(sample.true, sample.probabilities, classes=range(26)),
    )


def test_columns_are_the_sorted_labels_unless_said_otherwise():
    proba = [[0.9, 0.1], [0.2, 0.8]]
    assert error_reject_curve(["b", "a"], proba).error[0] == 1.0
    assert error_reject_curve(["b", "a"], proba, classes=["b", "a"]).error[0] == 0.0


def test_scores_that_are_no_distributions_will_do():
    # One against rest: the columns are probabilities of C separate questions.
    curve = error_reject_curve([0, 1, 0], [[0.9, 0.7], [0.2, 0.1], [0.1, 0.4]])
    np.testing.assert_allclose(curve.thresholds, [0.2, 0.4, 0.9])
    np.testing.assert_allclose(curve.error, [2 / 3, 1 / 2, 0])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"y": [0, 1]}, r"one label for each of the 3 rows of `proba`, but has shape \(2,\)"),
        ({"y": [[0], [1], [1]]}, r"has shape \(3, 1\)"),
        ({"y": [0, 0, 0]}, "`y` has 1 distinct labels, but `proba` has 2 columns. Pass `classes`"),
        ({"y": [0, 1, 2], "classes": [0, 1]}, "row 2 is 2"),
        ({"y": np.array(["a", None, "b"], dtype=object)}, "mixes NoneType, str"),
        ({"classes": [0, 1, 2]}, "a distinct label for each of the 2 columns"),
        ({"classes": [1, 1]}, "a distinct label for each of the 2 columns"),
        ({"classes": "ab"}, "a distinct label for each of the 2 columns"),
        ({"sample_weight": [1, 1]}, r"must have shape \(3,\), but has \(2,\)"),
        ({"sample_weight": [1, -1, 1]}, "smallest value is -1"),
        ({"sample_weight": [1, np.nan, 1]}, "finite and non-negative"),
        ({"sample_weight": [0, 0, 0]}, "must be positive for at least one case"),
        ({"proba": [0.1, 0.2, 0.3]}, "np.column_stack"),
        ({"proba": [[0.1, 0.9], [0.5, np.inf], [0.3, 0.7]]}, "row 1"),
        ({"y": [], "proba": np.empty((0, 2))}, "must have at least one row"),
    ],
)
def test_wrong_input_is_refused(arguments, complaint):
    right = {"y": [0, 1, 1], "proba": [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]}
    with pytest.raises(ValueError, match=complaint):
        error_reject_curve(**(right | arguments))
