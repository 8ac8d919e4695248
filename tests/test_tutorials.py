"""Python blocks of the pages run from top to bottom, and print what the page shows.

A `text` block right after a Python block shows what the Python block prints.
"""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")
# Times, counts of steps and sizes of memory differ between machines.
VARYING = re.compile(r"[\d.]+ (?=s\b|ms\b|GB\b|MB\b|kB\b|evaluations|kernel products|steps?\b)|\d+ threads?\b")

PAGES = (
    "docs/tutorial.md",
    "docs/command-line.md",
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
    "docs/index.md",
    *(
        str(page.relative_to(ROOT))
        for name in ("tutorials", "how-to")
        for page in sorted((ROOT / "docs" / name).iterdir())
    ),
)


def words(text: str) -> list[str]:
    return NUMBER.sub("0", VARYING.sub("", text)).split()


def numbers(text: str) -> list[str]:
    return NUMBER.findall(VARYING.sub("", text))


def is_near(printed: str, shown: str) -> bool:
    """Whether numbers differ by at most 5 % or two units of the last decimal; whole numbers below 20 must agree."""
    decimals = re.search(r"\.(\d+)$", shown)
    unit = 2.01 * 10.0 ** -len(decimals[1]) if decimals else 0.0
    return abs(float(printed) - float(shown)) <= max(unit, 0.05 * abs(float(shown)))


def agree(printed: str, shown: str) -> bool:
    if words(printed) != words(shown):
        return False
    return all(is_near(*pair) for pair in zip(numbers(printed), numbers(shown), strict=True))


@pytest.mark.parametrize("page", PAGES)
def test_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks
    names = {"__name__": "page"}
    for code, shown in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(code, page, "exec"), names)
        assert not shown or agree(output.getvalue(), shown), output.getvalue()


@pytest.mark.parametrize(
    ("printed", "shown", "expected"),
    [
        ("loss 0.103", "loss 0.105", True),
        ("loss 0.103", "loss 0.110", False),
        ("class 1", "class 2", False),
        ("23 evaluations in 1.7 s", "31 evaluations in 0.4 s", True),
        ("better", "not better", False),
    ],
)
def test_comparison_allows_for_rounding_only(printed, shown, expected):
    assert agree(printed, shown) == expected
