"""A model of large data: predictions at a point use its neighbourhood, and landmarks for all other neighbourhoods."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from logikern.model.fitted import TILE_ENTRIES, FittedModel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, n_threads
from logikern.numerics.simplex import log_probabilities
from logikern.operators.partition import Partition
from logikern.structure.specification import Specification


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The contribution of other neighbourhoods to the functions at a point, from kernel values at the landmarks."""

    points: Indices  # (r,): training points
    coefficients: Array  # (n_cells, P, r): for points of each cell, of every latent function


@dataclass(frozen=True, eq=False)
class LocalModels:
    """The fit of one partition of the training points."""

    partition: Partition
    order: Indices  # (n,): training points, cell by cell
    edges: Indices  # (n_cells + 1,): cell b has order[edges[b] : edges[b + 1]]
    dual: Array  # (C, n): coefficients, in this order
    constants: Array  # (n_cells, C)
    landmarks: Landmarks | None = None  # None if neighbourhoods are independent

    @property
    def cells(self) -> list[slice]:
        """The positions in `order` that belong to each cell."""
        return [slice(*pair) for pair in pairwise(self.edges.tolist())]

    @property
    def largest_cell(self) -> int:
        """Number of points of the largest cell."""
        return int(np.diff(self.edges).max())

    @property
    def n_compared(self) -> int:
        """Largest number of training points whose kernel values a prediction needs."""
        return self.largest_cell + (0 if self.landmarks is None else len(self.landmarks.points))


class _Task(NamedTuple):
    """New points of one cell that are predicted at a time."""

    member: int
    cell: int
    rows: Indices


@dataclass(frozen=True, eq=False)
class NeighbourhoodModel:
    """Mean probabilities of fits to several partitions of the training points into neighbourhoods."""

    specification: Specification
    points: Any
    members: tuple[LocalModels, ...]

    @property
    def n_classes(self) -> int:
        return len(self.members[0].dual)

    @property
    def n_compared(self) -> int:
        """Largest number of training points whose kernel values a prediction needs."""
        return max(member.n_compared for member in self.members)

    @property
    def dual(self) -> Array:
        """Coefficients in the order of the training points, means over partitions, (C, n)."""
        total = np.zeros(self.members[0].dual.shape)
        for member in self.members:
            total[:, member.order] += member.dual
        return total / len(self.members)

    def latents(self, X: Any, tile_entries: int = TILE_ENTRIES) -> Array:
        """Class functions at new points, (n_new, C); log mean probabilities if there are several partitions.

        All threads together compute at most `tile_entries` kernel values at a time, and at least one row each.
        """
        found = [np.empty((X.shape[0], self.n_classes)) for _ in self.members]

        def predict(task: _Task) -> None:
            found[task.member][task.rows] = self.latents_in(self.members[task.member], task.cell, X[task.rows])

        for_each(predict, self._tasks(X, tile_entries // n_threads()))
        return mean_latents(found)

    def latents_in(self, member: LocalModels, cell: int, X: Any) -> Array:
        """Class functions at new points of one cell of a partition, (n_new, C)."""
        latent = self.local(member, cell).functions_at(X)
        if member.landmarks is not None:
            latent = latent + self.functions_of_others(member.landmarks, cell, X)
        return self.specification.temperature.apply(latent.T).T

    def local(self, member: LocalModels, cell: int) -> FittedModel:
        """The model of one cell of a partition, without the contribution of other cells."""
        own = member.cells[cell]
        points = self.points[member.order[own]]
        return FittedModel(self.specification, points, member.dual[:, own], member.constants[cell])

    def _tasks(self, X: Any, tile_entries: int) -> Iterator[_Task]:
        """New points, divided by partition, by cell, and into tiles."""
        for number, member in enumerate(self.members):
            cell_of = member.partition.assign(X)
            order = np.argsort(cell_of, kind="stable")
            cells, starts = np.unique(cell_of[order], return_index=True)
            step = max(1, tile_entries // member.n_compared)
            for cell, start, stop in zip(cells, starts, [*starts[1:], len(order)], strict=True):
                for first in range(start, stop, step):
                    yield _Task(number, int(cell), order[first : min(first + step, stop)])

    def functions_of_others(self, landmarks: Landmarks, cell: int, X: Any) -> Array:
        """The contribution of other cells to the class functions at points of a cell, (n_new, C)."""
        specification, some = self.specification, self.points[landmarks.points]
        kernel_of = np.array(specification.tying.kernel_of)
        latent = np.empty((len(kernel_of), X.shape[0]))
        for number, kernel in enumerate(specification.kernels):
            users = kernel_of == number
            values = np.asarray(kernel(X, some), dtype=np.float64)
            latent[users] = landmarks.coefficients[cell][users] @ values.T
        latent *= specification.latent_variances[:, None]
        return specification.mixing.forward(latent).T


@dataclass(frozen=True)
class Approximation:
    """The cost of neighbourhoods: held-out losses with neighbourhoods of some size and of twice that size.

    Parameters
    ----------
    size : int
        Training rows of the smaller neighbourhoods.
    loss, larger_loss : float
        Mean held-out loss with neighbourhoods of this size and of twice this size.
    noise : float
        Standard error of the difference, from pairs of losses of the same rows.
    n_rows : int
        Held-out rows.
    """

    size: int
    loss: float
    larger_loss: float
    noise: float
    n_rows: int

    @property
    def gain(self) -> float:
        """The decrease in loss when neighbourhoods are twice as large."""
        return self.loss - self.larger_loss

    def __str__(self) -> str:
        return (
            f"Approximation: the mean loss of {self.n_rows} held-out rows is {self.loss:.4f} with neighbourhoods of "
            f"{self.size} rows and {self.larger_loss:.4f} with neighbourhoods twice as large "
            f"(gain {self.gain:z.4f}, noise {self.noise:.4f})."
        )


def mean_latents(found: list[Array]) -> Array:
    """Log mean probabilities of several models, (n_new, C) each; the functions of a single model are unchanged."""
    if len(found) == 1:
        return found[0]
    total = log_probabilities(found[0].T).T
    for own in found[1:]:
        total = np.logaddexp(total, log_probabilities(own.T).T)
    return total - np.log(len(found))
