"""A small table, a model fitted on it once, and a way to run commands."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from logikern.cli.main import app


def small_table(n_points: int = 60, seed: int = 0) -> pd.DataFrame:
    """Two numbers and a colour that separate three kinds well, but not entirely."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_points) % 3
    return pd.DataFrame(
        {
            "width": np.round(kind + 0.4 * rng.standard_normal(n_points), 3),
            "height": np.round(10.0 * (kind == 1) + 3.0 * rng.standard_normal(n_points), 3),
            "colour": np.array(["red", "green", "blue"])[(kind + (rng.random(n_points) < 0.2)) % 3],
            "kind": np.array(["apple", "pear", "plum"])[kind],
        }
    )


@pytest.fixture
def make_table():
    """The maker of small tables, for other sizes and seeds."""
    return small_table


@pytest.fixture
def table() -> pd.DataFrame:
    return small_table()


@pytest.fixture(scope="session")
def run():
    """Run `logikern` with these arguments; the result has exit_code, stdout and stderr."""

    def invoke(*arguments: object, input: str | bytes | None = None):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)

    return invoke


@pytest.fixture(scope="session")
def model(tmp_path_factory, run) -> Path:
    """A model of `kind` from the small table."""
    folder = tmp_path_factory.mktemp("model")
    small_table().to_csv(folder / "train.csv", index=False)
    result = run("fit", folder / "train.csv", "--target", "kind", "--fixed", "--out", folder / "model.skops")
    assert result.exit_code == 0, result.stderr
    return folder / "model.skops"


@pytest.fixture
def fit_csv(run, tmp_path):
    """Write text as CSV and fit on it."""

    def invoke(text: str | bytes, *arguments: object, name: str = "data.csv"):
        content = text.encode() if isinstance(text, str) else text
        (tmp_path / name).write_bytes(content)
        return run("fit", tmp_path / name, "--target", "y", "--fixed", "--out", tmp_path / "out.skops", *arguments)

    return invoke
