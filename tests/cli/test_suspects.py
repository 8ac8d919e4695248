"""`logikern suspects`, against the suspects of the model in Python."""

import io

import numpy as np
import pandas as pd
import pytest

import logikern

LABELS = ["apple", "pear", "plum"]


@pytest.fixture
def listed(run):
    """The table that the command prints."""

    def invoke(*arguments):
        result = run("suspects", *arguments)
        assert result.exit_code == 0, result.stderr
        return pd.read_csv(io.StringIO(result.stdout))

    return invoke


@pytest.fixture
def fruit(make_table, tmp_path) -> pd.DataFrame:
    """A table in which the label of one row is wrong."""
    frame = make_table(n_points=80).assign(id=np.arange(80) + 500)
    frame.loc[33, "kind"] = next(label for label in LABELS if label != frame.loc[33, "kind"])
    frame.to_csv(tmp_path / "fruit.csv", index=False)
    return frame


@pytest.fixture
def fitted(run, fruit, tmp_path):
    """Fit the table with further arguments, and return the model file."""

    def invoke(*arguments):
        options = ("--target", "kind", "--ignore", "id", "--fixed", "--out", tmp_path / "m.skops")
        result = run("fit", tmp_path / "fruit.csv", *options, *arguments)
        assert result.exit_code == 0, result.stderr
        return tmp_path / "m.skops"

    return invoke


def test_suspects_are_those_of_python(listed, fitted, fruit):
    found = listed(fitted(), "--number", 80)
    loaded = logikern.load_model(fitted())
    again = logikern.KernelLogisticClassifier(**loaded.get_params(deep=False))
    expected = again.fit(fruit[["width", "height", "colour"]], fruit["kind"]).suspects()
    assert found["row"].tolist() == (expected["row"] + 1).tolist()
    assert found["label"].tolist() == expected["label"].tolist()
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-6)


def test_wrong_label_is_found(listed, fitted, fruit):
    first = listed(fitted()).iloc[0]
    assert first["row"] == 34 and first["label"] == fruit.loc[33, "kind"] != first["likely"]


def test_table_of_the_fit_gives_further_columns(listed, fitted, tmp_path):
    first = listed(fitted(), tmp_path / "fruit.csv", "--keep", "id", "--keep", "kind").iloc[0]
    assert (first["id"], first["row"], first["kind"]) == (533, 34, first["label"])


def test_rows_of_a_part_of_the_table_are_numbered_as_in_the_table(listed, fitted, fruit, tmp_path):
    model = fitted("--test-fraction", 0.25)
    found = listed(model, tmp_path / "fruit.csv", "--keep", "id", "--number", 60)
    assert len(set(found["row"])) == 60 and (found["id"] == found["row"] + 499).all()
    assert (fruit["kind"].iloc[found["row"] - 1].to_numpy() == found["label"]).all()


def test_other_tables_are_refused(run, fitted, fruit, tmp_path):
    model = fitted()
    fruit.assign(width=fruit["width"] + (fruit["id"] < 503)).to_csv(tmp_path / "changed.csv", index=False)
    result = run("suspects", model, tmp_path / "changed.csv")
    assert result.exit_code == 1 and "3 of the 80 rows that the model was fitted on are not" in result.stderr


@pytest.mark.parametrize("weights", [("--class-weight", "plum=3,pear=1"), ("--weight", "id")])
def test_weighted_fits_are_refused(weights, run, fruit, tmp_path):
    fruit.to_csv(tmp_path / "fruit.csv", index=False)
    ignored = ("--ignore", "id") if "id" not in weights else ()
    out = ("--fixed", "--out", tmp_path / "m.skops")
    assert run("fit", tmp_path / "fruit.csv", "--target", "kind", *weights, *ignored, *out).exit_code == 0
    result = run("suspects", tmp_path / "m.skops")
    assert result.exit_code == 1 and "recovered only" in result.stderr
    assert "weights" in result.stderr


def test_texts_have_suspects(listed, tree_model):
    found = listed(tree_model)
    assert len(found) == 20 and found["loss"].is_monotonic_decreasing and found["label"].str.contains("/").all()


def test_texts_are_found_in_their_table(listed, fit_texts, tmp_path):
    assert fit_texts().exit_code == 0
    found = listed(tmp_path / "m.skops", tmp_path / "docs.jsonl", "--keep", "path")
    assert (found["path"] == found["label"]).all()


def test_columns_need_a_table(run, model):
    result = run("suspects", model, "--keep", "id")
    assert result.exit_code == 2 and "needs DATA" in result.stderr


def test_suspects_are_written_to_a_file(run, model, tmp_path):
    result = run("suspects", model, "-n", 5, "--out", tmp_path / "suspects.parquet")
    assert "wrote 5 rows" in result.stderr and len(pd.read_parquet(tmp_path / "suspects.parquet")) == 5
