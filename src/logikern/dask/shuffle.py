"""Regroup the rows of chunks into cells, on the workers."""

import math
import operator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from dask import delayed
from distributed import Future

from logikern.dask import tasks
from logikern.numerics.outcome import Indices


@dataclass(frozen=True)
class ShufflePolicy:
    """How many tasks a shuffle may have.

    Parameters
    ----------
    most_pieces : int, default=2000
        Largest number of chunks times cells for which rows are sent directly to their cells. Above it, rows are sent
        twice, first to groups of cells. Each piece is a task, which took 4 ms in total on a busy core
        (benchmarks/dask_cost.py): a million rows in 40 chunks and 400 cells would take a minute for each partition,
        although their bytes take a second.
    """

    most_pieces: int = 2000


USUAL = ShufflePolicy()


@dataclass(frozen=True, eq=False)
class Shuffle:
    """Which rows of which chunks go to which cell."""

    chunks: list[Future]
    lengths: list[int]  # rows of each chunk
    cells: list[Indices]  # rows of each cell, in ascending order
    token: str  # of the names of tasks
    policy: ShufflePolicy

    @property
    def n_groups(self) -> int:
        """Number of groups of consecutive cells; equal to the number of cells if rows are sent once."""
        n_cells = len(self.cells)
        return min(n_cells, max(self.policy.most_pieces // len(self.chunks), math.isqrt(n_cells - 1) + 1))

    @property
    def n_hops(self) -> int:
        """How often a row is sent."""
        return 1 if self.n_groups == len(self.cells) else 2

    def inputs_of_cells(self, encoder: Any, reads_columns: bool) -> list[list[Any]]:
        """Delayed pieces of the inputs of each cell, with rows in the order of the cell.

        Parameters
        ----------
        encoder : delayed Encoder
        reads_columns : bool
            Whether columns of an array of numbers may be categories.
        """
        n_cells = len(self.cells)
        cell_of = np.full(sum(self.lengths), -1, dtype=np.int32)
        for cell, rows in enumerate(self.cells):
            cell_of[rows] = cell
        starts = [-(-n_cells * group // self.n_groups) for group in range(self.n_groups + 1)]
        group_of = np.append(np.repeat(np.arange(self.n_groups), np.diff(starts)), -1).astype(np.int32)
        pieces: list[list[Any]] = [[] for _ in range(self.n_groups)]
        edges = np.cumsum([0, *self.lengths]).tolist()
        for place, (start, stop) in enumerate(pairwise(edges)):
            own = group_of[cell_of[start:stop]]  # the last one, -1, for rows of no cell
            parts = delayed(tasks.split_chunk, pure=False)(
                self.chunks[place], own, encoder, reads_columns, dask_key_name=(f"split-stage-{self.token}", place)
            )
            for group in np.unique(own[own >= 0]).tolist():
                pieces[group].append(self._pick(parts, group, "chunk", place))
        if self.n_hops == 1:
            return pieces
        return [found for group, own in enumerate(pieces) for found in self._divide(own, group, starts, cell_of)]

    def _divide(self, pieces: list[Any], group: int, starts: list[int], cell_of: Indices) -> list[list[Any]]:
        """The cells of a group of cells."""
        members = range(starts[group], starts[group + 1])
        rows = np.sort(np.concatenate([self.cells[cell] for cell in members]))
        key = (f"split-stage-group-{self.token}", group)
        parts = delayed(tasks.split_group, pure=False)(pieces, cell_of[rows], dask_key_name=key)
        return [[self._pick(parts, cell, "group", group)] for cell in members]

    def _pick(self, parts: Any, number: int, kind: str, place: int) -> Any:
        # The scheduler knows that tasks of these names are quick, and runs them on the worker that holds their input.
        key = (f"split-shuffle-{self.token}", kind, place, number)
        return delayed(operator.getitem, pure=False)(parts, number, dask_key_name=key)
