"""Types that only Parquet has."""

import datetime
import decimal
import json

import pyarrow
import pytest
from pyarrow import parquet

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
    "date": [datetime.date(2020, 1, row + 1) for row in range(N_POINTS)],
    "timestamp": [datetime.datetime(2020, 1, row + 1) for row in range(N_POINTS)],
    "duration": [datetime.timedelta(row) for row in range(N_POINTS)],
}
BAD = {
    "written dates": ([f"2020-01-{row + 1:02}" for row in range(N_POINTS)], "holds dates"),
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


@pytest.mark.parametrize("name", [None, "visit"])
def test_index_of_pandas_is_an_input_if_the_advice_is_followed(name, run, table, tmp_path):
    named = table.sample(frac=1, random_state=0).rename_axis(name)
    options = (tmp_path / "t.parquet", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    named.to_parquet(options[0])
    assert "To use it as an input, call `reset_index()` on the frame" in run("fit", *options).stderr
    named.reset_index().to_parquet(options[0])
    run("fit", *options)
    found = json.loads(run("info", tmp_path / "m.skops", "--json").stdout)["inputs"]
    assert (name or "index") in found["numeric"]


@pytest.mark.parametrize("name", [None, "visit"])
def test_index_of_pandas_is_not_an_input(name, run, table, tmp_path):
    table.sample(frac=1, random_state=0).rename_axis(name).to_parquet(tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert f"dropped the index that pandas wrote: `{name or '__index_level_0__'}`" in result.stderr
    found = json.loads(run("info", tmp_path / "m.skops", "--json").stdout)["inputs"]
    assert found == {"numeric": ["width", "height"], "categorical": ["colour"]}
    assert run("predict", tmp_path / "m.skops", tmp_path / "t.parquet").exit_code == 0


def test_index_of_pandas_is_kept_by_name(run, table, model, tmp_path):
    table.set_axis(range(7, 67)).rename_axis("visit").iloc[::-1].to_parquet(tmp_path / "t.parquet", index=True)
    result = run("predict", model, tmp_path / "t.parquet", "--keep", "visit", "--quiet")
    assert result.exit_code == 0 and result.stdout.splitlines()[1].startswith("66,")


def test_metadata_that_is_not_pandas_own_is_ignored(run, table, tmp_path):
    whole = pyarrow.Table.from_pandas(table).replace_schema_metadata({b"pandas": b"[not json"})
    parquet.write_table(whole, tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert result.exit_code == 0, result.stderr


def test_index_of_pandas_is_a_target_by_name(run, table, tmp_path):
    table.set_index("kind").to_parquet(tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(("values", "fragment"), BAD.values(), ids=BAD)
def test_type_is_refused(values, fragment, fit_column):
    result = fit_column(values)
    assert (result.exit_code, fragment in result.stderr) == (1, True), result.stderr
