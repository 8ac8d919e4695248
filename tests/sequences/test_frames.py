"""Frames of sequences: columns of any kind become inputs as in the classifier of single rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from logikern import KernelLogisticClassifier, KernelSequenceClassifier, TableEncoder
from logikern.encoding.complaints import ColumnWarning
from tests.sequences.samples import draw_sequences

FIXED = {"criterion": None, "rate": 0.5, "variance": 3.0, "precision": "double", "tol": 1e-10}
X, Y = draw_sequences(20)
GROUPS, LABELS = np.repeat(np.arange(len(X)), [len(one) for one in X]), np.concatenate(Y)


def make_frame():
    """Numbers with gaps, a word and a truth value."""
    random = np.random.RandomState(0)
    frame = pd.DataFrame(np.concatenate(X), columns=["left", "right"])
    frame["word"] = np.array(["cat", "dog", "cow"])[(LABELS + (random.uniform(size=len(LABELS)) < 0.3)) % 3]
    frame["capital"] = random.uniform(size=len(LABELS)) < 0.5
    frame.loc[[1, 4], "left"] = np.nan
    return frame


FRAME = make_frame()
PARTS = [FRAME[number == GROUPS] for number in range(len(X))]


def fit(X, y, **others):
    return KernelSequenceClassifier(**FIXED).fit(X, y, **others)


def test_without_transitions_frames_are_those_of_the_classifier_of_single_rows():
    rows = KernelLogisticClassifier(kernel="gaussian", tying="shared", **FIXED).fit(FRAME, LABELS)
    plain = {"transition_variance": 0.0, "pseudocount": np.inf, "piecewise": 0.0}
    model = KernelSequenceClassifier(**FIXED, **plain).fit(FRAME, LABELS, groups=GROUPS)
    np.testing.assert_allclose(model.predict_proba(FRAME, groups=GROUPS), rows.predict_proba(FRAME), atol=1e-8)


def test_encoded_frame_is_the_array_of_its_inputs():
    inputs = TableEncoder().fit_transform(FRAME)
    model, by_hand = (fit(own, LABELS, groups=GROUPS) for own in (FRAME, inputs))
    assert model.encoder_.n_inputs == inputs.shape[1] == 7
    wanted = by_hand.predict_proba(inputs, groups=GROUPS)
    np.testing.assert_allclose(model.predict_proba(FRAME, groups=GROUPS), wanted, atol=1e-10)


def test_list_of_frames_is_the_table():
    model, table = fit(PARTS, Y), fit(FRAME, LABELS, groups=GROUPS)
    wanted = table.predict_proba(FRAME, groups=GROUPS)
    np.testing.assert_array_equal(np.concatenate(model.predict_proba(PARTS)), wanted)
    assert model.feature_names_in_.tolist() == ["left", "right", "word", "capital"]


def test_polars_is_pandas():
    table = pl.from_pandas(FRAME)
    model = fit(table, pl.Series(LABELS), groups=pl.Series(GROUPS))
    listed = fit([pl.from_pandas(part) for part in PARTS], Y)
    wanted = fit(FRAME, LABELS, groups=GROUPS).predict_proba(FRAME, groups=GROUPS)
    np.testing.assert_array_equal(model.predict_proba(table, groups=GROUPS), wanted)
    np.testing.assert_array_equal(np.concatenate(listed.predict_proba(PARTS)), wanted)


def test_scattered_rows_of_a_frame_are_put_in_order():
    # First positions of all sequences, then second ones, and so on.
    mixed = np.argsort(np.concatenate([np.arange(len(one)) for one in X]), kind="stable")
    model = fit(FRAME, LABELS, groups=GROUPS)
    own = model.predict_proba(FRAME.iloc[mixed], groups=GROUPS[mixed])
    np.testing.assert_allclose(own, model.predict_proba(FRAME, groups=GROUPS)[mixed], atol=1e-12)


def test_gaps_of_arrays_are_filled_as_in_frames():
    numbers = FRAME[["left", "right"]]
    array, frame = (fit(own, LABELS, groups=GROUPS) for own in (numbers.to_numpy(), numbers))
    listed = fit(np.split(numbers.to_numpy(), np.flatnonzero(np.diff(GROUPS)) + 1), Y)
    wanted = frame.predict_proba(numbers, groups=GROUPS)
    for model in (array, listed):
        # Rows of a frame may lie otherwise in memory, which changes the order of sums.
        np.testing.assert_allclose(model.predict_proba(numbers.to_numpy(), groups=GROUPS), wanted, atol=1e-13)


def test_chosen_columns_of_an_array_are_categories():
    array = np.c_[np.concatenate(X), LABELS]
    model = KernelSequenceClassifier(categorical_features=[2], **FIXED).fit(array, LABELS, groups=GROUPS)
    assert model.encoder_.input_names[2:] == ("x2=0", "x2=1", "x2=2")
    assert model.score(array, LABELS, groups=GROUPS) > 0.9


def test_unseen_words_are_predicted_from_the_other_columns():
    model = fit(FRAME, LABELS, groups=GROUPS)
    found = model.predict_proba([PARTS[0].assign(word="mouse")])[0]
    assert np.isfinite(found).all() and not np.allclose(found, model.predict_proba(PARTS)[0])


def test_doubtful_columns_warn_where_fit_is_called():
    with pytest.warns(ColumnWarning, match="`name`") as caught:
        fit(FRAME.assign(name=[f"n{row}" for row in range(len(FRAME))]), LABELS, groups=GROUPS)
    assert caught[0].filename == __file__
