"""Decisions: brute force over all of them, hand examples, and what is refused."""

from itertools import product

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from logikern.decisions.rules import decide, expected_losses, loss_matrix, to_labels
from tests.decisions.catalogue import draw

# Deciding 0 (healthy) when the truth is 1 (ill) costs 10; the reverse costs 1.
ASYMMETRIC = [[0.0, 10.0], [1.0, 0.0]]


def random_losses(n_decisions, n_classes, seed=1):
    return np.random.default_rng(seed).uniform(0.0, 5.0, (n_decisions, n_classes))


def test_expected_loss_is_the_sum_over_true_classes():
    assert expected_losses([[0.7, 0.3]], ASYMMETRIC).tolist() == [[3.0, 0.7]]


@pytest.mark.parametrize("n_decisions", [2, 4, 6])
def test_expected_losses_match_a_double_loop(n_decisions):
    probabilities, losses = draw().probabilities, random_losses(n_decisions, 4)
    slow = [[sum(row[c] * losses[d, c] for c in range(4)) for d in range(n_decisions)] for row in probabilities]
    np.testing.assert_allclose(expected_losses(probabilities, losses), slow, rtol=1e-12)


def test_no_loss_is_the_zero_one_matrix():
    probabilities = draw().probabilities
    np.testing.assert_allclose(
        expected_losses(probabilities), expected_losses(probabilities, 1.0 - np.eye(4)), atol=1e-15
    )


def test_rounding_makes_no_loss_negative():
    certain = np.nextafter(1.0, 2.0)
    assert expected_losses([[certain, 0.0]]).tolist() == [[0.0, 1.0]]


def test_rows_of_the_matrix_are_decisions():
    assert decide([[0.85, 0.15]], ASYMMETRIC).decisions.tolist() == [1]
    assert decide([[0.85, 0.15]], np.transpose(ASYMMETRIC)).decisions.tolist() == [0]


def test_no_sequence_of_decisions_has_smaller_expected_loss():
    probabilities, losses = draw(n_cases=5, n_classes=3).probabilities, random_losses(3, 3)
    risks = [
        np.mean([losses[d] @ row for d, row in zip(choice, probabilities, strict=True)])
        for choice in product(range(3), repeat=5)
    ]
    assert decide(probabilities, losses).expected_loss.mean() == pytest.approx(min(risks), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_decision_never_has_larger_expected_loss_than_argmax(seed):
    probabilities, losses = draw(200, 5, seed).probabilities, random_losses(5, 5, seed)
    expected = expected_losses(probabilities, losses)
    decided, likeliest = decide(probabilities, losses).decisions, probabilities.argmax(axis=1)
    rows = np.arange(200)
    assert (decided != likeliest).any()
    assert (expected[rows, decided] <= expected[rows, likeliest]).all()


def test_decisions_lower_the_loss_that_is_met():
    # The truth is drawn from the probabilities; 20000 cases put the gap far beyond its noise.
    sample, losses = draw(20000, 3), random_losses(3, 3)
    met = losses[decide(sample.probabilities, losses).decisions, sample.true].mean()
    assert met < losses[sample.probabilities.argmax(axis=1), sample.true].mean() - 0.1


def test_expected_loss_is_the_loss_that_is_met():
    sample, losses = draw(20000, 3), random_losses(3, 3)
    decided = decide(sample.probabilities, losses)
    met = losses[decided.decisions, sample.true]
    noise = met.std() / np.sqrt(len(met))
    assert met.mean() == pytest.approx(decided.expected_loss.mean(), abs=4 * noise)


def test_zero_one_loss_decides_the_most_probable_class():
    probabilities = draw(500, 7).probabilities
    np.testing.assert_array_equal(decide(probabilities).decisions, probabilities.argmax(axis=1))


def test_most_probable_class_survives_the_rounding_of_its_error():
    small = np.nextafter(0.25, 0.0)
    row = [small, 0.25, 0.25, 0.25]
    assert 1.0 - small == 1.0 - 0.25
    assert decide([row]).decisions.tolist() == [1]


def test_first_of_equal_decisions_is_taken():
    assert decide([[0.2, 0.4, 0.4]], 1.0 - np.eye(3)).decisions.tolist() == [1]


def test_more_decisions_than_classes_can_be_open():
    # The third decision, asking a colleague, always costs 0.2.
    losses = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.2]]
    assert decide([[0.9, 0.1], [0.6, 0.4], [0.1, 0.9]], losses).decisions.tolist() == [0, 2, 1]


def test_rejects_where_the_smallest_loss_exceeds_the_cost():
    decided = decide([[0.9, 0.1], [0.75, 0.25], [0.6, 0.4]], reject_cost=0.25)
    assert decided.rejected.tolist() == [False, False, True]


def test_rejected_cases_are_decision_minus_one():
    assert decide([[0.9, 0.1], [0.6, 0.4]], reject_cost=0.25).decisions.tolist() == [0, -1]


def test_rejection_is_a_decision_of_constant_loss():
    probabilities, losses, cost = draw().probabilities, random_losses(4, 4), 1.7
    with_row = decide(probabilities, np.vstack([losses, np.full(4, cost)]))
    decided = decide(probabilities, losses, reject_cost=cost)
    assert 0 < decided.rejected.sum() < 40
    np.testing.assert_array_equal(decided.rejected, with_row.decisions == 4)
    np.testing.assert_allclose(decided.expected_loss, with_row.expected_loss, rtol=1e-12)


def test_no_cost_never_rejects():
    assert not decide(draw().probabilities, random_losses(4, 4)).rejected.any()


def test_infinite_cost_never_rejects():
    assert not decide(draw().probabilities, reject_cost=np.inf).rejected.any()


def test_rejection_at_no_cost_keeps_certainty_only():
    decided = decide([[1.0, 0.0], [0.999, 0.001]], reject_cost=0)
    assert decided.decisions.tolist() == [0, -1]


def test_callable_is_asked_for_decision_then_truth():
    matrix = loss_matrix(lambda decision, truth: 10.0 * decision + truth, [1, 2, 3])
    assert matrix.tolist() == [[11, 12, 13], [21, 22, 23], [31, 32, 33]]


def test_callable_decides_as_its_matrix():
    probabilities = draw().probabilities
    labels = ["a", "bb", "cccc", "dddddddd"]
    decided = decide(probabilities, lambda decision, truth: abs(len(decision) - len(truth)), classes=labels)
    lengths = np.array([1, 2, 4, 8])
    matrix = np.abs(lengths[:, None] - lengths)
    np.testing.assert_array_equal(decided.decisions, decide(probabilities, matrix).decisions)


def test_callable_without_classes_is_asked_about_columns():
    probabilities = draw().probabilities
    decided = decide(probabilities, lambda decision, truth: (decision - truth) ** 2)
    nearest = np.rint(probabilities @ np.arange(4))  # the mean minimises the squared loss
    np.testing.assert_array_equal(decided.decisions, nearest)


def test_no_cases_give_no_decisions():
    assert decide(np.empty((0, 3))).decisions.shape == (0,)


def test_labels_of_rejected_cases_are_none():
    decided = decide([[0.9, 0.1], [0.6, 0.4]], reject_cost=0.2)
    assert to_labels(decided, np.array(["no", "yes"])).tolist() == ["no", None]


@pytest.mark.parametrize(
    ("labels", "reject_label", "kind"),
    [
        (["no", "yes"], "undecided", "U"),
        ([3, 7], -1, "i"),
        ([3, 7], "undecided", "O"),
        ([3, 7], None, "O"),
        ([3, 7], (0, 0), "O"),
    ],
)
def test_labels_keep_their_values_and_kind(labels, reject_label, kind):
    answer = to_labels(decide([[0.9, 0.1], [0.6, 0.4]], reject_cost=0.2), labels, reject_label)
    assert answer.tolist() == [labels[0], reject_label]
    assert answer.dtype.kind == kind


def test_labels_follow_decisions_that_are_no_classes():
    decided = decide([[0.6, 0.4], [0.9, 0.1]], [[0.0, 1.0], [1.0, 0.0], [0.2, 0.2]])
    assert to_labels(decided, ["no", "yes", "ask"]).tolist() == ["ask", "no"]


@pytest.mark.parametrize(
    ("loss", "complaint"),
    [
        (np.zeros((2, 4)), r"shape \(n_decisions, 3\), but has shape \(2, 4\)"),
        (np.zeros((4, 2)), "a row per decision and a column per true class"),
        (np.zeros(3), r"has shape \(3,\)"),
        (np.zeros((1, 3, 3)), r"has shape \(1, 3, 3\)"),
        (np.zeros((0, 3)), r"has shape \(0, 3\)"),
        ([[0, 1, 1], [1, 0, -2], [1, 1, 0]], "deciding 1 when the truth is 2 costs -2"),
        ([[0, np.inf, 1], [1, 0, 1], [1, 1, 0]], "deciding 0 when the truth is 1 costs inf"),
        ([[0, 1, 1], [1, 0, 1], [np.nan, 1, 0]], "deciding 2 when the truth is 0 costs nan"),
        ("zero_one", "`loss` must hold numbers, but is 'zero_one'"),
        (lambda decision, truth: -1.0, "non-negative"),
        (lambda decision, truth: "high", "`loss` must hold numbers"),
    ],
)
def test_unlawful_loss_is_refused(loss, complaint):
    with pytest.raises(ValueError, match=complaint):
        decide([[0.2, 0.3, 0.5]], loss)


@pytest.mark.parametrize("cost", [-0.1, np.nan, "cheap", True, [0.1]])
def test_unlawful_reject_cost_is_refused(cost):
    with pytest.raises(ValueError, match="`reject_cost` must be None or a non-negative number"):
        decide([[0.2, 0.8]], reject_cost=cost)


@pytest.mark.parametrize(
    ("probabilities", "complaint"),
    [
        ([0.2, 0.8], "a row per case and a column per class"),
        ([[1.0], [1.0]], "at least two columns"),
        ([[0.5, 0.5], [0.5, 0.43]], "row 1 sums to 0.93"),
        ([[0.5, 0.5], [1.2, -0.2]], "row 1 has the negative value -0.2"),
        ([[0.5, np.nan]], "row 0 is"),
        ([["much", "little"]], "`probabilities` must hold numbers"),
        (DummyClassifier(), "Pass what `predict_proba` returns"),
    ],
)
def test_unlawful_probabilities_are_refused(probabilities, complaint):
    with pytest.raises(ValueError, match=complaint):
        decide(probabilities)


def test_classes_of_other_number_are_refused():
    with pytest.raises(ValueError, match="each of the 2 columns of `probabilities`, but has 3"):
        decide([[0.2, 0.8]], lambda decision, truth: 1.0, classes="abc")


def test_too_few_labels_are_refused():
    with pytest.raises(ValueError, match="so decision 2 has no label"):
        to_labels(decide([[0.1, 0.1, 0.8]]), ["no", "yes"])


def test_label_of_rejection_that_is_a_class_is_refused():
    with pytest.raises(ValueError, match="'no' is one of them"):
        to_labels(decide([[0.6, 0.4]], reject_cost=0.1), ["no", "yes"], reject_label="no")


def test_labels_of_several_kinds_are_asked_about_as_they_are():
    asked = []
    loss_matrix(lambda decision, truth: asked.append((decision, truth)) or 1.0, [1, "a"])
    assert asked == [(1, 1), (1, "a"), ("a", 1), ("a", "a")]
