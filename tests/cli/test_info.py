"""What info tells about a model file."""

import json

import pytest

import logikern


@pytest.fixture
def record(run, model) -> dict:
    return json.loads(run("info", model, "--json").stdout)


def test_info_names_the_classes(record):
    assert record["classes"] == ["apple", "pear", "plum"]


def test_info_names_the_inputs_by_role(record):
    assert record["inputs"] == {"numeric": ["width", "height"], "categorical": ["colour"]}


def test_info_counts_rows_and_features(record):
    assert (record["training_rows"], record["features"]) == (60, 5)


def test_info_gives_the_outcome_as_a_sentence(record):
    assert record["outcome"].endswith(".") and " " in record["outcome"]


def test_info_gives_the_size_of_the_file(record, model):
    assert record["bytes"] == model.stat().st_size


def test_info_gives_the_versions_that_wrote_the_file(record):
    assert record["written_by"]["logikern"] == logikern.__version__


def test_info_gives_one_variance_per_kernel_or_class(record):
    assert all(variance > 0 for variance in record["variances"])


@pytest.mark.parametrize("fragment", ["apple, pear, plum", "KernelLogisticClassifier", "width, height", "outcome"])
def test_table_for_people_shows(fragment, run, model):
    assert fragment in run("info", model).stdout


@pytest.mark.parametrize("command", ["info", "evaluate"])
def test_long_names_are_short_in_tables(command, run, table, tmp_path):
    plum = table["kind"] == "plum"
    named = table.assign(kind=table["kind"].mask(plum, f"{'p' * 10_000}\x1b[2J")).rename(
        columns={"width": "w" * 10_000}
    )
    named.to_csv(tmp_path / "long.csv", index=False)
    fitted = run("fit", tmp_path / "long.csv", "--target", "kind", "--fixed", "--out", tmp_path / "long.skops")
    data = [tmp_path / "long.csv"] if command == "evaluate" else []
    found = run(command, tmp_path / "long.skops", *data)
    assert (fitted.exit_code, found.exit_code) == (0, 0), found.stderr
    assert "ppp" in found.stdout and len(found.stdout) < 20_000 and len(fitted.stderr) < 20_000
    assert "\x1b[2J" not in found.stdout + fitted.stderr
