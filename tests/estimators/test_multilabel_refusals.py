"""What the multilabel classifier refuses, and what the message says."""

import numpy as np
import pandas as pd
import pytest

from logikern import KernelLogisticClassifier
from tests.estimators.test_multilabel import ALL_SETS, FIXED, NEW, NEW_Y, X, Y, fixed, rows, set_numbers


@pytest.mark.parametrize(
    "y, told",
    [
        (None, "requires y to be passed"),
        ([["a", "b"], ["c"]] * 45, "MultiLabelBinarizer"),
        ([{"a"}, {"b", "a"}] * 45, "MultiLabelBinarizer"),
        ([("a", "b"), ("b", "c")] * 45, "MultiLabelBinarizer"),
        (set_numbers(Y), "MultiLabelBinarizer"),
        (Y[:, 0], "KernelLogisticClassifier"),
        (Y + 1, "row 0 has 2|row . has 2"),
        (np.where(Y == 1, np.nan, 0.0), "None, NaN or NA"),
        (pd.DataFrame(Y).astype("Int64").replace(1, pd.NA), "None, NaN or NA"),
        (0.5 * Y, "continuous"),
        (Y[:-1], "inconsistent numbers of samples"),
        (pd.DataFrame(Y, columns=["p", "q", "p"]), "'p' has several"),
        (np.ones_like(Y), "each label has one class only"),
        (np.empty((len(X), 0)), "a column per label"),
    ],
)
def test_wrong_labels_are_refused(y, told):
    with pytest.raises(ValueError, match=told):
        fixed().fit(X, y)


@pytest.mark.parametrize(
    "settings, told",
    [
        ({"structure": "linked"}, "`structure` must be one of"),
        ({"structure": "joined"}, "Did you mean 'joint'"),
        ({"tying": [0, 1, 1]}, "`tying` must be one of"),
        ({"solver": "smo"}, "`solver` must be one of"),
        ({"bias_variance": np.inf}, "`bias_variance` must be finite"),
        ({"variance": [1.0, 2.0]}, "`variance` must be one number"),
        ({"tol": -1.0}, "`tol` must be"),
        ({"verbose": "much"}, "`verbose` must be"),
        ({"checkpoint": 3}, "`checkpoint` must be None or a path"),
        ({"cv": "five"}, "`cv` must be a number of folds"),
        ({"kernel": "rbf", "rate": None}, "gaussian"),
    ],
)
def test_wrong_settings_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        fixed(**settings).fit(X, Y)


def test_wrong_arguments_of_answers_are_refused():
    model = fixed(structure="joint").fit(X, Y)
    with pytest.raises(ValueError, match="`loss` must be one of"):
        model.decide(NEW, "accuracy")
    with pytest.raises(ValueError, match="a column for each of the 3 labels"):
        model.predict_set_proba(NEW, [[0, 1]])
    with pytest.raises(ValueError, match="must have as many rows as `X` .40., but"):
        model.set_log_proba(NEW, NEW_Y[:5])


NAMED = pd.DataFrame(NEW_Y, columns=["p", "q", "r"])


@pytest.mark.parametrize(
    "y, told",
    [
        (NAMED.rename(columns={"q": "z"}), "no column is named 'q', and 'z' is not a label"),
        (NAMED[["p", "q"]], "a column for each of the 3 labels, but has 2"),
        (NAMED.assign(s=0), "a column for each of the 3 labels, but has 4"),
        (NAMED["p"], "must be an indicator matrix"),
        (NAMED.astype(float).replace(1.0, np.nan), "None, NaN or NA"),
        (NAMED + 1, "row . has 2"),
        (NAMED[:5], "5|40"),
        ([["p"], ["q"]] * 20, "MultiLabelBinarizer"),
    ],
    ids=["unknown", "fewer", "more", "one", "missing", "not indicators", "fewer rows", "lists"],
)
@pytest.mark.parametrize("method", ["score", "set_log_proba"])
def test_wrong_labels_of_answers_are_refused(method, y, told):
    model = fixed(structure="independent").fit(X, pd.DataFrame(Y, columns=["p", "q", "r"]))
    with pytest.raises(ValueError, match=told):
        getattr(model, method)(NEW, y)


def test_columns_of_answers_are_matched_by_name():
    model = fixed(structure="joint").fit(X, pd.DataFrame(Y, columns=["p", "q", "r"]))
    mixed = NAMED[["r", "p", "q"]]
    assert model.score(NEW, mixed) == model.score(NEW, NEW_Y) == (model.predict(NEW) == NEW_Y).all(axis=1).mean()
    np.testing.assert_array_equal(model.set_log_proba(NEW, mixed), model.set_log_proba(NEW, NEW_Y))
    sets = pd.DataFrame(ALL_SETS, columns=["p", "q", "r"])
    np.testing.assert_array_equal(
        model.predict_set_proba(NEW, sets[["q", "r", "p"]]), model.predict_set_proba(NEW, ALL_SETS)
    )


def test_one_label_is_accepted_as_a_column():
    model = fixed(structure="independent").fit(X, Y[:, :1])
    expected = KernelLogisticClassifier(**FIXED).fit(X, Y[:, 0]).predict_proba(NEW)[:, 1:]
    np.testing.assert_allclose(model.predict_proba(NEW), expected, atol=1e-8)


@pytest.mark.parametrize(
    "X, told", [(NEW[:, :2], "2 features"), (NEW[0], "1D array"), ([["a", "b", "c"]], "numbers|numeric|convert")]
)
def test_wrong_inputs_of_answers_are_refused(X, told):
    with pytest.raises(ValueError, match=told):
        fixed(structure="independent").fit(rows(), Y).predict(X)


def test_a_classifier_of_single_labels_points_to_this_one():
    with pytest.raises(ValueError, match="use KernelMultilabelClassifier"):
        KernelLogisticClassifier().fit(X, Y)
