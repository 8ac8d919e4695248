"""Options of fit that concern learning, and what it says of the search."""

import json

import numpy as np
import pandas as pd
import pytest

from logikern.cli.fitting import split
from logikern.cli.reading.training import TrainingSet


@pytest.fixture
def learn(run, table, tmp_path):
    """Fit the small table, or a variant of it, with a short search."""

    def invoke(*arguments: object, frame: pd.DataFrame | None = None):
        (table if frame is None else frame).to_csv(tmp_path / "t.csv", index=False)
        data, out = tmp_path / "t.csv", tmp_path / "m.skops"
        return run("fit", data, "--target", "kind", "--tying", "shared", "--out", out, *arguments)

    return invoke


@pytest.fixture
def info(run, tmp_path):
    return lambda: json.loads(run("info", tmp_path / "m.skops", "--json").stdout)


@pytest.mark.parametrize(
    ("option", "name", "expected"),
    [
        (["--criterion", "loo"], "criterion", "loo"),
        (["--criterion", "auto"], "criterion", "auto"),
        ([], "criterion", "cv"),
        (["--max-time", "60"], "max_time", 60.0),
        (["--cv", "3"], "cv", 3),
        (["--ard"], "ard", True),
        (["--no-ard"], "ard", False),
        ([], "ard", "auto"),
        (["--sharpen"], "sharpen", True),
        (["--no-sharpen"], "sharpen", False),
        ([], "sharpen", "auto"),
        (["--learn-bias"], "learn_bias", True),
        (["--search-size", "40"], "search_size", 40),
        (["--search-size", "all"], "search_size", 60),
        (["--n-starts", "2"], "n_starts", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_option_reaches_the_estimator(option, name, expected, learn, info):
    result = learn(*option)
    assert result.exit_code == 0, result.stderr
    assert info()["parameters"][name] == expected


@pytest.mark.parametrize(
    ("option", "code", "fragment"),
    [
        (["--search-size", "some"], 2, "an integer or 'all'"),
        (["--criterion", "aic"], 2, "'aic' is not one of 'cv', 'loo', 'auto'"),
        (["--bias-variance", "inf"], 1, "`--bias-variance` is infinite, which `--criterion cv` does not allow"),
        (["--cv", "1"], 1, "`--cv` must be at least 2 folds"),
        (["--max-time", "-3"], 1, "`--max-time` must be a positive number"),
        (["--n-starts", "0"], 1, "`--n-starts` must be an integer of at least 1"),
        (["--checkpoint", "/no/such/folder/fit.search"], 1, "there is no folder"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_setting_without_sense_is_refused(option, code, fragment, learn):
    result = learn(*option)
    assert result.exit_code == code and fragment in " ".join(result.stderr.split()).replace("│ ", "")


@pytest.mark.parametrize(
    "option",
    [
        ["--criterion", "loo"],
        ["--max-time", "1"],
        ["--cv", "3"],
        ["--ard"],
        ["--no-ard"],
        ["--sharpen"],
        ["--no-sharpen"],
        ["--learn-bias"],
    ],
    ids=lambda o: o[0],
)
def test_fixed_refuses_options_of_learning(option, learn):
    result = learn("--fixed", *option)
    assert result.exit_code == 2 and f"`{option[0]}`" in result.stderr


def test_fits_share_a_folder_of_checkpoints(learn, tmp_path):
    for kernel in ("gaussian", "linear", "linear"):
        result = learn("--kernel", kernel, "--no-ard", "--checkpoint", f"{tmp_path}/searches/")
        assert result.exit_code == 0, result.stderr
    assert len(list((tmp_path / "searches").iterdir())) == 2


def test_checkpoint_is_not_the_model_file(learn, tmp_path):
    result = learn("--checkpoint", tmp_path / "m.skops")
    assert result.exit_code == 2 and "the same file" in result.stderr


def test_time_that_is_used_up_is_a_warning_but_no_failure(learn):
    result = learn("--max-time", "0.001")
    assert result.exit_code == 0 and "warning: The search" in result.stderr and "time" in result.stderr


def test_fit_says_what_was_tried_and_found(learn):
    said = learn("--kernel", "gaussian").stderr
    assert "Final model: standardised, shared, 2 learned hyperparameters." in said and "Final fit:" in said
    assert all(heading in said for heading in ("name", "classes", "value", "start", "bias_variance"))


def test_of_many_hyperparameters_the_first_are_shown(learn, table):
    wide = table.assign(**{f"x{number}": np.cos(number * np.arange(60.0)) for number in range(1, 16)})
    said = learn("--ard", "--cv", "2", "--tying", "shared", frame=wide).stderr
    assert "rate of width" in said and "rate of x15" not in said and "more: see `logikern info`" in said


def test_info_has_criterion_hyperparameters_and_verdicts(learn, info):
    learn("--ard", "--kernel", "gaussian")
    record = info()
    assert 0 < record["criterion_value"] < 1
    assert [row["name"] for row in record["hyperparameters"]] == [
        *("rate of width", "rate of height", "rate of colour", "variance", "bias_variance"),
    ]
    assert all(row["value"] > 0 and row["start"] > 0 for row in record["hyperparameters"])
    assert [verdict["stage"] for verdict in record["verdicts"]] == [
        *("standardised, shared", "ranks, shared", "rate per column"),
    ]


def test_info_has_every_first_model(learn, info):
    learn("--no-ard")
    assert [verdict["stage"] for verdict in info()["verdicts"]] == [
        "Gaussian + Laplacian, standardised, shared",
        "Laplacian, standardised, shared",
        "Gaussian + Laplacian, ranks, shared",
    ]


def test_info_of_a_fixed_model_has_no_criterion(run, model):
    record = json.loads(run("info", model, "--json").stdout)
    assert record["criterion_value"] is None and record["verdicts"] == []


def test_info_for_people_shows_verdicts_and_hyperparameters(learn, run, tmp_path):
    learn()
    shown = run("info", tmp_path / "m.skops").stdout
    assert "shared (2 hyperparameters): criterion" in shown and "bias_variance" in shown


def test_fit_says_which_criterion_it_was(learn):
    assert "60 rows by leave-one-out" in learn("--criterion", "loo").stderr
    assert "60 rows by cross-validation" in learn("--criterion", "auto").stderr


def test_free_constants_are_shown_and_told(learn, info, run, tmp_path):
    result = learn("--criterion", "loo", "--bias-variance", "inf")
    assert result.exit_code == 0, result.stderr
    assert "inf" in result.stderr
    told = info()["hyperparameters"][-1]
    assert (told["name"], told["value"]) == ("bias_variance", "inf")  # JSON has no infinity
    assert "bias_variance" in run("info", tmp_path / "m.skops").stdout


def test_groups_column_is_no_input(learn, table, info):
    result = learn("--groups", "tree", frame=table.assign(tree=np.arange(60) // 3))
    assert result.exit_code == 0, result.stderr
    assert info()["inputs"]["numeric"] == ["width", "height"]


def test_groups_change_the_folds(learn, table, info):
    learn()
    by_rows = info()["criterion_value"]
    learn("--groups", "tree", frame=table.assign(tree=np.arange(60) // 6))
    assert info()["criterion_value"] != pytest.approx(by_rows, rel=1e-6)


@pytest.mark.parametrize(
    ("trees", "fragment"),
    [
        (["a", None] * 30, "every row needs a group, but `tree` is missing in rows 2, 4"),
        (["a"] * 60, "has only one group, 'a'"),
    ],
    ids=["missing", "single"],
)
def test_groups_that_cannot_be_held_out_are_refused(trees, fragment, learn, table):
    result = learn("--groups", "tree", frame=table.assign(tree=trees))
    assert result.exit_code == 1 and fragment in result.stderr


def test_unknown_groups_column_is_refused_with_near_names(learn):
    result = learn("--groups", "color")
    assert result.exit_code == 1 and "which is named by `--groups`. Did you mean `colour`?" in result.stderr


def test_groups_stay_together_when_rows_are_held_out():
    groups = np.repeat(np.arange(20), 6)
    labels = np.arange(120) % 3
    whole = TrainingSet(pd.DataFrame({"x": groups}), labels, None, None, None, groups)
    kept, held_out = split(whole, 0.25, seed=0)
    assert not set(kept.groups) & set(held_out.groups)
    assert set(kept.labels) == set(held_out.labels) == {0, 1, 2}


def test_groups_that_cannot_be_split_are_refused():
    labels = np.repeat([0, 1], 10)
    whole = TrainingSet(pd.DataFrame({"x": labels}), labels, None, None, None, labels)
    with pytest.raises(ValueError, match="groups stay together"):
        split(whole, 0.5, seed=0)
