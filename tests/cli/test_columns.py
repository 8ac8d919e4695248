"""Roles of columns: numeric, categorical, text, left out."""

import numpy as np
import pandas as pd
import pytest

from logikern.cli.reading.columns import Roles, assign_roles, prepare, suspicions


def roles(**columns) -> Roles:
    return assign_roles(pd.DataFrame(columns), (), ())


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([1, 2, 3], "numeric"),
        ([1.5, None, 3.0], "numeric"),
        (["1", "2.5", "-3e4"], "numeric"),
        ([True, False, True], "categorical"),
        ([True, None, False], "categorical"),
        (["true", "false", "true"], "categorical"),
        (["a", "b", "a"], "categorical"),
        (["a", None, None], "categorical"),
        (["1", "b", "c"], "categorical"),
        (pd.Categorical([1, 2, 1]), "categorical"),
        ([7, 7, 7], "constant"),
        ([7.0, None, 7.0], "constant"),
        ([None, None, None], "constant"),
        (["a", "a", "a"], "constant"),
    ],
)
def test_values_decide_the_role(values, role):
    assert getattr(roles(other=[1, 2, 4], column=values), role).count("column") == 1


def test_categorical_option_overrules_numbers():
    frame = pd.DataFrame({"code": [1, 2, 1]})
    assert assign_roles(frame, ("code",), ()).categorical == ("code",)


@pytest.mark.parametrize(
    "values",
    [pd.to_datetime(["2024-01-01", "2024-01-02"]), ["01/02/2024", "03/04/2024"], ["1.2.24", "2.2.24"]],
)
def test_dates_are_refused(values):
    with pytest.raises(ValueError, match="holds dates"):
        roles(when=values)


def test_levels_are_spelled_alike_in_every_type():
    frame = pd.DataFrame({"a": [1, 2], "b": [1.0, 2.0], "c": ["1", "2"]})
    ready = prepare(frame, Roles((), ("a", "b", "c"))).frame
    assert ready["a"].tolist() == ready["b"].tolist() == ready["c"].tolist() == ["1", "2"]


def test_booleans_are_spelled_alike_in_every_type():
    frame = pd.DataFrame({"a": [True, False], "b": ["True", "FALSE"]})
    ready = prepare(frame, Roles((), ("a", "b"))).frame
    assert ready["a"].tolist() == ready["b"].tolist() == ["true", "false"]


def test_missing_values_are_counted_by_role():
    frame = pd.DataFrame({"n": [1.0, None, None], "c": ["a", None, "b"], "t": ["x", "y", None]})
    prepared = prepare(frame, Roles(("n",), ("c",), ("t",)))
    assert (prepared.missing_numeric, prepared.missing_categorical, prepared.missing_text) == (2, 1, 1)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("customer_id", np.arange(30) * 7),
        ("Id", np.arange(30) * 7),
        ("number", np.arange(30)),
        ("Unnamed: 0", np.arange(30) + 5),
        ("shuffled", 100 + np.random.default_rng(0).permutation(30)),
        ("reversed", np.arange(30.0)[::-1]),
        ("PassengerId", np.arange(30) * 7),
        ("customerid", np.arange(30) * 7),
        ("Row Number", np.arange(30) * 7),
        ("rownames", np.arange(30) * 7),
        ("identifier", np.arange(30) * 7),
        ("order-no", np.arange(30) * 7),
        ("__index_level_0__", np.arange(30) * 7),
        ("code", [f"k{i}" for i in range(30)]),
    ],
)
def test_identifiers_are_suspected(name, values):
    frame = pd.DataFrame({name: values})
    assert "looks like an identifier" in suspicions(frame, assign_roles(frame, (), ()))[0]


def test_measurements_are_not_suspected():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"width": random.standard_normal(30), "age": np.arange(30) % 13})
    # Different integers with gaps, and names that only end like those of identifiers.
    frame = frame.assign(acid=3 * random.permutation(30), paid=5 * random.permutation(30), price=np.arange(30) * 7)
    assert suspicions(frame, assign_roles(frame, (), ())) == []


def test_many_levels_are_suspected():
    frame = pd.DataFrame({"town": [f"t{i % 60}" for i in range(180)]})
    assert "has 60 levels" in suspicions(frame, assign_roles(frame, (), ()))[0]


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


def test_ignored_column_is_not_an_input(run, table, tmp_path):
    table.assign(id=range(len(table))).to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", "--target", "kind", "--fixed", "--ignore", "id", "--out", tmp_path / "m.skops")
    assert run("predict", tmp_path / "m.skops", tmp_path / "t.csv").exit_code == 0
    assert "id" not in run("info", tmp_path / "m.skops").stdout.split()


def test_question_marks_are_missing_numbers(fit_csv):
    result = fit_csv("x,y\n1,u\n?,v\n3,u\n4,v\n6,v\n")
    assert result.exit_code == 0 and "imputed 1 missing number " in result.stderr
