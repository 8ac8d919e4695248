"""Neighbourhoods of the training points on which a search learns hyperparameters."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.operators.choose import BlockLayout
from logikern.operators.partition import divide


@dataclass(frozen=True)
class CellPlan:
    """How many neighbourhoods a search sees, and how large they are.

    Parameters
    ----------
    n_cells : int
    n_points : int
        Largest number of points of each.
    judging : float, default=0.0
        Share of the points of each that the search does not see: they judge what it has learned.
    """

    n_cells: int
    n_points: int
    judging: float = 0.0

    def __str__(self) -> str:
        return f"{self.n_cells} neighbourhoods of {self.n_points} points"


@dataclass(frozen=True, eq=False)
class Cells:
    """Neighbourhoods, one after the other, and other points of each that judge models; one for a random subset."""

    rows: Indices
    edges: Indices  # (n_cells + 1,): neighbourhood b has rows[edges[b] : edges[b + 1]]
    unseen: Indices
    unseen_edges: Indices

    @property
    def n_cells(self) -> int:
        return len(self.edges) - 1

    @property
    def n_points(self) -> int:
        """Points of the largest."""
        return int(np.diff(self.edges).max())

    @property
    def parts(self) -> list[slice]:
        """Places of each neighbourhood among the rows."""
        return [slice(*pair) for pair in pairwise(self.edges.tolist())]

    @property
    def unseen_parts(self) -> list[slice]:
        """The same among the unseen rows."""
        return [slice(*pair) for pair in pairwise(self.unseen_edges.tolist())]

    @property
    def layout(self) -> BlockLayout | None:
        """Independent blocks for neighbourhoods; None for one subset."""
        return BlockLayout(self.edges) if self.n_cells > 1 else None

    def __str__(self) -> str:
        return f"{len(self.rows)} points"


def draw_cells(points: Any, weights: Array, labels: Array, plan: CellPlan, smallest_class: int, seed: int) -> Cells:
    """Cells of a partition of all points, so that as many classes as possible are present.

    Parameters
    ----------
    points : array or sparse matrix of shape (n, d)
    weights : array of shape (d,)
        Factors of the inputs in the metric that makes points neighbours.
    labels : array of shape (n,)
        The class of every point, or its most probable class.
    plan : CellPlan
    smallest_class : int
        A class is present if the cells have this many of its points.
    seed : int
    """
    random = np.random.default_rng(seed)
    _, cells = divide(points, weights, plan.n_points, random)
    shuffled = [cells[place] for place in random.permutation(len(cells))]
    chosen = _spread_over_classes(shuffled, labels, plan.n_cells, smallest_class)
    seen, unseen = [], []
    for cell in chosen:
        order = random.permutation(cell)
        n_unseen = int(plan.judging * len(cell))
        unseen.append(np.sort(order[:n_unseen]))
        seen.append(np.sort(order[n_unseen:]))
    return Cells(np.concatenate(seen), _edges(seen), np.concatenate(unseen), _edges(unseen))


def _spread_over_classes(cells: list[Indices], labels: Array, n_cells: int, smallest_class: int) -> list[Indices]:
    """The first cells, but for a cell that adds points of missing classes before others that add fewer."""
    _, numbers = np.unique(labels, return_inverse=True)
    n_classes = int(numbers.max()) + 1
    counts = np.stack([np.bincount(numbers[cell], minlength=n_classes) for cell in cells])
    missing = np.minimum(counts.sum(axis=0), smallest_class).astype(float)
    left = list(range(len(cells)))
    chosen: list[Indices] = []
    while left and len(chosen) < n_cells:
        gains = np.minimum(counts[left], missing).sum(axis=1)
        best = left.pop(int(np.argmax(gains)))
        chosen.append(cells[best])
        missing = np.maximum(missing - counts[best], 0.0)
    return chosen


def _edges(parts: list[Indices]) -> Indices:
    return np.cumsum([0, *map(len, parts)])
