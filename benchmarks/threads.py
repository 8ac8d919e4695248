"""Fits in several threads, in processes and in forked children: limits of the BLAS stay, results are the same.

Fits of every kind run at the same time: in threads of joblib, where some end by an error; in threads under a limit
that the caller set; in processes of joblib; and in children that are forked while other threads of the parent are in
the middle of fits. Afterwards the BLAS must be allowed as many threads as before, in the parent and in every child.
The same fits made alone must have the same coefficients, to the bit where the number of threads is the same, and the
same probabilities, to 1e-6 where it is not, since fits end at a tolerance. (Predictions do not hold the BLAS: beside
other fits it may sum in another order, which changes the last digit.)

The data come with scikit-learn. The limit that counts is that of the environment, for instance OPENBLAS_NUM_THREADS.
"""

import argparse
import itertools
import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info, threadpool_limits

from logikern import KernelLogisticClassifier
from report import Report, Row

SETTINGS: dict[str, dict[str, Any]] = {
    "Newton": {"criterion": None, "solver": "newton"},
    "exact": {"criterion": None, "solver": "exact"},
    "pairwise": {"criterion": None, "solver": "smo"},
    "cross-validated": {"criterion": "cv", "tying": "shared", "ard": False, "cv": 3},
    "leave-one-out": {"criterion": "loo", "tying": "shared", "ard": False},
}
N_THREADS, N_PROCESSES = 4, 2
ROWS = {"full": 300, "quick": 60}
FITS = {"full": {"threads": 40, "processes": 45, "forks": 7}, "quick": {"threads": 10, "processes": 2, "forks": 2}}
TOLERANCE = 1e-6
PATIENCE = 300.0


class Fit(NamedTuple):
    """A kind of fit, to rows that a seed draws."""

    kind: str
    seed: int
    n_rows: int
    fails: bool = False


class Found(NamedTuple):
    """What a fit gave, and the limits of the BLAS around it."""

    coefficients: np.ndarray
    probabilities: np.ndarray
    before: tuple[int, ...]
    after: tuple[int, ...]


class DeliberateError(Exception):
    """Ends a fit in its middle."""


def fail(*_: Any) -> None:
    raise DeliberateError


def blas_limits() -> tuple[int, ...]:
    """Threads that each BLAS of this process is allowed."""
    return tuple(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def run_fit(fit: Fit, n_jobs: int | None = None) -> Found:
    X, y = load_digits(n_class=4, return_X_y=True)
    rows = np.random.default_rng(fit.seed).permutation(len(y))
    train, test = rows[: fit.n_rows], rows[-50:]
    before = blas_limits()
    model = KernelLogisticClassifier(random_state=0, n_jobs=n_jobs, **SETTINGS[fit.kind])
    if fit.fails:
        model.set_params(kernel=lambda left, right: fail())
    probabilities = model.fit(X[train] / 16, y[train]).predict_proba(X[test] / 16)
    return Found(model.dual_coef_, probabilities, before, blas_limits())


def fits(count: int, n_rows: int) -> list[Fit]:
    kinds = itertools.cycle(SETTINGS)
    return [Fit(next(kinds), number // len(SETTINGS), n_rows) for number in range(count)]


def run_or_fail(fit: Fit) -> Found | None:
    try:
        return run_fit(fit)
    except DeliberateError:
        return None


def in_threads(own: list[Fit]) -> list[Found | None]:
    return joblib.Parallel(N_THREADS, backend="threading")(joblib.delayed(run_or_fail)(fit) for fit in own)


def in_processes(own: list[Fit]) -> list[Found]:
    return joblib.Parallel(N_PROCESSES, backend="loky")(joblib.delayed(run_fit)(fit) for fit in own)


@contextmanager
def threads_at_work(own: list[Fit]) -> Iterator[None]:
    """Two threads that fit until the end."""
    over = threading.Event()

    def work() -> None:
        for fit in itertools.cycle(own):
            if over.is_set():
                return
            run_fit(fit)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def answer(results: Any, fit: Fit) -> None:
    results.put(run_fit(fit))


def in_forks(own: list[Fit]) -> list[Found | None]:
    """None for a child that did not answer in time."""
    context = multiprocessing.get_context("fork")
    found: list[Found | None] = []
    with threads_at_work(own):
        for fit in own:
            results = context.Queue()
            child = context.Process(target=answer, args=(results, fit))
            child.start()
            try:
                found.append(results.get(timeout=PATIENCE))
            except queue.Empty:
                found.append(None)
            child.kill()
            child.join()
    return found


def compare(found: list[Found | None], own: list[Fit], alone: dict[Fit, Found]) -> tuple[int, int, float]:
    """Number of answers, of those with coefficients equal to the bit, and the largest difference of probabilities."""
    pairs = [(one, alone[fit]) for one, fit in zip(found, own, strict=True) if one]
    n_equal = sum(bool(np.array_equal(one.coefficients, other.coefficients)) for one, other in pairs)
    differences = [float(np.abs(one.probabilities - other.probabilities).max()) for one, other in pairs]
    return len(pairs), n_equal, max(differences, default=0.0)


class Stage(NamedTuple):
    """One way to run fits at the same time.

    Attributes
    ----------
    name : str
    own : list of Fit
    run : callable
        Makes the fits; None in place of those that fail.
    of_workers : bool
        Whether fits see the limits of processes of their own.
    to_the_bit : bool
    """

    name: str
    own: list[Fit]
    run: Callable[[list[Fit]], list[Any]]
    of_workers: bool = False
    to_the_bit: bool = True


def stages(size: str) -> list[Stage]:
    count, n_rows = FITS[size], ROWS[size]
    failing = [fit._replace(fails=number % 3 == 0) for number, fit in enumerate(fits(count["threads"] // 2, n_rows))]

    def limited(own: list[Fit]) -> list[Any]:
        with threadpool_limits(1):
            return in_threads(own)

    return [
        Stage("threads", fits(count["threads"], n_rows), in_threads),
        Stage("threads, a third fails", failing, in_threads),
        Stage("threads, limited to one", failing[1::3], limited, to_the_bit=False),
        Stage("processes", fits(count["processes"], n_rows), in_processes, of_workers=True, to_the_bit=False),
        Stage("forks", fits(count["forks"], n_rows), in_forks, of_workers=True),
    ]


class Record(NamedTuple):
    """What a stage gave, and the limits of the BLAS around it."""

    stage: Stage
    found: list[Found | None]
    before: tuple[int, ...]
    after: tuple[int, ...]
    seconds: float


def conduct(stage: Stage) -> Record:
    before, began = blas_limits(), time.perf_counter()
    found = stage.run(stage.own)
    return Record(stage, found, before, blas_limits(), time.perf_counter() - began)


def judge(record: Record, alone: dict[Fit, Found], report: Report) -> Row:
    stage, found, before, after, seconds = record
    expected = sum(not fit.fails for fit in stage.own)
    n_found, n_equal, difference = compare(found, stage.own, alone)
    # In threads, fits begin and end while others hold the BLAS; in processes there are no others.
    kept = [one.before == one.after for one in found if one] if stage.of_workers else []
    report.verdict(
        f"{stage.name}: BLAS threads", "as before", f"{before}, then {after}", before == after and all(kept)
    )
    same = n_found == expected and difference <= TOLERANCE and (n_equal == n_found or not stage.to_the_bit)
    wanted = "equal to the bit" if stage.to_the_bit else f"equal to {TOLERANCE:g}"
    seen = f"{n_found} of {expected} answers, {n_equal} equal to the bit, probabilities to {difference:.1e}"
    report.verdict(f"{stage.name}: results", wanted, seen, same)
    return {
        "fits at the same time": stage.name,
        "fits": len(stage.own),
        "answers": n_found,
        "BLAS threads before": "/".join(map(str, before)),
        "after": "/".join(map(str, after)),
        "equal to the bit": n_equal,
        "probabilities differ by": difference,
        "seconds": seconds,
    }


def run(report: Report, size: str) -> None:
    # Threads come first: before any fit in the main thread, which might have a right to set limits that others lack.
    records = [conduct(stage) for stage in stages(size) if stage.name != "forks" or hasattr(os, "fork")]
    wanted = {fit for record in records for fit in record.stage.own if not fit.fails}
    alone = {fit: run_fit(fit) for fit in sorted(wanted)}
    report.table("Fits at the same time", [judge(record, alone, report) for record in records])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small version; writes no results")
    size = "quick" if parser.parse_args().quick else "full"
    report = Report("threads")
    run(report, size)
    if size == "full":
        report.write()


if __name__ == "__main__":
    main()
