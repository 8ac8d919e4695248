"""Separately fitted parts of a model, each with its training rows: all rows, or neighbourhoods."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.subsets import data_at
from logikern.fitting.problem import Problem
from logikern.model.fitted import FittedModel
from logikern.model.neighbourhoods import LocalModels, NeighbourhoodModel
from logikern.numerics.outcome import Array, Indices
from logikern.operators.choose import choose

AnyModel: TypeAlias = FittedModel | NeighbourhoodModel


@dataclass(frozen=True, eq=False)
class Part:
    """A model that was fitted separately, or with the other parts held fixed."""

    model: FittedModel
    data: TrainingData
    rows: Indices  # (n,): positions of its rows among the rows of the whole model
    others: Array | None = None  # (C, n): what other neighbourhoods add to its class functions, if anything

    def problem(self, room: float | None = None) -> tuple[Problem, Array]:
        """The problem that was solved, in double precision, and its latents (1, C, n).

        Kernel matrices are stored, unless `room` limits the bytes for kernel values. They are then computed for a few
        rows at a time, which suffices for landmarks.
        """
        data, specification = self.data, self.model.specification
        how = choose(specification.kernels, data.points, "dense" if room is None else "auto", "double", room)
        if room is not None and how.name == "dense":
            how = replace(how, name="tiled")
        covariance = specification.bind(how.points(data.points))
        is_free = bool(np.isinf(specification.bias_variance))
        finite = replace(covariance, bias_variance=0.0) if is_free else covariance
        latent = finite.matmul(self.model.dual[None])
        if is_free:
            latent += self.model.constants[:, None]
        if self.others is not None:
            latent += self.others
        return Problem(covariance, data.likelihood, data.targets, data.weights[None]), latent


def partitions(model: AnyModel, data: TrainingData) -> Iterator[Iterator[Part]]:
    """The parts of each partition of the rows; a model that was fitted as a whole is one part."""
    if isinstance(model, NeighbourhoodModel):
        yield from (_cells(model, member, data) for member in model.members)
    else:
        yield iter([Part(model, data, np.arange(len(data.weights)))])


def _cells(model: NeighbourhoodModel, member: LocalModels, data: TrainingData) -> Iterator[Part]:
    for number, own in enumerate(member.cells):
        rows, local = member.order[own], model.local(member, number)
        others = None
        if member.landmarks is not None:
            sums = local.dual.sum(axis=1, dtype=np.float64)
            constants = member.constants[number] - model.specification.bias_variance * sums
            others = model.functions_of_others(member.landmarks, number, local.points).T + constants[:, None]
        yield Part(local, data_at(data, rows), rows, others)


def largest_part(model: AnyModel) -> int:
    """Rows of the largest part."""
    if isinstance(model, NeighbourhoodModel):
        return max(member.largest_cell for member in model.members)
    return int(model.dual.shape[1])


def is_coupled(model: Any) -> bool:
    """Whether neighbourhoods were fitted together, through landmarks."""
    return isinstance(model, NeighbourhoodModel) and any(own.landmarks is not None for own in model.members)
