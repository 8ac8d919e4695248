"""Types that only Parquet has."""

import datetime
import decimal
import json

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import parquet

from logikern import KernelLogisticClassifier
from logikern.cli.reading.sources import Source
from logikern.cli.reading.tables import index_columns

N_POINTS = 24
GOOD = {
    "decimal": [decimal.Decimal(row * 5 % 7) / 4 for row in range(N_POINTS)],
    "integer with gaps": [1, 2, None, 5] * 6,
    "boolean with gaps": [True, False, None] * 8,
    "dictionary": pyarrow.array(["u", "v", None] * 8).dictionary_encode(),
    "binary": [b"a", b"b"] * 12,
    "large string": pyarrow.array(["p", "q"] * 12, pyarrow.large_string()),
    "unsigned": pyarrow.array([2**63 + row for row in range(N_POINTS)], pyarrow.uint64()),
    "nothing": pyarrow.nulls(N_POINTS),
}
BAD = {
    "date": ([datetime.date(2020, 1, row + 1) for row in range(N_POINTS)], "holds dates"),
    "timestamp": ([datetime.datetime(2020, 1, row + 1) for row in range(N_POINTS)], "holds dates"),
    "duration": ([datetime.timedelta(row) for row in range(N_POINTS)], "or durations"),
    "list": ([[1], [2, 3]] * 12, "holds a list in row 1"),
    "record": ([{"a": 1}, {"a": 2}] * 12, "holds a record in row 1"),
}


@pytest.fixture
def fit_column(run, tmp_path):
    """Fit on a table with this column beside a number."""

    def invoke(values):
        columns = {"y": ["a", "b", "c"] * 8, "x": [row * 7 % 11 for row in range(N_POINTS)], "column": values}
        parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
        return run("fit", tmp_path / "t.parquet", "--target", "y", "--fixed", "--out", tmp_path / "m.skops")

    return invoke


@pytest.mark.parametrize("values", GOOD.values(), ids=GOOD)
def test_type_is_fitted_and_predicted(values, fit_column, run, tmp_path):
    result = fit_column(values)
    assert result.exit_code == 0, result.stderr
    assert run("predict", tmp_path / "m.skops", tmp_path / "t.parquet").exit_code == 0


@pytest.mark.parametrize("name", [None, "place"])
def test_index_of_pandas_is_no_input(name, run, table, tmp_path):
    table.sample(frac=1, random_state=0).rename_axis(name).to_parquet(tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    column = name or "__index_level_0__"
    assert f"dropped `{column}`: the index of the pandas frame" in result.stderr
    record = json.loads(run("info", tmp_path / "m.skops", "--json").stdout)
    assert record["inputs"] == {"numeric": ["width", "height"], "categorical": ["colour"]}
    assert run("predict", tmp_path / "m.skops", tmp_path / "t.parquet").exit_code == 0


def test_index_that_only_counts_rows_needs_no_word(run, table, tmp_path):
    table.to_parquet(tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert result.exit_code == 0 and "dropped" not in result.stderr


def test_every_level_of_an_index_is_dropped(run, table, tmp_path):
    levels = pandas.MultiIndex.from_arrays([np.arange(60) % 7, np.arange(60)], names=["day", None])
    table.set_axis(levels).to_parquet(tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert "dropped `day`, `__index_level_1__`: the index" in result.stderr


def test_index_that_the_user_names_is_used(run, table, tmp_path):
    table.set_index("colour").to_parquet(tmp_path / "t.parquet")
    options = ("--target", "kind", "--fixed", "--categorical", "colour", "--out", tmp_path / "m.skops")
    result = run("fit", tmp_path / "t.parquet", *options)
    assert result.exit_code == 0 and "dropped" not in result.stderr


def test_index_is_no_input_of_a_model_without_names(run, table, tmp_path):
    numbers = table[["width", "height"]].fillna(0.0)
    model = KernelLogisticClassifier(criterion=None).fit(numbers.to_numpy(), table["kind"])
    model.save_model(tmp_path / "m.skops")
    numbers.sample(frac=1, random_state=0).to_parquet(tmp_path / "t.parquet")
    assert run("predict", tmp_path / "m.skops", tmp_path / "t.parquet").exit_code == 0


def test_metadata_of_others_is_harmless(fit_column, tmp_path):
    columns = pyarrow.table({"x": [1, 2]}).replace_schema_metadata({"pandas": "not of pandas"})
    parquet.write_table(columns, tmp_path / "t.parquet")
    assert index_columns(Source("t.parquet", "parquet", (tmp_path / "t.parquet").read_bytes())) == []


def test_index_of_pandas_may_be_the_target(run, table, tmp_path):
    table.set_index("kind").to_parquet(tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(("values", "fragment"), BAD.values(), ids=BAD)
def test_type_is_refused(values, fragment, fit_column):
    result = fit_column(values)
    assert (result.exit_code, fragment in result.stderr) == (1, True), result.stderr
