"""Sets of smallest expected loss, and the log loss of sets, against sums over all sets."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score, hamming_loss, log_loss

from logikern import joint_log_loss
from logikern.decisions import label_sets
from logikern.decisions.label_sets import decide_sets, independent_labels, listed_sets

N_ROWS, N_LABELS = 40, 4
ALL_SETS = np.array(list(itertools.product([False, True], repeat=N_LABELS)))
LISTED = ALL_SETS[[0, 3, 5, 6, 9, 15]]


def marginals():
    return np.random.default_rng(0).beta(0.6, 0.9, (N_ROWS, N_LABELS))


def listed():
    return np.random.default_rng(1).dirichlet(np.full(len(LISTED), 0.5), N_ROWS)


CASES = {
    "independent": independent_labels(marginals()),
    "listed": listed_sets(listed(), LISTED, 0.0),
    "mixed": listed_sets(listed(), LISTED, 0.3),
    "mostly independent": listed_sets(listed(), LISTED, 0.97),
}
LOSSES = {
    "hamming": lambda true, chosen: hamming_loss(true[None], chosen[None]),
    "subset": lambda true, chosen: float((true != chosen).any()),
    "f1": lambda true, chosen: 1.0 - f1_score(true, chosen, zero_division=1.0),
}
every_case = pytest.mark.parametrize("case", CASES)


def of_all_sets(case):
    """P of all sets, (n, 2^L), each as a product or from the list."""
    distribution = CASES[case]
    own = distribution.marginals[:, None, :]
    product = np.where(ALL_SETS, own, 1.0 - own).prod(axis=2)
    from_list = np.zeros_like(product)
    for column, chosen in enumerate(distribution.sets):
        from_list[:, (chosen == ALL_SETS).all(axis=1)] += distribution.listed[:, [column]]
    return (1.0 - distribution.rest) * from_list + distribution.rest * product


@pytest.mark.parametrize("loss", LOSSES)
@every_case
def test_no_set_has_a_smaller_expected_loss(case, loss):
    losses = np.array([[LOSSES[loss](true, chosen) for chosen in ALL_SETS] for true in ALL_SETS])
    expected = of_all_sets(case) @ losses  # (n, 2^L)
    chosen = decide_sets(CASES[case], loss) @ (1 << np.arange(N_LABELS)[::-1])
    np.testing.assert_allclose(expected[np.arange(N_ROWS), chosen], expected.min(axis=1), rtol=1e-12)


@every_case
def test_probabilities_of_all_sets_are_those_of_the_sum(case):
    found, expected = CASES[case].at_sets(ALL_SETS), of_all_sets(case)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found @ ALL_SETS, CASES[case].marginals, rtol=1e-12)


@every_case
def test_log_probabilities_are_those_of_the_sum(case):
    drawn = np.random.default_rng(2).integers(0, len(ALL_SETS), N_ROWS)
    with np.errstate(divide="ignore"):
        expected = np.log(of_all_sets(case)[np.arange(N_ROWS), drawn])
    np.testing.assert_allclose(CASES[case].log_probability(ALL_SETS[drawn]), expected, rtol=1e-10)


def test_certain_labels_leave_numbers():
    certain = independent_labels(np.array([[0.0, 1.0, 0.5]]))
    np.testing.assert_allclose(certain.log_probability(np.array([[False, True, True]])), np.log([0.5]))
    assert certain.log_probability(np.array([[True, True, True]])) == -np.inf
    for loss in LOSSES:
        np.testing.assert_array_equal(decide_sets(certain, loss)[0, :2], [False, True])


def test_rows_may_be_decided_in_tiles(monkeypatch):
    whole = decide_sets(CASES["mixed"], "f1")
    monkeypatch.setattr(label_sets, "TILE_ENTRIES", 100)
    np.testing.assert_array_equal(decide_sets(CASES["mixed"], "f1"), whole)
    assert decide_sets(CASES["mixed"].rows(slice(0, 0)), "f1").shape == (0, N_LABELS)


def drawn_sets():
    return ALL_SETS[np.random.default_rng(3).integers(0, len(ALL_SETS), N_ROWS)]


def test_joint_log_loss_of_independent_labels_sums_their_log_losses():
    y, weights = drawn_sets(), np.random.default_rng(4).uniform(0.0, 2.0, N_ROWS)
    expected = sum(log_loss(y[:, label], marginals()[:, label], sample_weight=weights) for label in range(N_LABELS))
    np.testing.assert_allclose(joint_log_loss(y, marginals(), sample_weight=weights), expected, rtol=1e-12)
    np.testing.assert_allclose(
        joint_log_loss(sparse.csr_array(y.astype(int)), marginals(), sample_weight=weights), expected, rtol=1e-12
    )


def test_joint_log_loss_of_sets_is_that_of_their_probabilities():
    y = drawn_sets()
    expected = -np.log(of_all_sets("mixed")[np.arange(N_ROWS), y @ (1 << np.arange(N_LABELS)[::-1])]).mean()
    np.testing.assert_allclose(joint_log_loss(y, listed(), LISTED, 0.3), expected, rtol=1e-12)


def test_an_impossible_set_has_infinite_loss():
    assert joint_log_loss([[1, 0]], [[0.0, 0.5]]) == np.inf
    assert joint_log_loss([[1, 0], [0, 0]], [[0.0, 0.5], [0.0, 0.5]], sample_weight=[0, 1]) == np.log(2.0)


@pytest.mark.parametrize(
    "arguments, told",
    [
        (([[0, 2]], [[0.5, 0.5]]), "MultiLabelBinarizer"),
        (([{"a"}, {"b", "c"}], [[0.5, 0.5]] * 2), "MultiLabelBinarizer"),
        (([[0, 1]], [[0.5]]), "each of the 1 rows and 2 labels"),
        (([[0, 1]], [[0.5, 1.5]]), "between 0 and 1"),
        (([[0, 1]], [[0.5, 0.5]], [[0, 1]]), "`label_sets`, but has shape"),
        (([[0, 1]], [[0.5, 0.5]], [[0], [1]]), "must have 2 columns"),
        (([[0, 1]], [[0.5, 0.5]], [[0, 1], [1, 1]], 1.5), "`unseen_share` must be a number between 0 and 1"),
    ],
)
def test_wrong_arguments_are_refused(arguments, told):
    with pytest.raises(ValueError, match=told):
        joint_log_loss(*arguments)
