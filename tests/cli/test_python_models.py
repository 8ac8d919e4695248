"""Models that were fitted in Python are used from the shell."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import logikern
from logikern.model import persistence


@pytest.fixture
def numbers(table) -> pd.DataFrame:
    return table[["width", "height"]]


def predicted(run, folder) -> np.ndarray:
    result = run("predict", folder / "m.skops", folder / "t.csv", "--quiet")
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout)).filter(like="probability_").to_numpy()


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["classifier", "pipeline"])
def test_model_with_names_finds_its_columns(steps, run, table, numbers, tmp_path):
    model = make_pipeline(*steps, logikern.KernelLogisticClassifier(criterion=None)).fit(numbers, table["kind"])
    model = model if steps else model[-1]
    persistence.save_model(model, tmp_path / "m.skops")
    table[["kind", "height", "colour", "width"]].to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_allclose(predicted(run, tmp_path), model.predict_proba(numbers), atol=1e-12)


def test_model_without_names_takes_columns_in_order(run, table, numbers, tmp_path):
    model = logikern.KernelLogisticClassifier(criterion=None).fit(numbers.to_numpy(), table["kind"])
    model.save_model(tmp_path / "m.skops")
    numbers.to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_allclose(predicted(run, tmp_path), model.predict_proba(numbers.to_numpy()), atol=1e-12)


def test_model_of_fit_opens_in_python(model, table):
    pipeline = logikern.load_model(model)
    inputs = table[["width", "height", "colour"]]
    np.testing.assert_allclose(pipeline.predict_proba(inputs).sum(axis=1), 1.0, atol=1e-12)


def test_info_of_a_class_against_the_rest_names_the_classes(run, table, numbers, tmp_path):
    model = logikern.KernelLogisticClassifier(criterion=None, one_vs_rest=True).fit(numbers, table["kind"])
    model.save_model(tmp_path / "m.skops")
    result = run("info", tmp_path / "m.skops")
    assert result.exit_code == 0 and "plum against the rest" in result.stdout


def test_regressor_with_several_outputs_predicts_each(run, numbers, tmp_path):
    model = logikern.KernelRegressor(criterion=None).fit(numbers, numbers.rename(columns=str.upper))
    model.save_model(tmp_path / "m.skops")
    numbers.to_csv(tmp_path / "t.csv", index=False)
    found = pd.read_csv(io.StringIO(run("predict", tmp_path / "m.skops", tmp_path / "t.csv").stdout))
    assert list(found) == ["predicted_WIDTH", "predicted_HEIGHT"]
    np.testing.assert_allclose(found, model.predict(numbers), atol=1e-12)
    result = run("evaluate", tmp_path / "m.skops", tmp_path / "t.csv", "--target", "width")
    assert result.exit_code == 1 and "scores one target, but the model predicts 2" in result.stderr
