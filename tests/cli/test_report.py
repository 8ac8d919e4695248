"""`logikern report`, and `--report` of `evaluate`."""

import json
import sys

import pandas as pd
import pytest

from tests.reporting.pages import dangers, read_page

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


@pytest.fixture
def unseen(make_table, tmp_path) -> pd.DataFrame:
    frame = make_table(n_points=90, seed=5)
    frame.to_csv(tmp_path / "test.csv", index=False)
    return frame


@pytest.fixture
def report(run, tmp_path):
    """Write a report and read it back."""

    def invoke(model, data, *arguments):
        result = run("report", model, data, "--out", tmp_path / "page.html", *arguments)
        assert result.exit_code == 0, result.stderr
        page = read_page((tmp_path / "page.html").read_text())
        assert dangers(page) == [] and page.misplaced == []
        return page

    return invoke


def test_page_has_the_scores_of_evaluate(report, run, model, unseen, tmp_path):
    scores = json.loads(run("evaluate", model, tmp_path / "test.csv", "--json").stdout)
    text = report(model, tmp_path / "test.csv").text
    assert f"log loss {scores['log_loss']:.4f} " in text and f"Brier score {scores['brier_score']:.4f} " in text
    assert f"error {100 * scores['error']:.2f} % " in text


def test_evaluate_writes_the_same_report(report, run, model, unseen, tmp_path):
    result = run("evaluate", model, tmp_path / "test.csv", "--report", tmp_path / "other.html", "--json")
    assert json.loads(result.stdout)["rows"] == 90 and "other.html" in result.stderr
    own, other = report(model, tmp_path / "test.csv"), read_page((tmp_path / "other.html").read_text())
    # All but the time that the prediction took.
    assert own.text.partition("Cost")[0] == other.text.partition("Cost")[0]


def test_page_names_target_files_and_command(report, model, unseen, tmp_path):
    text = report(model, tmp_path / "test.csv").text
    assert "Report on a model of kind" in text and "model model.skops rows test.csv" in text
    assert "logikern fit train.csv --out model.skops --target kind --fixed" in text
    assert str(tmp_path) not in text


def test_default_page_is_named_after_the_model(run, model, unseen, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("report", model, "test.csv").exit_code == 0 and (tmp_path / "model.html").exists()


def test_rows_are_numbered_as_in_the_file(report, model, unseen, tmp_path):
    unseen.loc[0:9, "kind"] = None
    unseen.loc[60, "kind"] = {"apple": "plum", "pear": "plum", "plum": "apple"}[unseen.loc[60, "kind"]]
    unseen.to_csv(tmp_path / "gaps.csv", index=False)
    text = report(model, tmp_path / "gaps.csv", "--drop-missing-target").text
    rows = text.partition("Largest losses The")[2].partition("Suspect")[0]
    assert " 61 " in rows and "80 rows" in text


def test_tree_has_levels_and_confusions(report, tree_model, unseen_texts, tmp_path):
    text = report(tree_model, tmp_path / "new.jsonl").text
    assert "Depth 1 of the tree" in text and "Depth 2 of the tree" in text and "class tree" in text


def test_svmlight_has_a_report(report, run, tmp_path):
    lines = "".join(f"{row % 2} {row % 2 + 1}:1 {row % 5 + 3}:{row}\n" for row in range(40))
    (tmp_path / "words.svm").write_text(lines)
    assert run("fit", tmp_path / "words.svm", "--fixed", "--out", tmp_path / "w.skops").exit_code == 0
    assert "cannot be shuffled column by column" in report(tmp_path / "w.skops", tmp_path / "words.svm").text


def test_page_that_cannot_be_written_is_refused_first(run, model, tmp_path):
    result = run("report", model, tmp_path / "none.csv", "--out", tmp_path / "nowhere" / "page.html")
    assert result.exit_code == 1 and "there is no folder" in result.stderr


def test_missing_library_is_named(run, model, unseen, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("report", model, tmp_path / "test.csv", "--out", tmp_path / "page.html")
    assert result.exit_code == 1 and "pip install 'logikern[report]'" in result.stderr and "bug" not in result.stderr
    assert not (tmp_path / "page.html").exists()


def test_info_shows_the_target_and_the_command(run, model):
    record = json.loads(run("info", model, "--json").stdout)
    assert record["fit"]["target"] == "kind" and record["fit"]["command"].startswith("logikern fit train.csv")
    assert "notes" not in record["written_by"]
