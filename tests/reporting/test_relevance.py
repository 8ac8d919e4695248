"""Relevance of columns: kinds of tables, and agreement with scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression

from logikern.reporting.relevance import RelevancePolicy, list_cells, shuffle_columns, take_rows


@pytest.fixture(scope="module")
def sample():
    """Three columns, of which the first says most, the second little and the third nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    return X, (3 * X[:, 0] + X[:, 1] + rng.logistic(size=600) > 0).astype(int)


@pytest.fixture(scope="module")
def linear(sample):
    return LogisticRegression().fit(*sample)


def test_increases_are_those_of_scikit_learn(linear, sample):
    expected = permutation_importance(linear, *sample, scoring="neg_log_loss", n_repeats=20, random_state=1)
    for own in shuffle_columns(linear.predict_log_proba, *sample).columns:
        place = int(own.column.removeprefix("input "))
        assert own.increase == pytest.approx(expected.importances_mean[place], abs=4 * own.error + 1e-3)


def test_columns_come_by_relevance(linear, sample):
    found = shuffle_columns(linear.predict_log_proba, *sample)
    assert [own.column for own in found.columns] == ["input 0", "input 1", "input 2"]


def test_unused_column_has_no_relevance(sample):
    only_first = LogisticRegression().fit(sample[0][:, :1], sample[1])
    found = shuffle_columns(lambda X: only_first.predict_log_proba(X[:, :1]), *sample)
    assert {own.column: own.increase for own in found.columns if own.increase == 0.0}.keys() == {"input 1", "input 2"}


@pytest.mark.parametrize(
    "make",
    [
        lambda X: pd.DataFrame(X, columns=["input 0", "input 1", "input 2"], index=np.arange(600)[::-1]),
        lambda X: pl.DataFrame(X, schema=["input 0", "input 1", "input 2"]),
    ],
)
def test_frames_give_the_same_as_arrays(make, linear, sample):
    frame = make(sample[0])
    found = shuffle_columns(lambda X: linear.predict_log_proba(np.asarray(X)), frame, sample[1])
    expected = shuffle_columns(linear.predict_log_proba, *sample)
    assert [own.column for own in found.columns] == [own.column for own in expected.columns]
    increases = [[own.increase for own in both.columns] for both in (found, expected)]
    np.testing.assert_allclose(*increases, atol=1e-14)  # arrays of another memory order are summed in another order


def test_names_of_columns_need_not_be_text(linear, sample):
    found = shuffle_columns(lambda X: linear.predict_log_proba(np.asarray(X)), pd.DataFrame(sample[0]), sample[1])
    assert [own.column for own in found.columns] == [0, 1, 2]


def test_table_is_left_as_it_was(linear, sample):
    frame = pd.DataFrame(sample[0])
    shuffle_columns(lambda X: linear.predict_log_proba(np.asarray(X)), frame, sample[1])
    np.testing.assert_array_equal(frame, sample[0])


def test_sparse_inputs_and_slow_models_have_no_table(linear, sample):
    assert shuffle_columns(linear.predict_log_proba, sparse.csr_array(sample[0]), sample[1]) is None
    assert shuffle_columns(linear.predict_log_proba, *sample, RelevancePolicy(seconds=0.0)) is None


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_rows_and_cells_are_taken_by_position(make):
    frame = make({"a": [1, 2, 3], "b": ["u", "v", "w"]})
    assert list_cells(frame, np.array([2, 0]), [1, 0]) == [["w", 3], ["u", 1]]
    assert take_rows(frame, np.array([2, 0]))["a"].to_list() == [3, 1]
