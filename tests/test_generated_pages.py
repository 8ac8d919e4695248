"""docs/reproduction.md and docs/benchmarks.md agree with the stored results; their parts run once and can go on."""

import importlib
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
GENERATORS = ("reproduction", "comparison")
SCRIPT = '''"""Writes a result and counts its runs."""
import json, os, pathlib, sys
folder = pathlib.Path(os.environ["LOGIKERN_RESULTS"])
count = folder / "count"
count.write_text(count.read_text() + "." if count.exists() else ".")
if "--fail" in sys.argv:
    raise SystemExit(3)
content = {"machine": "one core.", "made": {"date": "2026-01-01"}, "numbers": [{"value": 1.5}]}
(folder / "counted.json").write_text(json.dumps(content))
'''


@pytest.fixture(scope="module", autouse=True)
def importable():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A page with one part whose script is in a folder of its own."""
    page, parts = importlib.import_module("page"), importlib.import_module("parts")
    scripts, results, docs = (tmp_path / name for name in ("scripts", "results", "docs"))
    for folder in (scripts, results, docs):
        folder.mkdir()
    (scripts / "count.py").write_text(SCRIPT)
    (tmp_path / "satimage.npz").touch()
    monkeypatch.setattr(parts, "HERE", scripts)
    monkeypatch.setattr(page, "RESULTS", results)
    monkeypatch.setattr(page, "DOCS", docs)
    monkeypatch.setenv("LOGIKERN_DATA", str(tmp_path))
    part = parts.Part("counting", (("count.py",),), "counted", 1)
    return page.Page("page.md", "count", "# Page", (page.Section("Numbers", (part,), write_numbers),))


def write_numbers(stored):
    return [f"The value is {stored.table('numbers')[0]['value']}."]


def run(page, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["page", *arguments])
        sys.modules["page"].main(page, None)


def n_runs():
    return len((sys.modules["page"].RESULTS / "count").read_text())


@pytest.mark.parametrize("name", GENERATORS)
def test_page_is_what_the_generator_writes(name):
    page, generated = importlib.import_module("page"), importlib.import_module(name).PAGE
    written = (ROOT / "docs" / generated.file).read_text(encoding="utf-8")
    assert page.render(generated) == written, f"run `make {generated.target} STORED=1` and commit the page"


@pytest.mark.parametrize("name", GENERATORS)
def test_tables_use_the_words_of_the_pages(name):
    written = (ROOT / "docs" / importlib.import_module(name).PAGE.file).read_text(encoding="utf-8")
    tables = "\n".join(line for line in written.splitlines() if line.startswith("| ") and "`python " not in line)
    assert tables and not re.findall(r"\bours\b|\btaxo\b|\bpacc\b", tables)


@pytest.mark.parametrize("name", GENERATORS)
def test_figures_of_a_page_are_those_of_the_results(name):
    for part in importlib.import_module(name).PAGE.parts:
        for figure in part.figures:
            copied = (ROOT / "docs" / "images" / figure).read_bytes()
            assert copied == (BENCHMARKS / "results" / figure).read_bytes(), figure


@pytest.mark.parametrize("name", GENERATORS)
def test_every_part_has_a_result_with_date_commit_and_machine(name):
    page, parts = importlib.import_module(name).PAGE, importlib.import_module("parts")
    for part in page.parts:
        stored = parts.read(part, BENCHMARKS / "results")
        assert stored is not None, part.name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", stored.made["date"]) and stored.made["commit"], part.name
        assert "Python" in stored.content["machine"] and "numpy" in stored.content["machine"], part.name


@pytest.mark.parametrize("name", GENERATORS)
def test_parts_name_scripts_and_the_results_that_these_write(name):
    for part in importlib.import_module(name).PAGE.parts:
        assert all((BENCHMARKS / command[0]).exists() for command in part.commands)


def test_part_is_run_once_and_again_only_if_asked(counted):
    run(counted)
    run(counted)
    assert n_runs() == 1
    run(counted, "--again")
    assert n_runs() == 2
    run(counted, "--stored")
    assert n_runs() == 2
    assert "The value is 1.5." in (sys.modules["page"].DOCS / "page.md").read_text()


def test_comments_leave_a_result_current_and_code_does_not(counted, capsys):
    run(counted)
    script = sys.modules["parts"].HERE / "count.py"
    script.write_text(SCRIPT.replace("Writes a result", "Writes one result") + "# a comment\n")
    run(counted)
    assert n_runs() == 1
    script.write_text(SCRIPT.replace("1.5", "2.5"))
    run(counted, "--list")
    assert "older code" in capsys.readouterr().out
    run(counted)
    assert n_runs() == 2
    assert "The value is 2.5." in (sys.modules["page"].DOCS / "page.md").read_text()


def test_other_settings_are_not_current(counted):
    run(counted)
    part = sys.modules["parts"].Part("counting", (("count.py", "--more"),), "counted", 1)
    page = sys.modules["page"]
    run(page.Page("page.md", "count", "# Page", (page.Section("Numbers", (part,), write_numbers),)))
    assert n_runs() == 2


def test_part_that_fails_is_named_and_the_page_is_written(counted):
    page, parts = sys.modules["page"], sys.modules["parts"]
    failing = parts.Part("failing", (("count.py", "--fail"),), "nothing", 1)
    sections = (page.Section("Failing", (failing,), write_numbers), *counted.sections)
    with pytest.raises(SystemExit, match="failed: failing"):
        run(page.Page("page.md", "count", "# Page", sections))
    text = (page.DOCS / "page.md").read_text()
    assert "make count PART=failing" in text and "The value is 1.5." in text


def test_without_data_the_page_comes_from_stored_results(counted, monkeypatch, capsys, tmp_path):
    run(counted)
    monkeypatch.setenv("LOGIKERN_DATA", str(tmp_path / "nowhere"))
    run(counted, "--again")
    assert n_runs() == 1
    assert "LOGIKERN_DATA" in capsys.readouterr().out


def test_summary_names_the_best_peer_of_every_task():
    """Against minima taken from the files themselves."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    shown = {tuple(cells[:2]): cells[5] for cells in lines if len(cells) == 7}
    results = BENCHMARKS / "results"
    grid = json.loads((results / "against_grid_usps.json").read_text())
    rows = {row["model"]: row for title, own in grid.items() if title.startswith("usps, ") for row in own}
    ratio = rows["ours, default"]["log loss"] / rows["SVC grid, sigmoid"]["log loss"]
    assert shown["usps, SVC grid", "log loss"] == f"{ratio:.2f}"
    stored = [json.loads(line) for line in (results / "large.jsonl").read_text().splitlines()]
    losses = {row["method"]: row["log loss"] for row in stored if (row["rows"], row["seed"]) == (60000, 0)}
    best = min(losses[method] for method in losses if method != "logikern")
    assert shown["covtype, 60,000 rows", "log loss"] == f"{losses['logikern'] / best:.2f}"


def test_reproduction_shows_means_beside_the_print():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    runs = json.loads((BENCHMARKS / "results" / "usps_subset.json").read_text())["Test error and log loss"]
    errors = [run["error %"] for run in runs]
    spread = f" ± {statistics.stdev(errors):.2f}" if len(errors) > 1 else ""
    assert f"| {len(errors)} | {statistics.fmean(errors):.2f}{spread} | 4.77 (0.18) |" in page
    stored = json.loads((BENCHMARKS / "results" / "raetsch.json").read_text())["Test error, percent"]
    ours = next(row for row in stored if row["set"] == "banana")["ours, loo"].replace("+-", "±")
    assert f"| banana | {ours} | 10.6 ± 0.05 |" in page


def test_losses_are_shown_with_wins():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    stored = json.loads((BENCHMARKS / "results" / "tables.json").read_text())
    lost = [row for row in stored["Log loss by set, best in bold"] if float(row["ours / best peer"]) > 1]
    assert lost and all(re.search(rf"^\| {row['set']} .*\*\*", page, re.MULTILINE) for row in lost)


def test_quick_reproduction_goes_from_data_to_page(tmp_path):
    """One part in a process of its own, on points drawn here: the sets of the papers are not in the repository."""
    random = np.random.default_rng(0)
    y = np.arange(160) % 2
    X = random.normal(size=(160, 2)) + 1.2 * y[:, None]
    np.savez(tmp_path / "ripley_synth.npz", X=X, y=y, n_train=100)
    (tmp_path / "satimage.npz").touch()
    command = [
        sys.executable,
        str(BENCHMARKS / "reproduction.py"),
        "--quick",
        "--part",
        "ripley",
        "--out",
        str(tmp_path),
    ]
    environment = {**os.environ, "LOGIKERN_DATA": str(tmp_path)}
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    text = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    stored = json.loads((tmp_path / "results" / "ripley_contours.json").read_text())
    table = next(rows for title, rows in stored.items() if "settings" in title)
    assert f"| {table[0]['least']:.3f} |" in text
    assert "make reproduce PART=raetsch" in text and "quick versions" in text
    assert (tmp_path / "images" / "ripley_model.png").exists()
    assert stored["made"]["commands"] == ["python benchmarks/ripley_contours.py"]
