"""Numbers on the pages are those of benchmarks/results and of the policies."""

import json
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from logikern.estimators._cells import plan

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMPARED = {
    "LightGBM, defaults": "LightGBM",
    "LightGBM, best of 24 settings": "LightGBM tuned",
    "CatBoost, defaults": "CatBoost",
    "HistGradientBoosting, defaults": "HistGradientBoosting",
    "LogisticRegressionCV": "LogisticRegressionCV",
    "SVC, 6 x 6 grid, calibrated": "SVC grid",
    "xRFM, defaults": "xRFM",
}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def row(results: str, *first: str) -> list[str]:
    """Cells of the first row of a results file that begins with these cells."""
    lines = text(f"benchmarks/results/{results}.md").splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines if line.startswith("|")]
    return next(cells for cells in rows if tuple(cells[: len(first)]) == first)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
@pytest.mark.parametrize("peer", COMPARED)
def test_comparison_on_tables(page, peer):
    _, _, lower, ratio, _, errors, seconds = row("tables", COMPARED[peer])
    printed = re.sub(r"\d\.\d+", lambda number: f"{float(number[0]):.2f}", ratio)
    own = next(line for line in text(page).splitlines() if line.startswith(f"| {peer} |"))
    assert own.replace(" of 31", "") == f"| {peer} | {lower} | {printed} | {errors.split()[0]} | {seconds} |"


@pytest.mark.parametrize("rows", ["20000", "60000", "100000", "500000"])
def test_comparison_on_large_data(rows):
    own = next(line for line in text("docs/features.md").splitlines() if line.startswith(f"| {int(rows):,} |"))
    for method in ("logikern", "lightgbm_stopped", "lightgbm", "extra_trees"):
        _, _, _, loss, _, error, seconds, *_ = row("large", rows, method)
        share = (100 * Decimal(error)).quantize(Decimal("0.1"), ROUND_HALF_UP)
        told = f"{float(loss):.3f}{'**' * (method == 'logikern')}, {share} %, {float(seconds):.0f}"
        assert told in own


def test_numbers_of_pages_for_newcomers():
    # From the JSON: rounding a rounded number again may give another digit.
    stored = json.loads(text("benchmarks/results/against_grid_satimage.json"))["satimage, 4435 rows, 6 classes"]
    ours, machine = (
        next(own for own in stored if own["model"] == model) for model in ("ours, default", "SVC grid, sigmoid")
    )
    page = " ".join(text("docs/how-to/from-svc.md").split())
    assert f"log loss is {ours['log loss']:.3f} with logikern in {ours['seconds']:.0f} seconds" in page
    told = f"{machine['log loss']:.3f} with a 6 x 6 grid and calibration in {machine['seconds']:.0f} seconds"
    assert told in page
    ours, process = row("gaussian_process", "ours, default"), row("gaussian_process", "Gaussian process")
    page = " ".join(text("docs/how-to/from-gaussian-process.md").split())
    assert f"takes {float(process[1]):.0f} seconds and reaches a log loss of {float(process[2]):.2f}" in page
    assert f"takes {float(ours[1]):.1f} seconds and reaches {float(ours[2]):.3f}" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_limit_of_exact_fits(page):
    told = re.findall(r"[Aa]bove ([\d,]+)\s(?:training\s)?rows", page.read_text(encoding="utf-8"))
    assert set(told) <= {f"{plan.USUAL.exact_up_to:,}"}
