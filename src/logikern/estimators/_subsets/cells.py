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
    """Number and size of the neighbourhoods that a search uses.

    Parameters
    ----------
    n_cells : int
        Number of neighbourhoods.
    n_points : int
        Largest number of points of a neighbourhood.
    """

    n_cells: int
    n_points: int

    def __str__(self) -> str:
        return f"{self.n_cells} neighbourhoods of {self.n_points} rows"


@dataclass(frozen=True, eq=False)
class Subset:
    """Training points that a search uses: neighbourhoods one after another, or a random subset as a single part."""

    rows: Indices
    edges: Indices  # (n_cells + 1,): part b has rows[edges[b] : edges[b + 1]]
    unseen: Indices  # other rows, on which models learned on this subset are judged

    @property
    def n_cells(self) -> int:
        return len(self.edges) - 1

    @property
    def n_points(self) -> int:
        """Number of points of the largest part."""
        return int(np.diff(self.edges).max())

    @property
    def parts(self) -> list[slice]:
        """Positions of each part in `rows`."""
        return [slice(*pair) for pair in pairwise(self.edges.tolist())]

    @property
    def layout(self) -> BlockLayout | None:
        """Independent blocks, one per neighbourhood; None if there is only one part."""
        return BlockLayout(self.edges) if self.n_cells > 1 else None

    def __str__(self) -> str:
        return f"{len(self.rows)} rows"


def draw_cells(points: Any, weights: Array, labels: Array, plan: CellPlan, smallest_class: int, seed: int) -> Subset:
    """Partition all points into cells, and draw cells that together cover as many classes as possible.

    Parameters
    ----------
    points : array or sparse matrix of shape (n, d)
    weights : array of shape (d,)
        Factors that scale the inputs; neighbours are close in the scaled inputs.
    labels : array of shape (n,)
        The class of every point, or its most probable class.
    plan : CellPlan
    smallest_class : int
        A class is covered if the drawn cells have this number of its points, or all of them.
    seed : int
    """
    random = np.random.default_rng(seed)
    _, cells = divide(points, weights, plan.n_points, random)
    shuffled = [cells[place] for place in random.permutation(len(cells))]
    chosen = _spread_over_classes(shuffled, labels, plan.n_cells, smallest_class)
    return Subset(np.concatenate(chosen), np.cumsum([0, *map(len, chosen)]), cells[0][:0])


def _spread_over_classes(cells: list[Indices], labels: Array, n_cells: int, smallest_class: int) -> list[Indices]:
    """Choose cells greedily by the number of points they add to classes not yet covered; ties keep the order."""
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
