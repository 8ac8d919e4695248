"""Figures of a report show all of its rows."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from logikern.reporting import figures
from logikern.reporting.assessment import assess
from logikern.reporting.document import Words
from logikern.selection.search import Record


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Figures as matplotlib objects, instead of their SVG."""
    monkeypatch.setattr(figures, "to_svg", lambda figure, name: figure)


@pytest.fixture
def found():
    rng = np.random.default_rng(0)
    return assess(np.log(rng.dirichlet(np.ones(4), 500)), rng.choice(4, 500))


def test_histogram_counts_every_row(found):
    # One row is less certain than the mean and the interval of the first bin.
    found = replace(found, confidence=np.append(found.confidence[1:], 0.01))
    _, lower = figures.draw_reliability(found).axes
    assert sum(bar.get_height() for bar in lower.patches) == 500


def test_reliability_names_its_cases(found):
    _, lower = figures.draw_reliability(found, Words(cases="cases", prediction="prediction")).axes
    assert lower.get_ylabel() == "cases" and lower.get_xlabel() == "probability of the prediction"


def test_dashes_in_the_legend_are_long_enough_to_see():
    records = [Record(f"stage {number}", number, 50, 1.0, 1.0, True, 3, 0.5) for number in range(8)]
    (legend,) = figures.draw_search(records).legends
    assert legend.get_lines()[-1].get_linestyle() == "--" and legend.handlelength >= 4


def test_points_at_the_edge_are_whole(found):
    upper, _ = figures.draw_reliability(found).axes
    assert [line.get_clip_on() for line in upper.lines if line.get_marker() == "o"] == [False]
