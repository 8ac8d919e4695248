"""Points that are left out together, in batches of groups of equal size."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from logikern.numerics.outcome import Array, Indices


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of the points into groups. Build it with `partition`."""

    numbers: Indices  # (n,): group of each point, from 0 without gaps

    @property
    def n_groups(self) -> int:
        return int(self.numbers.max(initial=-1)) + 1

    @property
    def alone(self) -> bool:
        """Whether every point is left out alone: point i is group i."""
        return bool(self.n_groups == len(self.numbers) and (np.diff(self.numbers) == 1).all())

    @cached_property
    def batches(self) -> tuple[Indices, ...]:
        """Points of all groups of one size, (k, m), for each size m."""
        order = np.argsort(self.numbers, kind="stable")
        sizes = np.bincount(self.numbers)
        starts = np.cumsum(sizes) - sizes
        return tuple(order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes))

    def repeat(self, n_functions: int) -> "Groups":
        """The same groups for the values of several functions, one function after the other."""
        return self if n_functions == 1 else Groups(np.tile(self.numbers, n_functions))

    def add_up(self, rows: Array) -> Array:
        """Sum of the rows of each group, (n, r) -> (G, r)."""
        if self.alone:
            return rows
        order = np.argsort(self.numbers, kind="stable")
        sizes = np.bincount(self.numbers)
        return np.add.reduceat(rows[order], np.cumsum(sizes) - sizes, axis=0)


def partition(labels: Array | None, n_points: int) -> Groups:
    """Groups of points with equal labels; single points if there are no labels."""
    if labels is None:
        return Groups(np.arange(n_points))
    return Groups(np.unique(labels, return_inverse=True)[1].reshape(n_points))


def gather(functions: Array, members: Indices) -> Array:
    """Values at the points of each group of a batch, (F, n) -> (k, F m)."""
    return functions[:, members].swapaxes(0, 1).reshape(len(members), -1)


def scatter(values: Array, members: Indices, functions: Array) -> None:
    """The reverse of `gather`, written into `functions`."""
    functions[:, members] = values.reshape(len(members), len(functions), -1).swapaxes(0, 1)
