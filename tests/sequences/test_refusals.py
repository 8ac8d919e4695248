"""Bad inputs and settings of the classifier of sequences, each with its message."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from logikern import KernelSequenceClassifier
from tests.sequences.samples import draw_sequences

X, Y = draw_sequences(12)
LENGTHS = [len(one) for one in X]
TABLE, LABELS = np.concatenate(X), np.concatenate(Y)
GROUPS = np.repeat(np.arange(len(X)), LENGTHS)
FRAME = pd.DataFrame(TABLE, columns=["left", "right"])
DICTS = [[{"left": row[0], "right": row[1]} for row in one] for one in X]


def with_first(values, replacement):
    """A copy of a list with another first entry."""
    return [replacement, *values[1:]]


def with_gap(values, gap):
    """A copy of an array with a gap in its second entry."""
    other = np.array(values, dtype=object)
    other[1] = gap
    return other


BAD_DATA = {
    "no sequences": ([], [], None, "at least one sequence, but is empty"),
    "not a list": (7, Y, None, "must be a list of sequences, but is of type int"),
    "text": ("abc", Y, None, "must be a list of sequences, but is of type str"),
    "numbers instead of sequences": ([1.0, 2.0], [0, 1], None, "list of sequences, but has the element 1.0"),
    "text instead of sequences": (["the cat", "a dog"], [0, 1], None, "has the element 'the cat'"),
    "an empty sequence": ([X[0], np.zeros((0, 2))], Y[:2], None, "Sequence 1 of `X` is empty"),
    "an empty list": ([X[0], []], Y[:2], None, "Sequence 1 of `X` is empty"),
    "one axis": (
        [np.zeros(3)],
        [[0, 1, 0]],
        None,
        r"shape \(length, inputs\), but sequence 0 .* has the shape \(3,\)",
    ),
    "three axes": ([np.zeros((2, 2, 2))], [[0, 1]], None, r"sequence 0 of `X` has the shape \(2, 2, 2\)"),
    "other inputs": ([X[0], np.zeros((2, 3))], [Y[0], [0, 1]], None, "sequence 1 of `X` has 3 inputs and sequence 0"),
    "ragged rows": ([[[1.0], [1.0, 2.0]]], [[0, 1]], None, "Rows of sequence 0 .* different numbers of inputs"),
    "strings for numbers": ([[["a"], ["b"]]], [[0, 1]], None, "Sequence 0 of `X`: could not convert .* Pass a frame"),
    "infinite input": (with_first(X, X[0] * np.inf), Y, None, "Sequence 0 of `X`: Input contains infinity"),
    "huge input": (with_first(X, 1e200 * X[0]), Y, None, "must not contain magnitudes above 1e"),
    "only NaN": ([np.full((2, 1), np.nan)] * 2, [[0, 1]] * 2, None, "every value is NaN"),
    "NaN in sparse rows": ([sparse.csr_matrix([[np.nan], [1.0]])] * 2, [[0, 1]] * 2, None, "must not hold NaN"),
    "NaN in dicts": ([[{"a": np.nan}, {"a": 1.0}]] * 2, [[0, 1]] * 2, None, "must not hold NaN"),
    "arrays after dicts": ([DICTS[0], X[1]], Y[:2], None, "feature dicts, but sequence 1 does not"),
    "dicts after arrays": ([X[0], DICTS[1]], Y[:2], None, "Sequence 0 of `X` is an array, but sequence 1 is not"),
    "frames of other columns": (
        [FRAME[:2], FRAME[2:4].rename(columns={"left": "up"})],
        [[0, 1]] * 2,
        None,
        r"frames with the columns \['left', 'right'\], but sequence 1 of `X` has \['up', 'right'\]",
    ),
    "a table without groups": (TABLE, LABELS, None, "is a table. Pass `groups`"),
    "a frame without groups": (FRAME, LABELS, None, "is a table. Pass `groups`"),
    "a sparse table without groups": (sparse.csr_matrix(TABLE), LABELS, None, "is a table. Pass `groups`"),
    "groups of fewer rows": (TABLE, LABELS, GROUPS[:-1], "`groups` must name the sequence of each of the"),
    "groups with a gap": (TABLE, LABELS, with_gap(GROUPS, None), "`groups` .* is missing in row 1"),
    "groups of a list": (X, Y, GROUPS, "`X` must be a table, but its rows have different lengths"),
    "a table of three axes": (TABLE[:, :, None], LABELS, GROUPS, r"must be a table \(rows, inputs\)"),
    "a column twice": (pd.DataFrame(TABLE, columns=["a", "a"]), LABELS, GROUPS, "several columns called 'a'"),
    "labels of fewer sequences": (X, Y[:2], None, "labels for 12 sequences, but has labels for 2"),
    "labels of fewer rows": (TABLE, LABELS[:-1], GROUPS, "a label for each of the .* rows of `X`"),
    "labels of another length": ([X[0]], [np.zeros(LENGTHS[0] + 1)], None, "Sequence 0 has .* rows in `X`, but its"),
    "labels are a number": (X, 3, None, "`y` must be a list with the labels of each sequence, but is of type int"),
    "no labels": (X, None, None, "`y` must be a list with the labels of each sequence, but is of type NoneType"),
    "a missing label": (X[1:], with_first(Y[1:], with_gap(Y[1], None)), None, "in sequence 0 at position 1"),
    "NaN as label": (TABLE, with_gap(LABELS, np.nan).astype(float), GROUPS, "None, NaN or NA in row 1"),
    "fractions as labels": (X, [one + 0.5 for one in Y], None, "Unknown label type: continuous"),
    "names and numbers": (X, with_first(Y, ["a"] * LENGTHS[0]), None, "mixes text and numbers"),
    "one label only": (X, [np.zeros(length) for length in LENGTHS], None, "two different labels, but all are '0.0'"),
    "one sequence to search": (X[1:2], Y[1:2], None, "only one. Pass criterion=None"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_is_refused_before_the_fit(name):
    own, labels, groups, told = BAD_DATA[name]
    model = KernelSequenceClassifier()
    with pytest.raises(ValueError, match=told):
        model.fit(own, labels, groups=groups)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"decoding": "viterbi"}, "`decoding` must be one of"),
        ({"criterion": "loo"}, "`criterion` must be one of"),
        ({"tying": "share"}, "Did you mean 'shared'"),
        ({"inputs": "standrad"}, "Did you mean 'standard'"),
        ({"cv": 1}, "`cv` must be at least 2"),
        ({"cv": "three"}, "`cv` must be a number of folds"),
        ({"cv": KFold(3)}, "`cv` must be a number of folds"),
        ({"cv": [([0, 1], [99])]}, "sequence numbers from 0 to 11"),
        ({"cv": [3, 4]}, "must be a pair"),
        ({"cv": [([0, 1], [])]}, "but no split does"),
        ({"search_size": 2.5}, "`search_size` must be an integer"),
        ({"max_iter": 0}, "`max_iter` must be at least 1"),
        ({"transition_variance": -1.0}, "`transition_variance` must be a number of at least 0"),
        ({"pseudocount": 0.0}, "`pseudocount` must be a positive number"),
        ({"variance": 0.0}, "`variance` must be a positive number"),
        ({"checkpoint": 3}, "`checkpoint` must be None or a path"),
        ({"tol": 0.0}, "`tol` must be a positive number"),
        ({"piecewise": "auto"}, "`piecewise` must be a number of at least 0"),
        ({"kernel": "precomputed"}, "must not be precomputed"),
        ({"kernel": "gausian"}, "Did you mean 'gaussian'"),
        ({"rate": -1.0}, "`rate` must be a positive"),
        ({"rate": [1.0, 2.0, 3.0]}, "3"),
        ({"categorical_features": 3}, "`categorical_features` must be"),
        ({"n_jobs": 0}, "`n_jobs` must be"),
        ({"verbose": -1}, "`verbose` must be"),
        ({"random_state": "seed"}, "seed"),
    ],
)
def test_bad_settings_are_refused(settings, told):
    with pytest.raises((ValueError, TypeError), match=told):
        KernelSequenceClassifier(**settings).fit(X, Y)


ARRAYS = KernelSequenceClassifier(criterion=None).fit(X, Y)
FRAMES = KernelSequenceClassifier(criterion=None).fit(FRAME, LABELS, groups=GROUPS)
FEATURES = KernelSequenceClassifier(criterion=None).fit(DICTS, Y)
BAD_NEWS = {
    "no sequences": (ARRAYS, [], None, "at least one sequence"),
    "an empty sequence": (ARRAYS, [np.zeros((0, 2))], None, "Sequence 0 of `X` is empty"),
    "other inputs": (
        ARRAYS,
        [np.zeros((2, 3))],
        None,
        "X has 3 features, but KernelSequenceClassifier is expecting 2",
    ),
    "dicts for arrays": (ARRAYS, DICTS, None, "fitted to arrays, but `X` has feature dicts"),
    "arrays for dicts": (FEATURES, X, None, "fitted to feature dicts, but `X` has arrays"),
    "huge input": (ARRAYS, [1e200 * X[0]], None, "must not contain magnitudes above"),
    "a table without groups": (ARRAYS, TABLE, None, "Pass `groups`"),
    "groups of fewer rows": (ARRAYS, TABLE, GROUPS[1:], "`groups` must name"),
    "columns of another frame": (FRAMES, [FRAME.rename(columns={"left": "up"})], None, "feature names"),
    "text in a column of numbers": (FRAMES, [FRAME.astype(str).assign(left="x")], None, "Column `left`"),
    "polars of other columns": (FRAMES, [pl.DataFrame({"left": [1.0]})], None, "feature"),
}


@pytest.mark.parametrize("name", BAD_NEWS)
def test_bad_new_data_is_refused(name):
    model, own, groups, told = BAD_NEWS[name]
    with pytest.raises(ValueError, match=told):
        model.predict(own, groups=groups)


@pytest.mark.parametrize("answer", ["score", "log_likelihood"])
def test_unknown_labels_are_refused(answer):
    with pytest.raises(ValueError, match=r"does not know: \[7\]. It knows \[0, 1, 2\]"):
        getattr(ARRAYS, answer)(X, [[7] * length for length in LENGTHS])


@pytest.mark.parametrize("answer", ["score", "log_likelihood"])
def test_labels_of_other_lengths_are_refused(answer):
    with pytest.raises(ValueError, match="labels for 12 sequences"):
        getattr(ARRAYS, answer)(X, Y[1:])


@pytest.mark.parametrize("n", [0, 1.5, "two"])
def test_bad_numbers_of_draws_are_refused(n):
    with pytest.raises(ValueError, match="`n` must be an integer"):
        ARRAYS.sample(X, n)


def test_more_folds_than_sequences_hold_out_each_once():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelSequenceClassifier(cv=10, random_state=0).fit(X[:3], Y[:3])
    assert len(model.trace_) > 1


def test_failed_fit_forgets_the_fit_before_it():
    model = KernelSequenceClassifier(criterion=None).fit(X, Y)
    with pytest.raises(ValueError, match="two different labels"):
        model.fit(X, [np.zeros(length) for length in LENGTHS])
    with pytest.raises(NotFittedError):
        model.predict(X)
