"""The figures of a report, from a bounded number of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from logikern.decisions.tree_errors import NodeScores
from logikern.reporting.assessment import Assessment
from logikern.reporting.curves import plot_error_reject
from logikern.reporting.document import Words
from logikern.reporting.search import plot_search
from logikern.reporting.svg import FIRST, new_figure, page_style, to_svg
from logikern.reporting.tree import plot_tree
from logikern.selection.search import Record
from logikern.structure.tree import Tree

N_COLUMNS = 20  # of the histogram of probabilities
OF_CLASSES = Words()


def draw_all(found: Assessment | None, records: Sequence[Record], words: Words = OF_CLASSES) -> dict[str, str]:
    """The figures of a report without those of a tree; empty text where there is nothing to draw."""
    drawn = {"search": draw_search(records) if records else "", "tree": ""}
    if found is not None:
        drawn |= {"reliability": draw_reliability(found, words), "rejection": draw_rejection(found)}
    return drawn


def draw_reliability(found: Assessment, words: Words = OF_CLASSES) -> str:
    """Accuracy against confidence with 95 % intervals, above a histogram of the confidence."""
    with page_style():
        figure = new_figure(5.2, 4.6)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot([0.0, 1.0], [0.0, 1.0], color="grey", linestyle=":", label="calibrated")
        confidence = [own.confidence for own in found.bins]
        low, accuracy, high = (
            np.array([getattr(own.accuracy, name) for own in found.bins]) for name in ("low", "value", "high")
        )
        upper.fill_between(confidence, low, high, color=FIRST, alpha=0.2, linewidth=0, label="95 % interval")
        upper.plot(confidence, accuracy, color=FIRST, marker="o", markersize=4, clip_on=False, label="observed")
        upper.vlines(confidence, low, high, color=FIRST, linewidth=1.0)
        start = _round_down(min(found.confidence.min(), *low))
        upper.set(ylabel="share correct", xlim=(start, 1.0), ylim=(start, 1.0))
        upper.legend(loc="upper left")
        # Rounding may lift a probability above 1.
        lower.hist(np.minimum(found.confidence, 1.0), bins=N_COLUMNS, range=(start, 1.0), color=FIRST)
        lower.set(xlabel=f"probability of the {words.prediction}", ylabel=words.cases)
        return to_svg(figure, "reliability")


def draw_rejection(found: Assessment) -> str:
    """The error among kept rows against the fraction rejected."""
    with page_style():
        figure = new_figure(5.2, 3.4)
        plot_error_reject(found.curve, figure.subplots())
        return to_svg(figure, "rejection")


def draw_search(records: Sequence[Record]) -> str:
    """The criterion over the time of the search."""
    with page_style():
        figure = new_figure(5.2, 3.2 + 0.2 * len({record.stage for record in records}))
        axes = plot_search(records, figure.subplots())
        axes.legend().remove()
        figure.legend(*axes.get_legend_handles_labels(), fontsize="small", handlelength=4, loc="outside lower left")
        return to_svg(figure, "search")


def draw_tree(tree: Tree, scores: NodeScores, variances: Any, max_nodes: int = 40) -> str:
    """The class tree with the recall and the variance of each node."""
    n_shown = min(max_nodes, len(tree.labels))
    with page_style():
        figure = new_figure(7.2, 1.5 + 0.25 * n_shown)
        plot_tree(tree, scores, variances, figure.subplots(), max_nodes)
        return to_svg(figure, "tree")


def _round_down(value: float) -> float:
    """A tenth below the value that leaves at least a fifth of the axis."""
    return float(np.clip(np.floor(10.0 * value) / 10.0, 0.0, 0.8))
