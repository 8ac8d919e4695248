"""A figure of the stored results of tables.py: ours over its peers, set by set."""

import argparse
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

from report import RESULTS
from table_summary import CERTAIN, Results, collect

MARKERS = "osD^vPX*"
TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.3, 2, 3, 5, 10)


def draw(chosen: argparse.Namespace) -> None:
    """results/NAME.png: a bar for the best peer of each set, sorted, and a dot for every peer."""
    results = collect(chosen)
    best, names = results.best_peers()
    ratios = _ratios(results, best)
    order = np.argsort(-ratios)
    figure, axes = pyplot.subplots(figsize=(9, 1.8 + 0.26 * len(order)))
    places = np.arange(len(order))
    colours = ["tab:blue" if ratio <= 1 else "tab:orange" for ratio in ratios[order]]
    axes.barh(places, ratios[order] - 1, left=1, color=colours, height=0.62, alpha=0.6, zorder=2)
    for peer, marker in zip(results.peers, MARKERS, strict=False):
        theirs = _ratios(results, results.means(peer))[order]
        axes.scatter(theirs, places, label=peer, s=16, marker=marker, zorder=3, linewidths=0)
    axes.set_yticks(places, [f"{results.sets[place]}  ({names[place]})" for place in order], fontsize=8)
    axes.set_ylim(-0.7, len(order) - 0.3)
    _finish(axes, largest=float(ratios.max()))
    figure.tight_layout()
    figure.savefig(RESULTS / f"{chosen.store.stem}.png", dpi=130)


def _ratios(results: Results, theirs: np.ndarray) -> np.ndarray:
    return np.maximum(results.means(results.ours), CERTAIN) / np.maximum(theirs, CERTAIN)


def _finish(axes: Any, largest: float) -> None:
    """Scale, grid and words."""
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.set_xlim(TICKS[0], max(2.0, 1.1 * largest))
    axes.axvline(1, color="black", linewidth=0.8, zorder=4)
    axes.grid(axis="x", linewidth=0.4, zorder=0)
    axes.set_xlabel("log loss of ours over that of the peer; below 1, ours is better")
    axes.set_title("Bars: the best peer of the set, in brackets. Dots: every peer.", fontsize=10)
    axes.legend(fontsize=8, loc="upper right", framealpha=0.9)
