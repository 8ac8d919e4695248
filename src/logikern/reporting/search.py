"""Plot of a hyperparameter search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from logikern.reporting.curves import new_axes
from logikern.selection.search import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_search(records: Sequence[Record], ax: Axes | None = None) -> Axes:
    """Plot the criterion against time, with one line per stage and crosses at the bottom for failed evaluations.

    Parameters
    ----------
    records : sequence of Record
        `trace_` of a classifier that learned its hyperparameters.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes(ax)
    seconds = np.cumsum([record.seconds for record in records])
    stages = list(dict.fromkeys(record.stage for record in records))
    for stage in stages:
        own = [place for place, record in enumerate(records) if record.stage == stage and record.usable]
        extent = f"{records[own[0]].n_points} rows" if own else ""
        label = stage if stage.endswith(extent) else f"{stage}, {extent}"
        ax.plot(seconds[own], [records[place].value for place in own], marker="o", markersize=3, label=label)
    failed = [place for place, record in enumerate(records) if not record.usable]
    if failed:
        lowest = min((record.value for record in records if record.usable), default=0.0)
        ax.plot(seconds[failed], np.full(len(failed), lowest), "kx", label="failed")
    ax.set(xlabel="seconds", ylabel="criterion: mean held-out loss")
    ax.legend()
    return ax
