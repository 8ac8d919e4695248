"""Neighbourhoods fitted by the workers of a cluster."""

import contextlib
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from dask import delayed
from distributed import Future

from logikern.dask import shuffle, tasks
from logikern.dask.traffic import FitSize, expected_traffic
from logikern.dask.waiting import Watch, fetch_each
from logikern.estimators._callbacks import log
from logikern.estimators._cells.fit import CellRecipe
from logikern.estimators._inputs.data import TrainingData
from logikern.fitting.problem import FitResult
from logikern.numerics.outcome import Indices


class ClusterCells:
    """Fits cells on a cluster: rows are sorted by cell on the workers, and each cell is fitted by one task.

    Every task is a function of input chunks, of values in the graph and of other tasks, so the scheduler can
    recompute whatever was lost with a worker.

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
        self, recipe: CellRecipe, data: TrainingData, cells: list[Indices], tell: Callable[[FitResult], None]
    ) -> Callable[[], list[FitResult]]:
        """Start the fits of one partition; returns a function that waits for the results."""
        futures = self.watch.client.compute(self._tasks(recipe, data, cells))
        self.begun += futures
        places = {future.key: place for place, future in enumerate(futures)}

        def wait() -> list[FitResult]:
            found: list[Any] = [None] * len(cells)
            for future, result in fetch_each(futures, self.watch):
                found[places[future.key]] = result
                tell(result)
                future.release()
            return found

        return wait

    def cancel(self) -> None:
        """Cancel all tasks of this fit. Other fits and the user's chunks have other keys and are not affected."""
        with contextlib.suppress(Exception):  # the cluster may be gone
            self.watch.client.cancel(self.begun)
        self.begun.clear()

    def _tasks(self, recipe: CellRecipe, data: TrainingData, cells: list[Indices]) -> list[Any]:
        """One delayed fit for each cell."""
        token = uuid4().hex
        kept = [data.kept[rows] for rows in cells]
        way = shuffle.Shuffle(self.chunks, self.lengths, kept, token, shuffle.USUAL)
        moved = self._moved(recipe, data, way.n_hops)
        log(False, "partition: %d neighbourhoods, %.1f MB to move", len(cells), moved / 1e6)
        # One graph key each, so that they are sent to a worker once and not with every task.
        how = delayed(recipe, name=f"logikern-recipe-{token}", traverse=False)
        encoder = delayed(data.encoder, name=f"logikern-encoder-{token}", traverse=False)
        inputs = way.inputs_of_cells(encoder, self.reads_columns)
        described = [tasks.describe_rows(data.targets[:, rows], data.weights[rows]) for rows in cells]
        fit = delayed(tasks.fit_cell, pure=False)
        return [
            fit(own, rows, how, dask_key_name=(f"logikern-fit-{token}", number))
            for number, (own, rows) in enumerate(zip(inputs, described, strict=True))
        ]

    def _moved(self, recipe: CellRecipe, data: TrainingData, n_hops: int) -> float:
        """Bytes that are sent for one partition; chunks of X have already been gathered."""
        n_rows, n_inputs = data.points.shape
        n_workers, state = len(self.watch.client.nthreads()), float(recipe.state.itemsize)
        size = FitSize(n_rows, n_inputs, len(data.classes), 1, n_workers, 0.0, state_bytes=state, n_hops=n_hops)
        return expected_traffic(size).total
