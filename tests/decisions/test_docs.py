"""The blocks of docs/decisions.md run from top to bottom, and print what they say."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PRINTED = re.findall(r"^print\(.*\)  # (.*)$", PAGE, re.MULTILINE)


def test_page_prints_what_it_says(tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    exec("\n".join(BLOCKS), {})
    assert capsys.readouterr().out.splitlines() == PRINTED
    assert sorted(path.name for path in tmp_path.iterdir()) == ["error_reject.png", "reliability.png", "tree.png"]


def test_page_has_blocks_with_printed_answers():
    assert len(BLOCKS) > 4
    assert len(PRINTED) > 3


@pytest.mark.parametrize("module", ["rules", "metrics", "tree_rules", "tree_scores", "tree_errors"])
def test_examples_of_docstrings_hold(module):
    import doctest
    import importlib

    result = doctest.testmod(importlib.import_module(f"logikern.decisions.{module}"))
    assert result.attempted > 0
    assert result.failed == 0
