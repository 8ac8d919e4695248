"""Messages of the library, in options instead of arguments of Python."""

import pytest

from logikern.cli.session.wording import in_options


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Raise `max_iter`.", "Raise `--max-iter`."),
        ("Use precision='double'.", "Use `--precision double`."),
        ("Use criterion='cv', or less.", "Use `--criterion cv`, or less."),
        ("Pass `n_starts=3`.", "Pass `--n-starts 3`."),
        ("Leave out ard=False.", "Leave out `--no-ard`."),
        ("Pass learn_bias=True.", "Pass `--learn-bias`."),
        ("Pass criterion=None.", "Pass `--fixed`."),
        ("`sample_weight` and `random_state`", "`--weight` and `--seed`"),
        ("Use state_precision='double'.", "Use state_precision='double' (in Python)."),
        ("Use `exact_loo`.", "Use `exact_loo` (in Python)."),
        ("Use `suspects`.", "Use `suspects`."),
        ("Class 'rate' in `trees.skops`: a rate = 3", "Class 'rate' in `trees.skops`: a rate = 3"),
    ],
)
def test_arguments_become_options(message, expected):
    assert in_options(message) == expected


def test_warning_names_the_option_that_helps(run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "-t", "kind", "--fixed", "--variance", "1e6", "--solver", "newton")
    result = run(*fit, "--max-iter", "1", "-o", tmp_path / "m.skops")
    assert result.exit_code == 3 and "Raise `--max-iter`" in result.stderr


def test_error_of_the_library_names_the_option(run, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "-t", "kind", "--rate", "-1", "-o", tmp_path / "m.skops")
    assert result.exit_code == 1 and "error: `--rate` must be" in result.stderr


def test_error_about_a_column_keeps_its_name(run, table, tmp_path):
    table.rename(columns={"width": "rate"}).to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "-t", "kind", "--text", "rate", "--categorical", "rate")
    result = run(*fit, "-o", tmp_path / "m.skops")
    assert result.exit_code != 0 and "`rate`" in result.stderr
