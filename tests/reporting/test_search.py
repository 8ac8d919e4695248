"""The picture of a search shows its records."""

import numpy as np
import pytest

from logikern.reporting.search import plot_search
from logikern.selection.search import Record


@pytest.fixture(autouse=True)
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def record(stage, number, value, usable=True, n_points=50):
    return Record(stage, number, n_points, value if usable else np.inf, value, usable, 3, 0.5 * number)


RECORDS = (
    record("shared", 1, 0.9),
    record("shared", 2, 0.7),
    record("scaled", 3, 0.7, usable=False),
    record("scaled", 4, 0.6),
    record("finish on 80 rows", 5, 0.5, n_points=80),
)
# Sums of 0.5, 1, 1.5, 2 and 2.5 seconds.
ENDS = [0.5, 1.5, 3.0, 5.0, 7.5]


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_each_stage_has_its_line():
    shared, scaled, last, _ = plot_search(RECORDS).lines
    np.testing.assert_allclose(shared.get_data(), [ENDS[:2], [0.9, 0.7]])
    np.testing.assert_allclose(scaled.get_data(), [[ENDS[3]], [0.6]])
    np.testing.assert_allclose(last.get_data(), [[ENDS[4]], [0.5]])


def test_evaluations_without_use_stand_at_the_foot():
    np.testing.assert_allclose(plot_search(RECORDS).lines[-1].get_data(), [[ENDS[2]], [0.5]])


def test_search_without_failures_has_no_crosses():
    assert "failed" not in labels(plot_search(RECORDS[:2]))


def test_legend_names_stages_and_points():
    expected = ["shared, 50 rows", "scaled, 50 rows", "finish on 80 rows", "failed"]
    assert labels(plot_search(RECORDS)) == expected


def test_search_of_failures_alone_can_be_drawn():
    failed = [record("shared", number, 1.0, usable=False) for number in (1, 2)]
    ax = plot_search(failed)
    assert "shared" in labels(ax) and np.isfinite(ax.lines[-1].get_ydata()).all()


def test_axes_are_named():
    ax = plot_search(RECORDS)
    assert ax.get_xlabel() == "seconds" and "held-out loss" in ax.get_ylabel()


def test_given_axes_are_drawn_on(pyplot):
    ax = pyplot.subplots()[1]
    assert plot_search(RECORDS, ax) is ax
