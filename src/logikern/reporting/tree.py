"""A class tree as a plot and as text, with scores and variances of its nodes."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from logikern.decisions.cases import as_numbers, check_count
from logikern.decisions.tree_errors import NodeScores
from logikern.numerics.outcome import Array
from logikern.reporting.curves import new_axes
from logikern.structure.taxonomy import short_name, subtree_sums
from logikern.structure.tree import ROOT, Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection


@dataclass(frozen=True)
class TreeStyle:
    """Sizes in the text and the plot of a tree."""

    label_length: int = 40  # characters; longer labels are cut
    smallest_dot: float = 25.0  # area in square points
    largest_growth: float = 225.0  # area added for the largest variance


_STYLE = TreeStyle()


def render_tree(tree: Tree, columns: Mapping[str, Any] | None = None, max_nodes: int = 60) -> str:
    """The top levels of a tree as text: one line per node, indented by depth, and one column per entry of `columns`.

    "(+12)" after a label means that 12 nodes below it are not shown.

    Parameters
    ----------
    tree : Tree
    columns : mapping from heading to array of shape (N,), default=None
        Values for each node in the order of `tree.labels`, such as numbers of cases, accuracies or variances. Values
        that are not finite are shown as "-".
    max_nodes : int, default=60
        Maximum number of nodes. Only complete levels are shown.

    Examples
    --------
    >>> tree = Tree(("bird", "robin", "duck", "trout"), (-1, 0, 0, -1))
    >>> print(render_tree(tree, {"cases": [5, 3, 2, 4], "accuracy": [1.0, 0.667, float("nan"), 0.75]}))
             cases  accuracy
    bird         5         1
      robin      3     0.667
      duck       2         -
    trout        4      0.75
    """
    shown = _top_levels(tree, max_nodes)
    below = _n_hidden(tree, shown)
    blocks = [["", *("  " * int(tree.depths[node] - 1) + _name(tree, node, below[node]) for node in shown)]]
    for heading, values in (columns or {}).items():
        per_node = _per_node(values, tree, f"columns[{heading!r}]")
        blocks.append([heading, *(_cell(per_node[node]) for node in shown)])
    widths = [max(map(len, block)) for block in blocks]
    lines = []
    for name, *cells in zip(*blocks, strict=True):
        aligned = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append("  ".join([name.ljust(widths[0]), *aligned]).rstrip())
    n_left_out = tree.parents.count(ROOT) - sum(tree.parents[node] == ROOT for node in shown)
    rest = [f"and {n_left_out} more at the top"] if n_left_out else []
    return "\n".join([*(lines if columns else lines[1:]), *rest])


def plot_tree(
    tree: Tree,
    node_scores: NodeScores | None = None,
    variances: Any = None,
    ax: Axes | None = None,
    max_nodes: int = 60,
) -> Axes:
    """Draw a tree from left to right; the colour of a dot shows the recall of its node, and the area its variance.

    If the tree has too many nodes, the parts with the most errors are shown: starting at the top, the next node to be
    expanded is the one at which most cases go wrong. Without scores, the top levels are shown. "(+12)" after a label
    means that 12 nodes below it are not shown.

    Parameters
    ----------
    tree : Tree
    node_scores : NodeScores, default=None
        From `node_scores`. Nodes without cases are grey.
    variances : array of shape (N,), default=None
        Variance of the latent function of each node in the order of `tree.labels`; NaN for nodes without one.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a figure.
    max_nodes : int, default=60
        Maximum number of nodes.

    Returns
    -------
    matplotlib Axes
    """
    shown = _top_levels(tree, max_nodes) if node_scores is None else _most_confused(tree, node_scores, max_nodes)
    heights = _lay_out(tree, shown)
    drawn_on = new_axes(ax)
    if ax is None:
        size = (4.0 + 2.0 * tree.depths[shown].max(), 1.5 + 0.25 * max(heights.values()))
        drawn_on.figure.set_size_inches(size)  # type: ignore[union-attr]  # a new figure, not a part of one
    for node in shown:
        parent = tree.parents[node]
        step = [tree.depths[node] - 1, tree.depths[node]]
        ends = [heights[parent], heights[node]]
        drawn_on.plot(step, ends, color="lightgrey", linestyle="-", linewidth=1.0, zorder=1)
    dots = _draw_dots(tree, shown, heights, node_scores, variances, drawn_on)
    _draw_labels(tree, shown, heights, dots.get_sizes(), drawn_on)
    if node_scores is not None:
        drawn_on.figure.colorbar(dots, ax=drawn_on, label="recall", shrink=0.6)
    if len(shown) < len(tree.labels):
        drawn_on.set_title(f"{len(shown)} of {len(tree.labels)} nodes")
    drawn_on.invert_yaxis()
    drawn_on.set_axis_off()
    return drawn_on


def _draw_dots(
    tree: Tree,
    shown: list[int],
    heights: Mapping[int, float],
    node_scores: NodeScores | None,
    variances: Any,
    ax: Axes,
) -> PathCollection:
    """Draw the dots, and a legend for their sizes."""
    import matplotlib

    recall = np.full(len(tree.labels), np.nan) if node_scores is None else node_scores.recall
    given = np.zeros(len(tree.labels)) if variances is None else _per_node(variances, tree, "variances")
    sizes = np.nan_to_num(given[shown])
    largest = max(sizes.max(), np.finfo(float).tiny)
    dots = ax.scatter(
        tree.depths[shown],
        [heights[node] for node in shown],
        s=_STYLE.smallest_dot + _STYLE.largest_growth * sizes / largest,
        c=recall[shown],
        cmap=matplotlib.colormaps["viridis"].with_extremes(bad="grey"),
        vmin=0.0,
        vmax=1.0,
        plotnonfinite=True,
        edgecolors="grey",
        linewidths=0.8,
        zorder=2,
    )
    if variances is not None:

        def variance(area: Any) -> Any:
            return (area - _STYLE.smallest_dot) / _STYLE.largest_growth * largest

        handles, texts = dots.legend_elements("sizes", num=3, func=variance, fmt="{x:.3g}", color="grey")
        if len(set(texts)) > 1:
            ax.legend(handles, texts, title="variance", loc="upper left", frameon=False)
    return dots


def _draw_labels(tree: Tree, shown: list[int], heights: Mapping[int, float], areas: Array, ax: Axes) -> None:
    """Labels to the right of nodes without visible children, and above all other nodes."""
    below = _n_hidden(tree, shown)
    opened = {tree.parents[node] for node in shown}
    # matplotlib's `s` is the squared diameter of a dot.
    for node, radius in zip(shown, np.sqrt(areas) / 2.0, strict=True):
        place: dict[str, Any] = (
            {"xytext": (0, radius + 3.0), "ha": "center"}
            if node in opened
            else {"xytext": (radius + 3.0, 0), "va": "center"}
        )
        ax.annotate(
            _name(tree, node, below[node]),
            (tree.depths[node], heights[node]),
            textcoords="offset points",
            fontsize="small",
            **place,
        )


def _top_levels(tree: Tree, max_nodes: int) -> list[int]:
    """All nodes down to the last depth that fits, depth first."""
    check_count(max_nodes, "max_nodes")
    n_down_to = np.bincount(tree.depths).cumsum()
    last = max(1, np.flatnonzero(n_down_to <= max_nodes)[-1])
    return _depth_first(tree, np.flatnonzero(tree.depths <= last)[: max_nodes if last == 1 else None].tolist())


def _most_confused(tree: Tree, scores: NodeScores, max_nodes: int) -> list[int]:
    """The top, then children of the nodes at which most cases go wrong, as long as they fit; depth first."""
    check_count(max_nodes, "max_nodes")
    both = _per_node(scores.both, tree, "node_scores")
    children = _children(tree)
    missed = scores.true - both
    shown = sorted(children[ROOT], key=lambda node: -missed[node])[:max_nodes]
    waiting: list[tuple[float, int]] = []

    def wait(nodes: list[int]) -> None:
        for node in nodes:
            # Minus the cases whose path is right down to this node but not further.
            heapq.heappush(waiting, (both[children.get(node, [])].sum() - both[node], node))

    wait(shown)
    while waiting:
        _, node = heapq.heappop(waiting)
        more = children.get(node, [])
        if len(shown) + len(more) <= max_nodes:
            shown += more
            wait(more)
    return _depth_first(tree, shown)


def _children(tree: Tree) -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parents):
        children.setdefault(parent, []).append(node)
    return children


def _depth_first(tree: Tree, shown: list[int]) -> list[int]:
    """The nodes in depth-first order: each is followed by its descendants."""
    children, kept = _children(tree), set(shown)
    order: list[int] = []
    waiting = children[ROOT][::-1]
    while waiting:
        node = waiting.pop()
        if node in kept:
            order.append(node)
            waiting += children.get(node, [])[::-1]
    return order


def _lay_out(tree: Tree, shown: list[int]) -> dict[int, float]:
    """Vertical positions: one line per end node; other nodes, and the root (-1), in the middle of their children."""
    heights: dict[int, float] = {}
    children: dict[int, list[float]] = {}
    line = len(set(shown) - {tree.parents[node] for node in shown})
    for node in reversed(shown):
        if node in children:
            heights[node] = float(np.mean([children[node][0], children[node][-1]]))
        else:
            line -= 1
            heights[node] = float(line)
        children.setdefault(tree.parents[node], []).append(heights[node])
    heights[ROOT] = float(np.mean([children[ROOT][0], children[ROOT][-1]]))
    return heights


def _n_hidden(tree: Tree, shown: list[int]) -> Array:
    """Number of hidden descendants of each node, (N,); 0 if its children are shown."""
    below = subtree_sums(np.ones(len(tree.labels), dtype=np.intp), tree) - 1
    opened = [tree.parents[node] for node in shown if tree.parents[node] != ROOT]
    below[opened] = 0
    return below


def _name(tree: Tree, node: int, n_hidden: int) -> str:
    """The short name of a node, and the number of hidden descendants."""
    text = short_name(node, tree)
    short = text if len(text) <= _STYLE.label_length else text[: _STYLE.label_length - 3] + "..."
    return f"{short} (+{n_hidden})" if n_hidden else short


def _cell(value: float) -> str:
    if not np.isfinite(value):
        return "-"
    return f"{value:.0f}" if value == round(value) else f"{value:.3g}"


def _per_node(values: Any, tree: Tree, name: str) -> Array:
    per_node = as_numbers(values, name)
    if per_node.shape != (len(tree.labels),):
        raise ValueError(
            f"`{name}` must hold a number for each of the {len(tree.labels)} nodes, in the order of `tree.labels`, "
            f"but has shape {per_node.shape!r}."
        )
    return per_node
