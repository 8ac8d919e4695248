"""Roles of columns: numeric, categorical, text, left out."""

import json

import numpy as np
import pandas as pd
import pytest

from logikern.cli.reading.columns import (
    Roles,
    assign_roles,
    complain,
    gap_notes,
    learn_columns,
    prepare_text,
    suspicions,
)
from logikern.encoding.complaints import ADVICE, ColumnError
from logikern.encoding.inspection import inspect


def roles(**columns) -> Roles:
    return assign_roles(learn_columns(pd.DataFrame(columns), (), ()))


def suspected(frame: pd.DataFrame) -> list[str]:
    return suspicions(learn_columns(frame, (), ()))


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([1, 2, 3], "numeric"),
        ([1.5, None, 3.0], "numeric"),
        (["1", "2.5", "-3e4"], "numeric"),
        (pd.to_datetime(["2024-01-01", "2024-01-02", None]), "numeric"),
        ([True, False, True], "categorical"),
        ([True, None, False], "categorical"),
        (["true", "false", "true"], "categorical"),
        (["a", "b", "a"], "categorical"),
        (["a", None, None], "categorical"),
        (["1", "b", "c"], "categorical"),
        (["01", "02", "01"], "categorical"),
        (pd.Categorical([1, 2, 1]), "categorical"),
        ([7, 7, 7], "constant"),
        ([7.0, None, 7.0], "numeric"),
        ([None, None, None], "constant"),
        (["a", "a", "a"], "constant"),
    ],
)
def test_values_decide_the_role(values, role):
    assert getattr(roles(other=[1, 2, 4], column=values), role).count("column") == 1


def test_categorical_option_overrules_numbers():
    frame = pd.DataFrame({"code": [1, 2, 1]})
    assert assign_roles(learn_columns(frame, ("code",), ())).categorical == ("code",)


@pytest.mark.parametrize("values", [["01/02/2024", "03/04/2024"], ["1.2.24", "2.2.24"]])
def test_written_dates_are_refused(values):
    with pytest.raises(ValueError, match="holds dates"):
        roles(when=values)


def test_missing_values_are_counted_by_role():
    frame = pd.DataFrame({"n": [1.0, None, None], "c": ["a", None, "b"], "t": ["x", "y", None]})
    findings = inspect(learn_columns(frame, (), ("t",)), frame[["n", "c"]])
    ready, missing_text = prepare_text(frame, ("t",))
    assert (findings.missing_numbers, findings.missing_levels, missing_text) == (2, 1, 1)
    assert ready["t"].tolist() == ["x", "y", ""]
    assert gap_notes(findings, missing_text, "medians") == [
        "imputed 2 missing numbers with medians",
        "treated 1 missing category as a separate level",
        "treated 1 missing text as empty",
    ]


def test_missing_categories_that_the_training_data_did_not_have_are_no_level_of_their_own():
    encoder = learn_columns(pd.DataFrame({"c": ["a", "b"], "d": ["a", None]}), (), ())
    findings = inspect(encoder, pd.DataFrame({"c": ["a", None, None], "d": ["a", None, "a"]}))
    assert gap_notes(findings, 0, "medians") == [
        "treated 1 missing category as a separate level",
        "treated 2 missing categories as unseen, because their columns had no missing values in the training data",
    ]


@pytest.mark.parametrize("cause", ADVICE)
def test_every_error_says_what_to_do_and_counts_rows_from_one(cause):
    said = complain(ColumnError("x", cause, "is wrong", 4))
    assert (
        said.startswith("column `x` is wrong in row 5. ") and "categorical_features" not in said and "{" not in said
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("customer_id", np.arange(30) * 7),
        ("Id", np.arange(30) * 7),
        ("number", np.arange(30)),
        ("shuffled", np.random.default_rng(0).permutation(30)),
        ("Unnamed: 3", np.arange(30) * 7),
        ("code", [f"k{i}" for i in range(30)]),
    ],
)
def test_identifiers_are_suspected(name, values):
    assert "looks like an identifier" in suspected(pd.DataFrame({name: values}))[0]


def test_measurements_are_not_suspected():
    frame = pd.DataFrame({"width": np.random.default_rng(0).standard_normal(30), "age": np.arange(30) % 13})
    assert suspected(frame) == []


def test_many_levels_are_suspected():
    frame = pd.DataFrame({"town": [f"t{i % 110}" for i in range(330)]})
    assert "has 110 levels" in suspected(frame)[0]


def test_few_levels_are_not_suspected_if_one_of_them_occurs_once():
    assert suspected(pd.DataFrame({"hypopituitary": ["f"] * 1999 + ["t"]})) == []


def test_numbers_as_text_are_suspected():
    assert "--categorical code" in suspected(pd.DataFrame({"code": ["1", "2", "1"]}))[0]


def test_text_identifier_is_dropped_and_may_be_kept(run, table, tmp_path):
    table.assign(person=[f"row {number}" for number in range(60)]).to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert "dropped column `person`" in run("fit", tmp_path / "t.csv", *options).stderr
    assert "person" not in run("info", tmp_path / "m.skops").stdout.split()
    assert run("predict", tmp_path / "m.skops", tmp_path / "t.csv").exit_code == 0
    run("fit", tmp_path / "t.csv", *options, "--categorical", "person")
    assert "colour, person" in run("info", tmp_path / "m.skops").stdout


def test_constant_categorical_column_is_dropped(run, table, tmp_path):
    table.assign(one="x").to_csv(tmp_path / "t.csv", index=False)
    result = run(
        *("fit", tmp_path / "t.csv", "--target", "kind", "--fixed", "--categorical", "one"),
        *("--out", tmp_path / "m.skops"),
    )
    assert result.exit_code == 0 and "dropped 1 constant column: `one`" in result.stderr


def test_constant_columns_are_dropped_and_counted(run, table, tmp_path):
    table.assign(one=1, nothing=None).to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert "dropped 2 constant columns: `one`, `nothing`" in result.stderr


def test_imputed_values_are_counted_at_fit(run, table, tmp_path):
    table.loc[[3, 8, 9], "width"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert "imputed 3 missing numbers" in result.stderr


def test_identifier_warning_reaches_the_user(run, table, tmp_path):
    table.assign(id=range(len(table))).to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops", "--quiet")
    assert "warning: column `id` looks like an identifier" in result.stderr


def test_advice_quotes_names_for_the_shell(run, table, tmp_path):
    table.assign(**{"row number": range(len(table))}).to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert "`--ignore 'row number'`" in result.stderr


def test_index_in_csv_is_dropped_with_a_warning(run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv")
    result = run("fit", tmp_path / "t.csv", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops")
    assert "warning: dropped column `Unnamed: 0`, which looks like the index" in result.stderr
    assert "constant" not in result.stderr
    table.to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", tmp_path / "m.skops", tmp_path / "new.csv").exit_code == 0


def test_ignored_column_is_not_an_input(run, table, tmp_path):
    table.assign(id=range(len(table))).to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", "--target", "kind", "--fixed", "--ignore", "id", "--out", tmp_path / "m.skops")
    assert run("predict", tmp_path / "m.skops", tmp_path / "t.csv").exit_code == 0
    inputs = json.loads(run("info", tmp_path / "m.skops", "--json").stdout)["inputs"]
    assert inputs == {"numeric": ["width", "height"], "categorical": ["colour"]}


def test_question_marks_are_missing_numbers(fit_csv):
    result = fit_csv("x,y\n1,u\n?,v\n3,u\n4,v\n6,v\n")
    assert result.exit_code == 0 and "imputed 1 missing number " in result.stderr
