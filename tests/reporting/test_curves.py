"""Plots hold the data that they claim to show."""

import sys

import numpy as np
import pytest

from logikern import error_reject_curve
from logikern.decisions.metrics import reliability_bins
from logikern.reporting.curves import plot_error_reject, plot_reliability
from tests.decisions.catalogue import draw, round_off


@pytest.fixture(autouse=True)
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture
def sample():
    return draw(100, 2)


@pytest.fixture
def curve(sample):
    return error_reject_curve(sample.true, round_off(sample.probabilities))


def test_line_passes_through_every_threshold(curve):
    fractions, errors = plot_error_reject(curve).lines[0].get_data()
    places = np.searchsorted(fractions, curve.rejected)
    np.testing.assert_allclose(fractions[places], curve.rejected, rtol=1e-12)
    np.testing.assert_allclose(errors[places], curve.error, rtol=1e-12)


def test_line_follows_the_curve_between_thresholds(curve):
    fractions, errors = plot_error_reject(curve).lines[0].get_data()
    assert len(fractions) > 10 * len(curve.thresholds)
    np.testing.assert_allclose(errors, curve.error_at(fractions), rtol=1e-12)


def test_line_of_many_thresholds_has_few_points():
    sample = draw(20_000, 2)
    curve = error_reject_curve(sample.true, sample.probabilities)
    fractions, errors = plot_error_reject(curve).lines[0].get_data()
    assert len(curve.thresholds) > 10_000 and len(fractions) < 2500
    np.testing.assert_allclose(errors, curve.error_at(fractions), rtol=1e-12)


def test_each_labelled_curve_has_its_line(sample, curve):
    other = error_reject_curve(sample.true, sample.probabilities)
    lines = plot_error_reject({"coarse": curve, "fine": other}).lines
    assert len(lines) == 2
    np.testing.assert_allclose(lines[1].get_ydata()[0], other.error[0])


def test_legend_names_curves_and_areas(curve):
    (entry,) = plot_error_reject({"coarse": curve}).get_legend().get_texts()
    assert entry.get_text() == f"coarse (area {curve.area:.4f})"


def test_single_curve_has_no_legend(curve):
    assert plot_error_reject(curve).get_legend() is None


def test_reliability_line_holds_the_bins(sample):
    confidence, accuracy = plot_reliability(sample.true, sample.probabilities, n_bins=7).lines[1].get_data()
    bins = reliability_bins(sample.true, sample.probabilities, n_bins=7)
    np.testing.assert_allclose(confidence, bins.confidence)
    np.testing.assert_allclose(accuracy, bins.accuracy)


def test_reliability_respects_classes_and_weights(sample):
    names, weights = np.array(["yes", "no"]), np.arange(100)
    ax = plot_reliability(names[sample.true], sample.probabilities, names, weights)
    bins = reliability_bins(sample.true, sample.probabilities, sample_weight=weights)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), bins.accuracy)


def test_given_axes_are_drawn_on(sample, curve, pyplot):
    _, (left, right) = pyplot.subplots(1, 2)
    assert plot_error_reject(curve, ax=left) is left
    assert plot_reliability(sample.true, sample.probabilities, ax=right) is right


def test_without_axes_each_plot_has_its_own_figure(curve):
    assert plot_error_reject(curve).figure is not plot_error_reject(curve).figure


def test_missing_matplotlib_is_named_with_its_extra(curve, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"logikern\[report\]"):
        plot_error_reject(curve)
