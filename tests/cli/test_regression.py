"""Regression from the shell, against the estimator in Python and scikit-learn's scores."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

import logikern


def houses(n_points: int = 60, seed: int = 0) -> pd.DataFrame:
    """A price that depends on a size, an age and a place, with noise of standard deviation 5."""
    rng = np.random.default_rng(seed)
    size, age = rng.uniform(30, 200, n_points), rng.integers(0, 90, n_points)
    place = np.array(["city", "town"])[np.arange(n_points) % 2]
    price = 2.0 * size - 0.5 * age + 40.0 * (place == "city") + 5.0 * rng.standard_normal(n_points)
    return pd.DataFrame({"size": size.round(2), "age": age, "place": place, "price": price.round(3)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory, run):
    """Training and test rows, and a model."""
    found = tmp_path_factory.mktemp("houses")
    houses().to_csv(found / "train.csv", index=False)
    houses(80, seed=1).to_csv(found / "test.csv", index=False)
    options = ("--target", "price", "--regression", "--no-ard", "--out", found / "m.skops")
    result = run("fit", found / "train.csv", *options)
    assert result.exit_code == 0, result.stderr
    assert "fit on 60 rows ..." in result.stderr and "of the variance is explained" in result.stderr
    return found


@pytest.fixture(scope="module")
def predicted(folder, run) -> pd.DataFrame:
    result = run("predict", folder / "m.skops", folder / "test.csv", "--keep", "age")
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout))


@pytest.fixture(scope="module")
def scores(folder, run) -> dict:
    result = run("evaluate", folder / "m.skops", folder / "test.csv", "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_model_is_that_of_python(predicted):
    inputs = houses().drop(columns="price")
    own = logikern.KernelRegressor(inputs="standard", ard=False, random_state=0).fit(inputs, houses()["price"])
    expected = own.predict(houses(80, seed=1).drop(columns="price"))
    np.testing.assert_allclose(predicted["predicted"], expected, rtol=1e-9)


def test_prediction_has_the_deviation_of_held_out_rows(folder, predicted):
    assert list(predicted) == ["age", "predicted", "standard_deviation"]
    model = logikern.load_model(folder / "m.skops")
    assert predicted["standard_deviation"].unique() == pytest.approx(model.held_out_rmse_)
    assert 4.0 < model.held_out_rmse_[0] < 10.0  # the noise is 5


def test_scores_are_those_of_scikit_learn(scores, predicted):
    true, found = houses(80, seed=1)["price"], predicted["predicted"]
    assert scores["rmse"]["value"] == pytest.approx(metrics.root_mean_squared_error(true, found))
    assert scores["mean_absolute_error"]["value"] == pytest.approx(metrics.mean_absolute_error(true, found))
    assert scores["r2"]["value"] == pytest.approx(metrics.r2_score(true, found))
    assert scores["baseline_rmse"] == pytest.approx(true.std(ddof=0))


def test_log_loss_is_that_of_normal_errors(scores, predicted):
    true = houses(80, seed=1)["price"]
    losses = -stats.norm(predicted["predicted"], predicted["standard_deviation"]).logpdf(true)
    assert scores["log_loss"]["value"] == pytest.approx(losses.mean())
    baseline = -stats.norm(true.mean(), true.std(ddof=0)).logpdf(true)
    assert scores["baseline_log_loss"] == pytest.approx(baseline.mean())


@pytest.mark.parametrize("score", ["rmse", "r2", "log_loss", "mean_absolute_error"])
def test_score_lies_in_its_interval(score, scores):
    assert scores[score]["low"] < scores[score]["value"] < scores[score]["high"]


def test_scores_are_printed_with_intervals(folder, run):
    shown = run("evaluate", folder / "m.skops", folder / "test.csv").stdout
    assert all(word in shown for word in ("80 rows", "RMSE", "R^2", "log loss", "95 % interval", " to "))


def test_info_shows_a_regressor(folder, run):
    assert "held out rmse" in run("info", folder / "m.skops").stdout
    record = json.loads(run("info", folder / "m.skops", "--json").stdout)
    assert record["model"] == "KernelRegressor" and record["fit"]["target"] == "price"
    assert "--regression" in record["fit"]["command"] and 0 < record["held_out_error"] < 0.02


def test_fixed_regression_has_no_deviation(folder, run, tmp_path):
    options = (
        "--target",
        "price",
        "--regression",
        "--fixed",
        "--test-fraction",
        "0.5",
        "--out",
        tmp_path / "m.skops",
    )
    result = run("fit", folder / "train.csv", *options)
    assert result.exit_code == 0 and "scores on 30 held-out rows" in result.stderr
    assert "RMSE" in result.stdout and "log loss" not in result.stdout
    header = run("predict", tmp_path / "m.skops", folder / "test.csv").stdout.splitlines()[0]
    assert header == "predicted"


def test_text_makes_a_pipeline(run, tmp_path):
    words = pd.Series(["bad cheap broken", "good nice lovely"] * 20)
    stars = np.arange(40) % 2 * 4 + np.linspace(0.1, 0.9, 40)
    pd.DataFrame({"review": words, "stars": stars, "w": 1.5}).to_csv(tmp_path / "t.csv", index=False)
    options = (
        "--target",
        "stars",
        "--text",
        "review",
        "--regression",
        "--weight",
        "w",
        "--out",
        tmp_path / "m.skops",
    )
    assert run("fit", tmp_path / "t.csv", *options).exit_code == 0
    found = pd.read_csv(io.StringIO(run("predict", tmp_path / "m.skops", tmp_path / "t.csv", "-q").stdout))
    assert found["predicted"][::2].max() < 2.0 < 3.0 < found["predicted"][1::2].min()


def test_svmlight_has_numbers_as_labels(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [(value, 2.5 * value + 0.01 * rng.standard_normal()) for value in rng.uniform(0, 1, 30)]
    (tmp_path / "t.svm").write_text("".join(f"{y:.6f} 1:{x:.6f}\n" for x, y in rows))
    assert run("fit", tmp_path / "t.svm", "--regression", "--out", tmp_path / "m.skops").exit_code == 0
    scores = json.loads(run("evaluate", tmp_path / "m.skops", tmp_path / "t.svm", "--json").stdout)
    assert scores["r2"]["value"] > 0.99


def test_groups_are_held_out_together(folder, run, tmp_path):
    houses().assign(street=np.arange(60) // 3).to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "price", "--regression", "--groups", "street", "--fixed", "--test-fraction", "0.3")
    result = run("fit", tmp_path / "t.csv", *options, "--out", tmp_path / "m.skops")
    assert result.exit_code == 0 and "scores on 18 held-out rows" in result.stderr


@pytest.mark.parametrize("command", ["decide", "suspects", "report", "evaluate --report r.html"])
def test_command_for_classes_refuses_a_regressor(command, folder, run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    name, *options = command.split()
    result = run(name, folder / "m.skops", folder / "test.csv", *options)
    assert (
        result.exit_code == 1
        and re.search("needs a (single-label )?classifier", result.stderr)
        and "contains a regressor" in result.stderr
    )


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (("--class-weight", "balanced"), "remove `--class-weight`"),
        (("--hierarchy", "auto", "--tying", "level"), "remove `--hierarchy`, `--tying`"),
        (("--no-sharpen",), "remove `--no-sharpen`"),
        (("--kernel", "auto"), "name a kernel"),
        (("--criterion", "auto"), "pass loo (default) or cv"),
    ],
)
def test_option_for_classes_is_refused(options, fragment, folder, run, tmp_path):
    words = ("--target", "price", "--regression", "--out", tmp_path / "m.skops", *options)
    result = run("fit", folder / "train.csv", *words)
    assert result.exit_code == 2 and fragment in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("x,y\n1,2.5\n2,red\n3,1\n", "the target `y` holds 'red' in row 2"),
        ("x,y\n1,2.5\n2,inf\n3,1\n", "holds 'inf' in row 2"),
        ("x,y\n1,2.5\n2,2.5\n3,2.5\n", "is 2.5 in every row"),
    ],
)
def test_target_that_is_no_number_is_refused(text, fragment, fit_csv):
    result = fit_csv(text, "--regression")
    assert result.exit_code == 1 and fragment in result.stderr


def test_loss_of_a_tree_is_refused(folder, run):
    result = run("predict", folder / "m.skops", folder / "test.csv", "--loss", "taxonomic")
    assert result.exit_code == 1 and "needs a class tree" in result.stderr
