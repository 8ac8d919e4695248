"""kill -9 of a Dask worker at random moments of a fit: the same probabilities as without, with and without nannies.

Three workers are processes of their own. A uniformly random moment is drawn between the beginning of `fit` and the
end of an undisturbed fit; then a random worker is killed. A nanny starts another worker; without nannies two go on.

python benchmarks/dask_kills.py            ten moments each
python benchmarks/dask_kills.py --quick    two moments each
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import array
from distributed import Client, LocalCluster

from logikern import KernelLogisticClassifier, NeighbourhoodSettings
from logikern.dask import DaskKernelLogisticClassifier
from report import Report, Row

N_ROWS, N_INPUTS, CHUNK = 9000, 8, 600
SETTINGS = {
    "operator": NeighbourhoodSettings(size=600, partitions=3),
    "criterion": None,
    "kernel": "gaussian",
    "random_state": 0,
}


@dataclass(frozen=True)
class Kill:
    moment: float  # seconds after `fit` began; NaN if nobody was killed
    seconds: float  # of the fit
    difference: float  # largest difference of a probability from the local fit


def make_rows() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((N_ROWS, N_INPUTS))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)


def kill_later(client: Client, moment: float, random: np.random.Generator) -> threading.Timer:
    pids = list(client.run(os.getpid).values())
    victim = int(random.choice(pids))
    timer = threading.Timer(moment, os.kill, [victim, signal.SIGKILL])
    timer.daemon = True
    timer.start()
    return timer


def fit_once(client: Client, wanted: np.ndarray, moment: float, random: np.random.Generator) -> Kill:
    X, y = make_rows()
    client.wait_for_workers(3, timeout=60)
    timer = kill_later(client, moment, random) if np.isfinite(moment) else None
    began = time.perf_counter()
    model = DaskKernelLogisticClassifier(client, **SETTINGS).fit(array.from_array(X, chunks=(CHUNK, -1)), y)
    seconds = time.perf_counter() - began
    if timer is not None:
        timer.cancel()
    return Kill(moment, seconds, float(np.abs(model.predict_proba(X) - wanted).max()))


@contextmanager
def nannies() -> Iterator[Client]:
    """Three workers, each started again by its nanny if it dies."""
    options = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def no_nannies() -> Iterator[Client]:
    """Three workers that nobody starts again."""
    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster, Client(cluster) as client:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        workers = [subprocess.Popen([*command, "--nthreads", "1", "--no-nanny"], **quiet) for _ in range(3)]
        try:
            yield client
        finally:
            for worker in workers:
                worker.kill()


def kill_repeatedly(start: Callable[[], Any], wanted: np.ndarray, n_kills: int, seed: int) -> list[Kill]:
    """An undisturbed fit, then kills at random moments, each in a cluster of its own."""
    random, found = np.random.default_rng(seed), []
    while len(found) <= n_kills:
        with start() as client:
            fit_once(client, wanted, np.nan, random)  # workers import and compile
            moment = random.uniform(0, found[0].seconds) if found else np.nan
            kill = fit_once(client, wanted, moment, random)
        if not kill.moment >= kill.seconds:  # a fit that ended before its moment came counts for nothing
            found.append(kill)
    return found


def show(report: Report, title: str, kills: list[Kill]) -> None:
    """A table of the kills, and whether any of them changed the result."""
    report.say(f"{title}: {kills[0].seconds:.1f} s undisturbed, difference {kills[0].difference:.0e}.")
    rows: list[Row] = [
        {"killed after, s": own.moment, "seconds": own.seconds, "largest difference": own.difference}
        for own in sorted(kills[1:], key=lambda kill: kill.moment)
    ]
    report.table(title, rows)
    largest = max(own.difference for own in kills)
    report.verdict(f"{title}: largest difference", "<= 1e-6", f"{largest:.0e}", largest <= 1e-6)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    n_kills = 2 if parser.parse_args().quick else 10
    report = Report("dask_kills")
    rows, labels = make_rows()
    local = KernelLogisticClassifier(**SETTINGS).fit(rows, labels).predict_proba(rows)
    show(report, "With nannies", kill_repeatedly(nannies, local, n_kills, seed=1))
    show(report, "Without nannies", kill_repeatedly(no_nannies, local, n_kills, seed=2))
    report.write()
