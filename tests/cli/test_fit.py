"""Options of fit, and what it leaves behind."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from logikern.cli import models
from logikern.cli.reading.training import TrainingSet
from logikern.numerics.outcome import Outcome


@pytest.fixture
def fit_table(run, table, tmp_path):
    """Fit the small table, or a variant of it, with further arguments."""

    def invoke(*arguments: object, frame: pd.DataFrame | None = None):
        (table if frame is None else frame).to_csv(tmp_path / "t.csv", index=False)
        data, out = tmp_path / "t.csv", tmp_path / "m.skops"
        return run("fit", data, "--target", "kind", "--fixed", "--out", out, *arguments)

    return invoke


@pytest.fixture
def probabilities(run, tmp_path):
    """Probabilities of the model that `fit_table` wrote, for its own table."""

    def invoke() -> np.ndarray:
        output = run("predict", tmp_path / "m.skops", tmp_path / "t.csv", "--quiet").stdout
        return pd.read_csv(io.StringIO(output)).filter(like="probability_").to_numpy()

    return invoke


def info(run, tmp_path) -> dict:
    return json.loads(run("info", tmp_path / "m.skops", "--json").stdout)


@pytest.mark.parametrize(
    ("option", "value", "name", "expected"),
    [
        ("--kernel", "linear", "kernel", "linear"),
        ("--tying", "scaled", "tying", "scaled"),
        ("--rate", "0.5", "rate", 0.5),
        ("--variance", "3", "variance", 3.0),
        ("--bias-variance", "2", "bias_variance", 2.0),
        ("--solver", "newton", "solver", "newton"),
        ("--operator", "dense", "operator", "dense"),
        ("--operator", "neighbourhoods", "operator", "neighbourhoods"),
        ("--memory-limit", "1GB", "memory_limit", "1GB"),
        ("--class-weight", "balanced", "class_weight", "balanced"),
        ("--seed", "7", "random_state", 7),
        ("--precision", "double", "precision", "double"),
        ("--n-jobs", "1", "n_jobs", 1),
        ("--max-iter", "9", "max_iter", 9),
    ],
)
def test_option_reaches_the_estimator(option, value, name, expected, fit_table, run, tmp_path):
    result = fit_table(option, value)
    assert result.exit_code == 0, result.stderr
    assert info(run, tmp_path)["parameters"][name] == expected


@pytest.mark.parametrize(
    ("option", "value"),
    [("--kernel", "cubist"), ("--rate", "-1"), ("--variance", "0"), ("--memory-limit", "much")],
)
def test_setting_that_the_estimator_refuses_is_one_sentence(option, value, fit_table):
    result = fit_table(option, value)
    assert result.exit_code in (1, 2)
    assert option.strip("-").split("-")[0] in result.stderr and "Traceback" not in result.output


def test_weight_column_is_no_input(fit_table, table, run, tmp_path):
    fit_table("--weight", "w", frame=table.assign(w=np.arange(60) % 7 + 1.0))
    assert info(run, tmp_path)["inputs"]["numeric"] == ["width", "height"]


def test_weight_two_equals_a_repeated_row(fit_table, probabilities, table, tmp_path):
    # Without standardisation the inputs would differ by it; colours alone avoid that.
    colours = table[["colour", "kind"]]
    fixed = ("--rate", "1", "--variance", "4", "--bias-variance", "1")
    fit_table("--weight", "w", *fixed, frame=colours.assign(w=np.where(np.arange(60) < 20, 2, 1)))
    weighted = probabilities()
    fit_table(*fixed, frame=pd.concat([colours, colours[:20]]))
    np.testing.assert_allclose(weighted, probabilities()[:60], atol=1e-4)


def test_class_weight_raises_the_probability_of_its_class(fit_table, probabilities):
    fit_table()
    plain = probabilities()[:, 2].mean()
    fit_table("--class-weight", "plum=20")
    assert probabilities()[:, 2].mean() > plain


def test_held_out_rows_are_not_fitted(fit_table, run, tmp_path):
    result = fit_table("--test-fraction", "0.25")
    assert info(run, tmp_path)["training_rows"] == 45
    assert "scores on 15 held-out rows" in result.stderr and "log loss" in result.stdout


def test_rows_without_target_are_dropped_on_request(fit_table, table, run, tmp_path):
    table.loc[[1, 2], "kind"] = None
    result = fit_table("--drop-missing-target", frame=table)
    assert "dropped 2 rows without a target" in result.stderr
    assert info(run, tmp_path)["training_rows"] == 58


def test_dropped_rows_take_their_inputs_along(fit_table, probabilities, table):
    fit_table(frame=table[4:])
    expected = probabilities()
    fit_table("--drop-missing-target", frame=table.assign(kind=table["kind"].where(table.index >= 4)))
    np.testing.assert_allclose(probabilities()[4:], expected, atol=1e-9)


def test_some_rows_of_a_training_set_keep_inputs_labels_and_weights_together():
    numbers = np.arange(6.0)
    whole = TrainingSet(pd.DataFrame({"x": numbers}), numbers, numbers, None, None, numbers)
    some = whole.take(np.array([1, 4]))
    assert some.X["x"].tolist() == some.labels.tolist() == some.weights.tolist() == some.groups.tolist() == [1, 4]


@pytest.mark.parametrize(("options", "criterion"), [((), "cv"), (("--fixed",), None)])
def test_hyperparameters_are_learned_unless_fixed(options, criterion, run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", "--target", "kind", "--out", tmp_path / "m.skops", *options)
    assert info(run, tmp_path)["parameters"]["criterion"] == criterion


def test_unit_of_a_number_does_not_matter(fit_table, probabilities, table):
    fit_table()
    expected = probabilities()
    fit_table(frame=table.assign(width=1000 * table["width"]))
    np.testing.assert_allclose(probabilities(), expected, atol=1e-6)


def test_fit_is_reproducible(fit_table, probabilities):
    fit_table("--seed", "3")
    first = probabilities()
    fit_table("--seed", "3")
    np.testing.assert_array_equal(first, probabilities())


def test_quiet_fit_says_nothing(fit_table):
    assert fit_table("--quiet").output == ""


def test_plain_lines_without_terminal(fit_table):
    result = fit_table()
    assert "fit on 60 rows, 3 classes ..." in result.stderr and "\x1b" not in result.output


def test_fit_that_did_not_converge_is_written_and_exits_with_three(fit_table, tmp_path, monkeypatch):
    whole = models.fit_model

    def warning(model, *arguments):
        report = whole(model, *arguments)
        return models.FitReport(report.model, False, "Newton stopped early.", ("Newton stopped early.",))

    monkeypatch.setattr("logikern.cli.fitting.fit_model", warning)
    result = fit_table()
    assert result.exit_code == 3 and (tmp_path / "m.skops").exists()
    assert "warning: Newton stopped early." in result.stderr


@pytest.mark.parametrize("outcome", list(Outcome))
def test_outcome_says_whether_a_fit_converged(outcome):
    class Ending:
        criterion, outcome_ = None, outcome

        def fit(self, X, y):
            """Nothing to do."""

    assert models.fit_model(Ending(), None, np.zeros(2)).converged == outcome.converged


def test_search_that_could_fit_nothing_did_not_converge():
    class Failing:
        criterion, verdicts_, outcome_ = "cv", (), Outcome.CONVERGED

        def fit(self, X, y):
            """Nothing to do."""

    assert not models.fit_model(Failing(), None, np.zeros(2)).converged


def test_prose_makes_the_kernel_linear(fit_table, table, run, tmp_path):
    prose = table["kind"].map({"apple": "round red and sweet", "pear": "green, long", "plum": "small sweet blue"})
    result = fit_table("--text", "note", frame=table.assign(note=prose))
    assert result.exit_code == 0 and "1 text" in result.stderr
    assert info(run, tmp_path)["parameters"]["kernel"] == "linear"


def test_kernel_option_overrules_the_default_for_prose(fit_table, table, run, tmp_path):
    fit_table("--text", "colour", "--kernel", "gaussian", frame=table)
    assert info(run, tmp_path)["parameters"]["kernel"] == "gaussian"


def test_prose_separates_classes(fit_table, probabilities, table):
    words = {"apple": "round fruit of autumn", "pear": "long fruit of summer", "plum": "small stone inside"}
    fit_table("--text", "note", frame=table[["kind"]].assign(note=table["kind"].map(words)))
    assert (probabilities().argmax(axis=1) == np.arange(60) % 3).all()


def test_missing_prose_is_empty_and_counted(fit_table, table):
    note = pd.Series(["sweet fruit", None, "sour fruit"] * 20)
    result = fit_table("--text", "note", frame=table.assign(note=note))
    assert result.exit_code == 0 and "treated 20 missing texts as empty" in result.stderr


def test_prose_without_words_is_refused(fit_table, table):
    result = fit_table("--text", "note", frame=table.assign(note=["!", "?!"] * 30))
    assert (result.exit_code, "column `note` has no words" in result.stderr) == (1, True)


@pytest.mark.parametrize("name", ["model", "model.pkl", "t.csv"])
def test_model_file_has_one_suffix(name, run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--out", tmp_path / name)
    assert result.exit_code == 2 and "must end with .skops" in " ".join(result.stderr.replace("│", " ").split())
    assert (tmp_path / "t.csv").read_text() == table.to_csv(index=False)


@pytest.mark.parametrize(
    ("option", "wrong", "meant"),
    [
        ("--kernel", "rbf", "gaussian"),
        ("--kernel", "laplace", "laplacian"),
        ("--kernel", "lapace", "laplacian"),
        ("--criterion", "loocv", "loo"),
        ("--tying", "sepparate", "separate"),
        ("--criterion", "leave-one-out", "loo"),
        ("--operator", "tile", "tiled"),
        ("--precision", "float32", "single"),
        ("--format", "csvv", "csv"),
    ],
)
def test_near_name_is_suggested(option, wrong, meant, run, tmp_path):
    result = run("fit", tmp_path / "t.csv", "--target", "kind", option, wrong)
    assert result.exit_code == 2 and f"Did you mean '{meant}'?" in " ".join(result.stderr.replace("│", " ").split())


def test_near_name_of_a_solver_is_suggested(fit_table):
    result = fit_table("--solver", "Newton")
    assert result.exit_code == 1 and "Did you mean 'newton'?" in result.stderr


def test_suffix_that_is_advised_keeps_the_folder(fit_table, tmp_path):
    result = fit_table("--out", "models/fruit.model")
    told = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == 2 and "`--out models/fruit.skops`" in told
