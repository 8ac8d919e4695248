"""Scores on known classes, against scikit-learn's own."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import logikern
from logikern.decisions.intervals import bootstrap_means


@pytest.fixture
def unseen(make_table, tmp_path) -> pd.DataFrame:
    frame = make_table(n_points=90, seed=5)
    frame.to_csv(tmp_path / "test.csv", index=False)
    return frame


@pytest.fixture
def scores(run, model, unseen, tmp_path) -> dict:
    result = run("evaluate", model, tmp_path / "test.csv", "--target", "kind", "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def predicted(run, model, unseen, tmp_path) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(run("predict", model, tmp_path / "test.csv").stdout))


def test_log_loss_is_that_of_scikit_learn(scores, predicted, unseen):
    expected = metrics.log_loss(unseen["kind"], predicted.filter(like="probability_"))
    assert scores["log_loss"] == pytest.approx(expected, rel=1e-9)


def test_error_is_that_of_scikit_learn(scores, predicted, unseen):
    expected = 1 - metrics.accuracy_score(unseen["kind"], predicted["predicted"])
    assert scores["error"] == pytest.approx(expected)


def test_brier_score_is_summed_over_classes(scores, predicted, unseen):
    truth = pd.get_dummies(unseen["kind"]).to_numpy(dtype=float)
    squares = (predicted.filter(like="probability_").to_numpy() - truth) ** 2
    assert scores["brier_score"] == pytest.approx(squares.sum(axis=1).mean(), rel=1e-9)


def test_confusion_is_that_of_scikit_learn(scores, predicted, unseen):
    expected = metrics.confusion_matrix(unseen["kind"], predicted["predicted"], labels=scores["classes"])
    np.testing.assert_array_equal(scores["confusion"], expected)


def test_calibration_error_is_the_gap_over_bins(scores, predicted, unseen):
    top = predicted.filter(like="probability_").max(axis=1)
    correct = (predicted["predicted"] == unseen["kind"]).astype(float)
    bins = pd.cut(top, np.linspace(0, 1, 16), right=False, labels=False).fillna(14)
    gaps = (top.groupby(bins).mean() - correct.groupby(bins).mean()).abs()
    expected = (gaps * bins.value_counts(normalize=True)).sum()
    assert scores["calibration_error"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("score", ["precision", "recall"])
def test_scores_per_class_are_those_of_scikit_learn(score, scores, predicted, unseen):
    function = getattr(metrics, f"{score}_score")
    expected = function(unseen["kind"], predicted["predicted"], labels=scores["classes"], average=None)
    assert [entry[score] for entry in scores["per_class"]] == pytest.approx(expected.tolist())


def test_baseline_is_the_entropy_of_the_class_shares(scores):
    assert scores["baseline_log_loss"] == pytest.approx(np.log(3))


def test_intervals_are_those_of_resampled_rows(scores, predicted, unseen):
    true = np.searchsorted(scores["classes"], unseen["kind"])
    own = predicted.filter(like="probability_").to_numpy()[np.arange(90), true]
    [expected] = bootstrap_means(-np.log(own)[:, None])
    found = scores["intervals"]["log_loss"]
    assert [found["low"], found["high"]] == pytest.approx([expected.low, expected.high])
    for name in ("log_loss", "error", "brier_score"):
        assert scores["intervals"][name]["low"] < scores[name] < scores["intervals"][name]["high"]


def test_table_for_people_shows_intervals(run, model, scores, tmp_path):
    shown = run("evaluate", model, tmp_path / "test.csv").stdout
    error = scores["intervals"]["error"]
    assert "95 % interval" in shown and f"{error['low']:.2%} to {error['high']:.2%}" in shown


def test_table_for_people_shows_the_same_log_loss(run, model, scores, tmp_path):
    shown = run("evaluate", model, tmp_path / "test.csv", "--target", "kind").stdout
    assert f"{scores['log_loss']:.4f}" in shown and "calibration error" in shown


def test_class_that_does_not_occur_has_no_recall(run, model, unseen, tmp_path):
    unseen[unseen["kind"] != "plum"].to_csv(tmp_path / "two.csv", index=False)
    result = run("evaluate", model, tmp_path / "two.csv", "--target", "kind", "--json")
    assert json.loads(result.stdout)["per_class"][2]["recall"] is None


def test_unknown_class_is_refused_with_its_row(run, model, unseen, tmp_path):
    unseen.loc[3, "kind"] = "grape"
    unseen.to_csv(tmp_path / "test.csv", index=False)
    result = run("evaluate", model, tmp_path / "test.csv", "--target", "kind")
    assert result.exit_code == 1 and "holds 'grape' in row 4" in result.stderr


def test_missing_targets_are_refused(run, model, unseen, tmp_path):
    unseen.loc[[3, 5], "kind"] = None
    unseen.to_csv(tmp_path / "test.csv", index=False)
    result = run("evaluate", model, tmp_path / "test.csv", "--target", "kind")
    assert result.exit_code == 1 and "missing in rows 4, 6" in result.stderr


def test_missing_targets_are_dropped_on_request(run, model, unseen, tmp_path):
    unseen.loc[[3, 5], "kind"] = None
    unseen.to_csv(tmp_path / "test.csv", index=False)
    arguments = ["evaluate", model, tmp_path / "test.csv", "--target", "kind", "--json"]
    result = run(*arguments, "--drop-missing-target")
    assert json.loads(result.stdout)["rows"] == 88


def test_target_of_the_fit_is_remembered(run, model, unseen, scores, tmp_path):
    assert json.loads(run("evaluate", model, tmp_path / "test.csv", "--json").stdout) == scores


def test_table_without_the_remembered_target_is_refused(run, model, unseen, tmp_path):
    unseen.rename(columns={"kind": "sort"}).to_csv(tmp_path / "test.csv", index=False)
    result = run("evaluate", model, tmp_path / "test.csv")
    assert result.exit_code == 1 and "no column `kind`, which is named by the model file" in result.stderr


def test_table_without_target_is_a_usage_error(run, model, unseen, tmp_path):
    logikern.save_model(logikern.load_model(model), tmp_path / "nameless.skops")
    result = run("evaluate", tmp_path / "nameless.skops", tmp_path / "test.csv")
    assert (result.exit_code, "--target COL" in result.stderr) == (2, True)


def test_integer_classes_of_parquet_are_those_of_csv(run, table, tmp_path):
    table["kind"] = table["kind"].map({"apple": 1, "pear": 2, "plum": 10})
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.parquet", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    result = run("evaluate", tmp_path / "m.skops", tmp_path / "t.csv", "--target", "kind", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["classes"] == ["1", "2", "10"]
