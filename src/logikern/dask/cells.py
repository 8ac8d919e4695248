"""Neighbourhoods fitted by the workers of a cluster."""

import contextlib
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np
from dask import delayed
from distributed import Future

from logikern.dask import tasks
from logikern.dask.traffic import FitSize, expected_traffic
from logikern.dask.waiting import Watch, fetch_each
from logikern.estimators._callbacks import log
from logikern.estimators._cells.fit import CellRecipe
from logikern.estimators._inputs.data import TrainingData
from logikern.fitting.problem import FitResult
from logikern.numerics.outcome import Indices


class ClusterCells:
    """Fits cells on a cluster: rows are sorted by cell on the workers, and each cell is fitted by one task.

    Every task is a function of chunks of the input, of what is in the graph, and of other tasks, so that the
    scheduler computes again what was lost with a worker.

    Parameters
    ----------
    watch : Watch
    chunks : list of Future
        Chunks of the rows passed to `fit`.
    lengths : list of int
        Rows of each chunk.
    reads_columns : bool
        Whether columns of an array of numbers may be categories.
    """

    def __init__(self, watch: Watch, chunks: list[Future], lengths: list[int], reads_columns: bool) -> None:
        self.watch, self.chunks, self.lengths, self.reads_columns = watch, chunks, lengths, reads_columns
        self.begun: list[Future] = []

    def __call__(
        self, recipe: CellRecipe, data: TrainingData, cells: list[Indices], tell: Callable[[FitResult], FitResult]
    ) -> Callable[[], list[FitResult]]:
        """Begin the fits of one partition; what it returns waits for them."""
        client = self.watch.client
        moved = expected_traffic(self._size(recipe, data, len(client.nthreads()))).total
        log(False, "partition: %d neighbourhoods, %.1f MB to move", len(cells), moved / 1e6)
        futures = client.compute(self._tasks(recipe, data, cells))
        self.begun += futures
        places = {future.key: place for place, future in enumerate(futures)}

        def wait() -> list[FitResult]:
            found: list[Any] = [None] * len(cells)
            for future, result in fetch_each(futures, self.watch):
                found[places[future.key]] = tell(result)
                future.release()
            return found

        return wait

    def cancel(self) -> None:
        """End what was begun: keys are of this fit alone, so other fits and the user's chunks are not touched."""
        with contextlib.suppress(Exception):  # the cluster may be gone
            self.watch.client.cancel(self.begun)
        self.begun.clear()

    def _size(self, recipe: CellRecipe, data: TrainingData, n_workers: int) -> FitSize:
        """One partition; chunks of X have been gathered before."""
        n_rows, n_inputs = data.points.shape
        return FitSize(n_rows, n_inputs, len(data.classes), 1, n_workers, 0.0, state_bytes=recipe.state.itemsize)

    def _tasks(self, recipe: CellRecipe, data: TrainingData, cells: list[Indices]) -> list[Any]:
        """One delayed fit for each cell."""
        token = uuid4().hex
        cell_of = np.full(data.n_rows, -1, dtype=np.int32)
        for number, rows in enumerate(cells):
            cell_of[data.kept[rows]] = number
        # One key each: they travel to a worker once, not with each task.
        how = delayed(recipe, name=f"logikern-recipe-{token}", traverse=False)
        encoder = delayed(data.encoder, name=f"logikern-encoder-{token}", traverse=False)
        pieces: list[list[Any]] = [[] for _ in cells]
        split, edges = delayed(tasks.split_chunk, pure=False), np.cumsum([0, *self.lengths]).tolist()
        for place, (start, stop) in enumerate(pairwise(edges)):
            own = cell_of[start:stop]
            # The scheduler knows that tasks of these two names are quick, and leaves them beside their chunk.
            key = (f"split-stage-{token}", place)
            parts = split(self.chunks[place], own, encoder, self.reads_columns, dask_key_name=key)
            for cell in np.unique(own[own >= 0]).tolist():
                pick = delayed(operator.getitem, pure=False)
                pieces[cell].append(pick(parts, cell, dask_key_name=(f"split-shuffle-{token}", place, cell)))
        fit = delayed(tasks.fit_cell, pure=False)
        rows_of = [tasks.describe_rows(data.targets[:, rows], data.weights[rows]) for rows in cells]
        return [
            fit(own, rows, how, dask_key_name=(f"logikern-fit-{token}", number))
            for number, (own, rows) in enumerate(zip(pieces, rows_of, strict=True))
        ]
