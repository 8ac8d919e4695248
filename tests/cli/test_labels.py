"""The target column as labels."""

import numpy as np
import pandas as pd
import pytest

from logikern.cli.reading.labels import class_labels, known_labels, parse_class_weight, suspect_measurements


@pytest.mark.parametrize("values", [[1, 2, 10], [1.0, 2.0, 10.0], ["1", "2", "10"]])
def test_integers_stay_integers_however_they_are_stored(values):
    assert class_labels(pd.Series(values)).tolist() == [1, 2, 10]


def test_leading_zeros_are_kept():
    assert class_labels(pd.Series(["01", "1", "2"])).tolist() == ["01", "1", "2"]


def test_booleans_are_spelled():
    assert class_labels(pd.Series([True, False])).tolist() == ["true", "false"]


def test_few_fractional_values_are_classes():
    assert class_labels(pd.Series([0.5, 1.5, 0.5])).tolist() == ["0.5", "1.5", "0.5"]


def test_none_is_a_class_name(fit_csv, run, tmp_path):
    fit_csv("x,y\n1,None\n2,some\n3,None\n4,some\n")
    assert "None, some" in run("info", tmp_path / "out.skops").stdout


@pytest.mark.parametrize("classes", [np.array([1, 2]), np.array(["1", "2"]), np.array([1.0, 2.0])])
def test_labels_are_matched_by_spelling(classes):
    assert known_labels(pd.Series(["2", "1"]), classes).tolist() == classes[[1, 0]].tolist()


def test_class_weight_names_classes():
    assert parse_class_weight("1=2,10=0.5", np.array([1, 10, 1])) == {1: 2.0, 10: 0.5}


def test_fractional_targets_are_called_regression():
    with pytest.raises(ValueError, match="looks like a measurement, not like classes. Pass `--regression`"):
        class_labels(pd.Series(np.linspace(0.1, 5.2, 60)))


def test_many_whole_numbers_are_suspected_to_be_a_measurement(fit_csv):
    rows = "".join(f"{number % 7},{3 * number}\n" for number in range(60))
    result = fit_csv(f"x,y\n{rows}")
    assert "warning: the target `y` has 60 different whole numbers from 0 to 177" in result.stderr
    assert "It looks like a measurement. Pass `--regression`" in result.stderr


@pytest.mark.parametrize(
    "labels",
    [
        np.tile(np.arange(60), 30),  # each class recurs
        np.arange(40),  # few classes
        np.array([f"a{number}" for number in range(60)]),  # names
    ],
)
def test_classes_are_not_suspected(labels):
    assert suspect_measurements(pd.Series(labels, name="y"), labels) is None
