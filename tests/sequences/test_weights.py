"""Weights of sequences: a weight of two is two equal sequences."""

import numpy as np
import pytest

from logikern import KernelSequenceClassifier
from tests.sequences.samples import draw_sequences

X, Y = draw_sequences(15)
LENGTHS = [len(one) for one in X]
NEW, _ = draw_sequences(6, seed=1)
COUNTS = np.arange(15) % 4  # some are zero
GIVEN = {"criterion": None, "rate": 0.5, "variance": 3.0, "precision": "double", "tol": 1e-10}
GROUPS, TABLE, LABELS = np.repeat(np.arange(15), LENGTHS), np.concatenate(X), np.concatenate(Y)


def repeated(values):
    return [one for one, count in zip(values, COUNTS, strict=True) for _ in range(count)]


def compare(one, other, tolerance=1e-8):
    np.testing.assert_allclose(one.transition_, other.transition_, atol=tolerance)
    np.testing.assert_allclose(one.start_, other.start_, atol=tolerance)
    for own, wanted in zip(one.predict_proba(NEW), other.predict_proba(NEW), strict=True):
        np.testing.assert_allclose(own, wanted, atol=tolerance)


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"piecewise": 0.0, "pseudocount": np.inf},
        {"tying": "separate"},
        {"transition_variance": 0.0},
        {"window": 1},
    ],
    ids=str,
)
def test_weights_repeat_sequences(others):
    weighted = KernelSequenceClassifier(**GIVEN, **others).fit(X, Y, sample_weight=COUNTS)
    compare(weighted, KernelSequenceClassifier(**GIVEN, **others).fit(repeated(X), repeated(Y)))


def test_weights_repeat_sequences_in_estimates_from_the_data():
    settings = {"criterion": None, "precision": "double", "tol": 1e-10}
    weighted = KernelSequenceClassifier(**settings).fit(X, Y, sample_weight=COUNTS)
    other = KernelSequenceClassifier(**settings).fit(repeated(X), repeated(Y))
    kernels = [own.specification_.positions.kernels[0].rate for own in (weighted, other)]
    assert kernels[0] == pytest.approx(kernels[1])
    compare(weighted, other, 1e-6)


def test_weights_of_rows_are_those_of_their_sequences():
    mixed = np.argsort(np.concatenate([np.arange(length) for length in LENGTHS]), kind="stable")
    table = KernelSequenceClassifier(**GIVEN)
    table.fit(TABLE[mixed], LABELS[mixed], groups=GROUPS[mixed], sample_weight=COUNTS[GROUPS[mixed]])
    compare(table, KernelSequenceClassifier(**GIVEN).fit(X, Y, sample_weight=COUNTS))


def test_equal_weights_are_no_weights():
    one, other = (
        KernelSequenceClassifier(random_state=0).fit(X, Y, sample_weight=weights) for weights in (None, np.ones(15))
    )
    assert one.specification_ == other.specification_ and np.array_equal(one.transition_, other.transition_)


def test_search_leaves_out_sequences_without_weight():
    model = KernelSequenceClassifier(random_state=0).fit(X, Y, sample_weight=COUNTS)
    assert model.trace_[0].n_points == sum(length for length, count in zip(LENGTHS, COUNTS, strict=True) if count)
    assert model.outcome_.converged


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (np.ones(14), r"must have shape \(15,\), but has \(14,\). Pass one weight for each sequence"),
        (-COUNTS, "non-negative, but is -1 at sequence 1"),
        (np.zeros(15), "zero for every point"),
        (["a"] * 15, "must hold numbers"),
        ((np.arange(15) == 2).astype(float), "only one. Pass criterion=None"),
    ],
)
def test_bad_weights_are_refused(weights, told):
    with pytest.raises(ValueError, match=told):
        KernelSequenceClassifier().fit(X, Y, sample_weight=weights)


def test_one_label_with_weight_is_refused():
    labels = [np.zeros(length) + (number == 0) for number, length in enumerate(LENGTHS)]
    with pytest.raises(ValueError, match="two different labels, but all are '0.0'"):
        KernelSequenceClassifier().fit(X, labels, sample_weight=np.arange(15) > 0)


def test_weights_that_differ_within_a_sequence_are_refused():
    first = int(np.flatnonzero(np.diff(GROUPS) == 0)[0])
    weights = np.where(np.arange(len(GROUPS)) == first + 1, 2.0, 1.0)
    with pytest.raises(ValueError, match=f"same for all rows of a sequence, but row {first + 1} has a different"):
        KernelSequenceClassifier().fit(TABLE, LABELS, groups=GROUPS, sample_weight=weights)


def test_checkpoint_belongs_to_the_weights(tmp_path):
    model = KernelSequenceClassifier(random_state=0, checkpoint=tmp_path / "fit.search").fit(X, Y)
    with pytest.raises(ValueError, match="other data or other settings"):
        model.fit(X, Y, sample_weight=1.0 + COUNTS)
