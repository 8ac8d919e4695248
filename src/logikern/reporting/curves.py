"""Plots of the error-reject curve and of reliability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from logikern.decisions.cases import Labels
from logikern.decisions.metrics import ErrorRejectCurve, reliability_bins
from logikern.numerics.outcome import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Added to the thresholds, because the curve is not linear between two of them.
GRID = np.linspace(0.0, 1.0, 201)
MOST_POINTS = 2000  # points of a line; more would not be visible, and would make files large


def plot_error_reject(curves: ErrorRejectCurve | Mapping[str, ErrorRejectCurve], ax: Axes | None = None) -> Axes:
    """Plot the error rate of the kept cases against the rejected fraction, as in Seeger (2008), Figures 3 and 4.

    Parameters
    ----------
    curves : ErrorRejectCurve or mapping from label to ErrorRejectCurve
        From `error_reject_curve`. The legend shows the labels and the areas under the curves.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes(ax)
    labelled = {None: curves} if isinstance(curves, ErrorRejectCurve) else curves
    for label, curve in labelled.items():
        fractions = np.union1d(GRID, thinned(curve.rejected))
        legend = None if label is None else f"{label} (area {curve.area:.4f})"
        ax.plot(fractions, curve.error_at(fractions), label=legend)
    ax.set(xlabel="fraction rejected", ylabel="error among kept cases", xlim=(0.0, 1.0))
    ax.set_ylim(bottom=0.0)
    _show_percent(ax)
    if isinstance(curves, Mapping):
        ax.legend()
    return ax


def plot_reliability(
    y: Any,
    proba: Any,
    classes: Labels | None = None,
    sample_weight: Any = None,
    n_bins: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Plot accuracy against the probability of the predicted class; calibrated probabilities lie on the diagonal.

    Parameters
    ----------
    y : array of shape (n,)
        True labels.
    proba : array of shape (n, C)
        Probabilities.
    classes : sequence of length C, default=None
        The label of each column of `proba`; None means the sorted labels in `y`.
    sample_weight : array of shape (n,), default=None
        Weights of the cases.
    n_bins : int, default=15
        Number of bins, of equal weight.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib Axes
    """
    bins = reliability_bins(y, proba, classes, sample_weight, n_bins)
    ax = new_axes(ax)
    ax.plot([0.0, 1.0], [0.0, 1.0], color="grey", linestyle=":", label="calibrated")
    ax.plot(bins.confidence, bins.accuracy, marker="o", clip_on=False, label="observed")
    ax.set(xlabel="probability of the predicted class", ylabel="share correct", xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    _show_percent(ax)
    ax.legend()
    return ax


def thinned(values: Array) -> Array:
    """At most `MOST_POINTS` of the values, evenly spaced by rank, with the first and the last."""
    if len(values) <= MOST_POINTS:
        return values
    return values[np.linspace(0, len(values) - 1, MOST_POINTS).astype(np.intp)]


def new_axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib, which could not be imported. Install it with: pip install 'logikern[report]'"
        ) from error
    return pyplot.subplots(layout="constrained")[1]


def _show_percent(ax: Axes) -> None:
    from matplotlib.ticker import PercentFormatter

    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
