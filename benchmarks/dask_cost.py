"""How long a fit takes on 10, 100 and 1000 workers, from rates measured here and an assumed network.

Measured on one core: the fit of a neighbourhood, the division of all rows into neighbourhoods, sorting and encoding
rows, the search on 20,000 rows, and the time of the scheduler for one task. Assumed: the network.

python benchmarks/dask_cost.py            measure and print the table
python benchmarks/dask_cost.py --quick    without the search, which is then assumed to take 100 s
"""

import argparse
import math
import time
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

from logikern import KernelLogisticClassifier, NeighbourhoodSettings
from logikern.dask.shuffle import Shuffle, ShufflePolicy
from logikern.dask.traffic import FitSize, expected_traffic
from logikern.operators.partition import divide
from report import Report, Row

N_INPUTS, N_CLASSES, CELL, PARTITIONS, CHUNK = 50, 7, 2500, 3, 25_000


@dataclass(frozen=True)
class Rates:
    """Seconds, on one core of this machine, and bytes per second of an assumed network."""

    cell: float  # the fit of one neighbourhood
    divide_row: float  # one partition, per row, in the process that calls `fit`
    split_row: float  # encode and sort one row by neighbourhood
    search: float
    task: float  # of the scheduler
    network: float = 500e6  # of each process


@dataclass(frozen=True)
class Cost:
    """Seconds of each part of a fit."""

    gather: float
    search: float
    divide: float
    schedule: float
    shuffle: float
    fits: float

    @property
    def total(self) -> float:
        # The scheduler works while workers do.
        return self.gather + self.search + self.divide + max(self.schedule, self.shuffle + self.fits)


def predict_cost(rates: Rates, n_rows: int, n_workers: int) -> Cost:
    """The cost of a fit by workers of one thread each."""
    n_cells, n_chunks = math.ceil(n_rows / CELL), math.ceil(n_rows / CHUNK)
    size = FitSize(n_rows, N_INPUTS, N_CLASSES, PARTITIONS, n_workers, row_bytes=8.0 * N_INPUTS)
    way = Shuffle([None] * n_chunks, [], [None] * n_cells, "", ShufflePolicy())
    moved = expected_traffic(replace(size, n_hops=way.n_hops))
    n_tasks = n_chunks * (way.n_groups + 1) + n_cells * way.n_hops + way.n_groups * (way.n_hops - 1)
    return Cost(
        gather=(moved.gathered + moved.graphs + moved.returned) / rates.network,
        search=rates.search,
        divide=PARTITIONS * n_rows * rates.divide_row,
        schedule=PARTITIONS * n_tasks * rates.task,
        shuffle=moved.between_workers / n_workers / rates.network
        + PARTITIONS * n_rows * rates.split_row / min(n_workers, n_chunks),
        fits=math.ceil(PARTITIONS * n_cells / n_workers) * rates.cell,
    )


def make_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, N_INPUTS))
    scores = X @ random.standard_normal((N_INPUTS, N_CLASSES)) + 3 * np.sin(X[:, :N_CLASSES])
    return X, scores.argmax(axis=1)


def seconds_of(action) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def task_seconds(n_tasks: int = 4000) -> float:
    def add(number: int) -> int:
        return number + 1

    make_cluster = partial(LocalCluster, n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with make_cluster() as cluster, Client(cluster) as client:
        work = [delayed(add, pure=False)(number) for number in range(n_tasks)]
        return seconds_of(lambda: client.gather(client.compute(work))) / n_tasks


def measure(with_search: bool) -> Rates:
    X, y = make_rows(100_000)
    settings = {"criterion": None, "kernel": "gaussian", "tying": "shared", "n_jobs": 1, "random_state": 0}
    one = KernelLogisticClassifier(**settings, operator=NeighbourhoodSettings(size=CELL, partitions=1))
    one.fit(X[:200], y[:200])  # compile
    n_cells = 4
    cell = seconds_of(lambda: one.fit(X[: n_cells * CELL], y[: n_cells * CELL])) / n_cells
    division = seconds_of(lambda: divide(X, np.ones(N_INPUTS), CELL, np.random.default_rng(0))) / len(X)
    cells = np.random.default_rng(0).integers(0, 40, len(X))
    order = seconds_of(lambda: [X[own] for own in np.split(np.argsort(cells, kind="stable"), 40)]) / len(X)
    search = 100.0
    if with_search:
        tuned = KernelLogisticClassifier(n_jobs=1, random_state=0).fit(X[:20_000], y[:20_000])
        search = sum(record.seconds for record in tuned.trace_)
    return Rates(cell, division, order, search, task_seconds())


def run(with_search: bool) -> None:
    """Write the rates and the table that follows from them."""
    report = Report("dask_cost")
    rates = measure(with_search)
    report.table("Rates, seconds and bytes per second", [asdict(rates)])
    rows: list[Row] = []
    for n_rows in (100_000, 1_000_000, 10_000_000):
        alone = predict_cost(rates, n_rows, 1)
        for n_workers in (10, 100, 1000):
            cost = predict_cost(rates, n_rows, n_workers)
            local = alone.search + alone.divide + alone.fits
            rows.append(
                {"rows": n_rows, "workers": n_workers, **asdict(cost), "total": cost.total, "no cluster": local}
            )
    report.table("Seconds of a fit", rows)
    report.write()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    run(not parser.parse_args().quick)
