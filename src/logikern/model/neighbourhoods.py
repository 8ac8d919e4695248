"""A model of large data: the prediction at a point comes from its neighbourhood, and from landmarks of all others."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.model.fitted import TILE_ENTRIES, FittedModel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.numerics.simplex import log_probabilities
from logikern.operators.expansion import tiles_of
from logikern.operators.partition import Partition
from logikern.structure.specification import Specification


@dataclass(frozen=True, eq=False)
class Landmarks:
    """What other neighbourhoods say about a point, through the kernel's values at the landmarks."""

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
        return [slice(*pair) for pair in pairwise(self.edges.tolist())]


@dataclass(frozen=True, eq=False)
class NeighbourhoodModel:
    """Mean probabilities of fits to several partitions of the training points into neighbourhoods."""

    specification: Specification
    points: Any
    members: tuple[LocalModels, ...]

    @property
    def dual(self) -> Array:
        """Coefficients in the order of the training points, means over partitions, (C, n)."""
        total = np.zeros(self.members[0].dual.shape)
        for member in self.members:
            total[:, member.order] += member.dual
        return total / len(self.members)

    def latents(self, X: Any, tile_entries: int = TILE_ENTRIES) -> Array:
        """Class functions at new points, (n_new, C); log mean probabilities if there are several partitions."""
        found = [self.latents_of(member, X, tile_entries) for member in self.members]
        if len(found) == 1:
            return found[0]
        return np.logaddexp.reduce([log_probabilities(own.T).T for own in found]) - np.log(len(found))

    def latents_of(self, member: LocalModels, X: Any, tile_entries: int = TILE_ENTRIES) -> Array:
        """Class functions of the fit to one partition, (n_new, C)."""
        result = np.empty((X.shape[0], len(member.dual)))
        cell_of = member.partition.assign(X)
        order = np.argsort(cell_of, kind="stable")
        numbers = np.unique(cell_of)
        groups = np.split(order, np.searchsorted(cell_of[order], numbers)[1:])

        def predict(place: int) -> None:
            new = X[groups[place]]
            result[groups[place]] = self._latents_in(member, int(numbers[place]), new, tile_entries)

        for_each(predict, range(len(numbers)))
        return result

    def _latents_in(self, member: LocalModels, cell: int, new: Any, tile_entries: int) -> Array:
        own = member.cells[cell]
        local = FittedModel(
            self.specification, self.points[member.order[own]], member.dual[:, own], member.constants[cell]
        )
        latent = local.latents(new, tile_entries)
        if member.landmarks is not None:
            latent += np.concatenate(list(self._coupling(member.landmarks, cell, new, tile_entries)))
        return latent

    def _coupling(self, landmarks: Landmarks, cell: int, new: Any, tile_entries: int) -> Iterator[Array]:
        """What other cells add, (n_part, C) for some of the new points at a time."""
        specification, some = self.specification, self.points[landmarks.points]
        kernel_of = np.array(specification.tying.kernel_of)
        for part in tiles_of(new, len(landmarks.points), tile_entries):
            latent = np.empty((len(kernel_of), part.shape[0]))
            for number, kernel in enumerate(specification.kernels):
                users = kernel_of == number
                latent[users] = landmarks.coefficients[cell][users] @ _values(kernel, part, some).T
            latent *= specification.latent_variances[:, None]
            yield specification.mixing.forward(latent).T


def _values(kernel: Kernel, X: Any, Z: Any) -> Array:
    return np.asarray(kernel(X, Z), dtype=np.float64)
