"""Every format of DATA gives the same model and the same predictions."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest


def write(table: pd.DataFrame, path) -> None:
    """Write by suffix, with pandas rather than with the code under test."""
    name = path.name.removesuffix(".gz")
    if name.endswith((".csv", ".tsv", ".tab")):
        content = table.to_csv(index=False, sep="," if name.endswith(".csv") else "\t").encode()
    elif name.endswith((".jsonl", ".ndjson")):
        content = table.to_json(orient="records", lines=True).encode()
    else:
        buffer = io.BytesIO()
        table.to_parquet(buffer)
        content = buffer.getvalue()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def predictions(run, model, path) -> pd.DataFrame:
    result = run("predict", model, path, "--quiet")
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout))


NAMES = [
    "t.csv",
    "t.tsv",
    "t.tab",
    "t.parquet",
    "t.pq",
    "t.jsonl",
    "t.ndjson",
    "T.CSV",
    "t.csv.gz",
    "t.jsonl.gz",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_predicts_like_csv(name, run, model, table, tmp_path):
    table.to_csv(tmp_path / "reference.csv", index=False)
    path = tmp_path / name.lower()
    write(table, path)
    path = path.rename(tmp_path / name)
    pd.testing.assert_frame_equal(predictions(run, model, path), predictions(run, model, tmp_path / "reference.csv"))


@pytest.mark.parametrize("name", ["t.tsv", "t.parquet", "t.jsonl"])
def test_fit_from_every_format_gives_the_model_of_csv(name, run, model, table, tmp_path):
    write(table, tmp_path / name)
    result = run("fit", tmp_path / name, "--target", "kind", "--fixed", "--out", tmp_path / "own.skops")
    assert result.exit_code == 0, result.stderr
    own = predictions(run, tmp_path / "own.skops", tmp_path / name)
    reference = predictions(run, model, tmp_path / name)
    np.testing.assert_allclose(own.filter(like="probability"), reference.filter(like="probability"), atol=1e-9)


@pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.parquet", "o.jsonl", "o.csv.gz"])
def test_every_output_format_holds_the_same_probabilities(name, run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", model, tmp_path / "t.csv", "--out", tmp_path / name)
    assert result.exit_code == 0, result.stderr
    readers = {
        "csv": pd.read_csv,
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "parquet": pd.read_parquet,
        "jsonl": lambda path: pd.read_json(path, lines=True),
        "gz": pd.read_csv,
    }
    written = readers[name.rsplit(".", 1)[1]](tmp_path / name)
    reference = predictions(run, model, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(written, reference, check_dtype=False, rtol=1e-12)


def test_standard_input_is_read_as_the_format_says(run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    piped = run("predict", model, "-", "--format", "csv", input=table.to_csv(index=False))
    assert piped.stdout == run("predict", model, tmp_path / "t.csv").stdout


def test_standard_input_without_format_is_a_usage_error(run, model):
    result = run("predict", model, "-", input="width,height\n1,2\n")
    assert (result.exit_code, "--format csv" in result.stderr) == (2, True)


def test_fit_reads_standard_input(run, table, tmp_path):
    arguments = ["fit", "-", "--format", "jsonl", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops"]
    result = run(*arguments, input=table.to_json(orient="records", lines=True))
    assert result.exit_code == 0 and (tmp_path / "m.skops").exists()


def test_semicolons_are_read_with_separator(run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False, sep=";")
    assert run("predict", model, tmp_path / "t.csv", "--separator", ";").exit_code == 0


def test_latin_1_is_read_with_encoding(run, table, tmp_path):
    table["kind"] = table["kind"].replace("plum", "prüne")
    (tmp_path / "t.csv").write_bytes(table.to_csv(index=False).encode("latin-1"))
    arguments = ["fit", tmp_path / "t.csv", "--target", "kind", "--fixed", "--out", tmp_path / "m.skops"]
    assert run(*arguments, "--encoding", "latin-1").exit_code == 0
    assert "prüne" in run("info", tmp_path / "m.skops").stdout


def test_byte_order_mark_is_not_part_of_the_first_name(run, model, table, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + table.to_csv(index=False).encode())
    assert run("predict", model, tmp_path / "t.csv").exit_code == 0


def test_blanks_after_separators_do_not_matter(run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "spaced.csv").write_text(table.to_csv(index=False).replace(",", ", "))
    assert run("predict", model, tmp_path / "spaced.csv").stdout == run("predict", model, tmp_path / "t.csv").stdout


def test_blank_lines_are_skipped(run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    spaced = table.to_csv(index=False).replace("\n", "\n\n", 3) + "   \n\n"
    (tmp_path / "spaced.csv").write_text(spaced)
    assert run("predict", model, tmp_path / "spaced.csv").stdout == run("predict", model, tmp_path / "t.csv").stdout


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings_do_not_matter(ending, run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "other.csv").write_bytes(table.to_csv(index=False, lineterminator=ending).encode())
    assert run("predict", model, tmp_path / "other.csv").stdout == run("predict", model, tmp_path / "t.csv").stdout


def test_predict_writes_csv_to_standard_output_by_default(run, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    header = run("predict", model, tmp_path / "t.csv").stdout.splitlines()[0]
    assert header == "predicted,probability_apple,probability_pear,probability_plum"
