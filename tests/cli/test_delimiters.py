"""Separators and decimal marks that no option names."""

import json

import numpy as np
import pandas as pd
import pytest

from logikern.cli.reading.delimiters import comma_columns, find_separator, has_sure_comma

ROWS = [("0,5", "2", "u"), ("1,25", "3", "v"), ("2", "1", "u"), ("3,75", "9", "v")] * 3


def lines(separator: str, header: str = "x{0}z{0}y") -> str:
    return "\n".join([header.format(separator), *(separator.join(row) for row in ROWS)]) + "\n"


def numeric_inputs(run, tmp_path) -> list[str]:
    return json.loads(run("info", tmp_path / "out.skops", "--json").stdout)["inputs"]["numeric"]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_csv_with_another_separator_and_decimal_commas_is_read(separator, fit_csv, run, tmp_path):
    result = fit_csv(lines(separator))
    assert result.exit_code == 0, result.stderr
    assert f"read with the separator {separator!r}" in result.stderr
    assert "read ',' as the decimal mark in `x`; pass `--decimal .` to read this column as text" in result.stderr
    assert numeric_inputs(run, tmp_path) == ["x", "z"]


def test_predictions_are_those_of_the_usual_csv(fit_csv, run, tmp_path):
    fit_csv(lines(";"))
    unusual = run("predict", tmp_path / "out.skops", tmp_path / "data.csv", "-q").stdout
    usual = "x,z,y\n" + "".join(f"{x.replace(',', '.')},{z},{y}\n" for x, z, y in ROWS)
    fit_csv(usual)
    assert run("predict", tmp_path / "out.skops", tmp_path / "data.csv", "-q").stdout == unusual


def test_comma_that_may_separate_thousands_is_only_hinted_at(fit_csv, run, tmp_path):
    rows = [f"{1 + row % 3},{100 + 7 * (row % 5)};{row % 4};{'uv'[row % 2]}" for row in range(20)]
    text = "\n".join(["x;z;y", *rows])
    result = fit_csv(text)
    assert "the values of `x` are text. If ',' is their decimal mark, pass `--decimal ,`" in result.stderr
    assert fit_csv(text, "--decimal", ",").exit_code == 0
    assert numeric_inputs(run, tmp_path) == ["x", "z"]


def test_point_as_decimal_mark_keeps_text(fit_csv):
    result = fit_csv(lines(";"), "--decimal", ".", "--categorical", "x")
    assert result.exit_code == 0 and "decimal mark" not in result.stderr


def test_regression_target_may_have_decimal_commas(run, tmp_path):
    values = np.linspace(0.1, 3.0, 30)
    rows = "".join(f"{value:.2f};{2 * value:.2f}\n".replace(".", ",") for value in values)
    (tmp_path / "t.csv").write_text("x;y\n" + rows)
    options = ("--target", "y", "--regression", "--out", tmp_path / "m.skops")
    assert run("fit", tmp_path / "t.csv", *options).exit_code == 0
    scores = json.loads(run("evaluate", tmp_path / "m.skops", tmp_path / "t.csv", "--json").stdout)
    assert (
        scores["baseline_rmse"] == pytest.approx((2 * values.round(2)).std(), rel=1e-2)
        and scores["r2"]["value"] > 0.9
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1;2\n", ";"),
        ("a\tb\n1,5\t2\n", "\t"),
        ("a,b\n1,2\n", ","),
        ("a;b,c\n1,2\n", ","),  # the usual separator is there
        ("a;b|c\n1;2|3\n", ","),  # two others
        ("a;b\n1\n2\n", ","),  # a name with a semicolon
        ("a\n1\n", ","),
        ("a;b\n", ";"),
    ],
)
def test_separator_is_found_only_if_it_is_clear(text, expected):
    assert find_separator(text, ",") == expected


@pytest.mark.parametrize(
    ("values", "is_column", "is_sure"),
    [
        (["3,14", "2"], True, True),
        (["0,125", None], True, True),
        (["1,234", "5"], True, False),
        (["-1,5e3", "+2,25"], True, True),
        (["3,14", "red"], False, False),
        (["3", "4"], False, False),
        ([1.5, 2.0], False, False),
    ],
)
def test_commas_of_numbers_are_recognised(values, is_column, is_sure):
    frame = pd.DataFrame({"x": values})
    assert comma_columns(frame, ()) == (["x"] if is_column else [])
    assert has_sure_comma(frame, comma_columns(frame, ())) == is_sure
    assert comma_columns(frame, ["x"]) == []
