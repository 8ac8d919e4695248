"""The Python blocks of the pages that teach by example run as they stand, top to bottom."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


PAGES = (
    "docs/tutorial.md",
    "docs/tables.md",
    "docs/leave-one-out.md",
    "docs/hierarchies.md",
    "docs/coupling.md",
    "docs/multilabel.md",
    "docs/large-data.md",
    "docs/regression.md",
    "docs/report.md",
    "docs/sequences.md",
    "docs/solvers.md",
    "README.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": "page"})
