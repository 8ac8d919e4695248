"""A model of the command line has the probabilities of the estimator that a user of Python fits."""

import io

import numpy as np
import pandas as pd
import pytest

import logikern


@pytest.fixture
def mixed(make_table) -> pd.DataFrame:
    """Numbers, categories, truths, dates, gaps, a constant, an identifier, and an index."""
    table = make_table(90, seed=3)
    rows = np.arange(len(table))
    table["width"] = table["width"].where(rows % 11 != 0)
    table["colour"] = table["colour"].astype("category").where(rows % 13 != 0)
    table["ripe"] = pd.array([None if row % 17 == 0 else bool(row % 4) for row in rows], dtype="boolean")
    table["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rows * rows % 83, "D")
    table["count"] = pd.array(rows * 7 % 10, dtype="Int64")
    table["one"], table["name"] = 1, [f"row {row}" for row in rows]
    return table.sample(frac=1, random_state=0)


def predicted(run, folder) -> np.ndarray:
    result = run("predict", folder / "m.skops", folder / "t.parquet", "--quiet")
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout)).filter(like="probability_").to_numpy()


def fit(run, folder, *arguments) -> None:
    result = run("fit", folder / "t.parquet", "--target", "kind", "--out", folder / "m.skops", *arguments)
    assert result.exit_code == 0, result.stderr


@pytest.mark.filterwarnings("ignore::logikern.encoding.complaints.ColumnWarning")
@pytest.mark.parametrize("options", [(("--fixed",), {"criterion": None}), (("--cv", "2"), {"cv": 2})])
def test_table_gives_the_same_probabilities(options, run, mixed, tmp_path):
    mixed.to_parquet(tmp_path / "t.parquet")
    fit(run, tmp_path, *options[0])
    frame = pd.read_parquet(tmp_path / "t.parquet")
    model = logikern.KernelLogisticClassifier(random_state=0, **options[1])
    model.fit(frame.drop(columns="kind"), frame["kind"])
    expected = model.predict_proba(frame.drop(columns="kind"))
    np.testing.assert_allclose(predicted(run, tmp_path), expected, atol=1e-8)


def test_chosen_categories_give_the_same_probabilities(run, mixed, tmp_path):
    mixed.to_parquet(tmp_path / "t.parquet")
    fit(run, tmp_path, "--fixed", "--categorical", "count", "--ignore", "name")
    frame = pd.read_parquet(tmp_path / "t.parquet").drop(columns="name")
    model = logikern.KernelLogisticClassifier(criterion=None, categorical_features=["count"])
    model.fit(frame.drop(columns="kind"), frame["kind"])
    expected = model.predict_proba(frame.drop(columns="kind"))
    np.testing.assert_allclose(predicted(run, tmp_path), expected, atol=1e-8)


def test_numbers_alone_are_standardised(run, table, tmp_path):
    table[["width", "height", "kind"]].to_parquet(tmp_path / "t.parquet")
    fit(run, tmp_path, "--fixed")
    model = logikern.KernelLogisticClassifier(criterion=None, inputs="standard")
    model.fit(table[["width", "height"]], table["kind"])
    np.testing.assert_allclose(predicted(run, tmp_path), model.predict_proba(table[["width", "height"]]), atol=1e-8)


def test_loaded_model_is_the_estimator_itself(run, mixed, tmp_path):
    mixed.to_parquet(tmp_path / "t.parquet")
    fit(run, tmp_path, "--fixed")
    model = logikern.load_model(tmp_path / "m.skops")
    assert isinstance(model, logikern.KernelLogisticClassifier)
    inputs = pd.read_parquet(tmp_path / "t.parquet")[list(model.feature_names_in_)]
    np.testing.assert_allclose(model.predict_proba(inputs), predicted(run, tmp_path), atol=1e-12)


def test_columns_that_a_split_makes_constant_are_not_needed(run, table, tmp_path):
    """The encoder of a model may leave out columns that the whole table does not."""
    table["rare"] = np.where(np.arange(60) == 7, "b", "a")
    table.to_parquet(tmp_path / "t.parquet")
    for seed in range(9):
        fit(run, tmp_path, "--fixed", "--test-fraction", "0.5", "--seed", seed)
        if logikern.load_model(tmp_path / "m.skops").encoder_.dropped:
            break
    table.drop(columns="rare").to_parquet(tmp_path / "t.parquet")
    assert np.isfinite(predicted(run, tmp_path)).all()
