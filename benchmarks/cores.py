"""Exact fits and leave-one-out by one thread and by all: what further cores bring to large factorisations.

Subsets of satimage, standardised, with one Gaussian kernel for all classes. Runs with one thread and with all that
the BLAS is allowed alternate, so that other load on the machine affects both. On a busy machine, where seconds say
little, read two more columns: CPU seconds of the whole process show what dividing the work costs. Those of the
calling thread, which does its share of the work and all that is not divided, show how long idle cores would take.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from data import Split, load
from logikern.criteria.leave_one_out.criterion import LeaveOneOut, LeaveOneOutPolicy
from logikern.fitting.newton.dense import Exact
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.parallel import n_threads, own_threads
from logikern.structure.targets import from_labels
from measure import bind, shared, solve
from report import Report, Row, main

RATE, VARIANCE, TOLERANCE = 0.05, 10.0, 1e-6
REPETITIONS = {"full": 5, "quick": 2}
ROWS = {"full": {"exact": 1500, "leave-one-out": 1000}, "quick": {"exact": 300, "leave-one-out": 200}}
CLASSES = {"exact": (2, 3), "leave-one-out": (2, 6)}


class Cost(NamedTuple):
    """Seconds of one run: passed, of all threads, and of the thread that called."""

    seconds: float
    cpu_seconds: float
    own_seconds: float


def exact_fit(split: Split) -> Callable[[], np.ndarray]:
    covariance = bind(split, shared(split, RATE, VARIANCE))
    return lambda: solve(split, covariance, Exact()).dual


def leave_one_out(split: Split) -> Callable[[], np.ndarray]:
    """One evaluation of the criterion and its gradient, with nothing approximated."""
    specification = shared(split, RATE, VARIANCE)
    covariance, targets = bind(split, specification), from_labels(split.y, split.n_classes)
    criterion = LeaveOneOut(Softmax(), targets, np.ones(len(split.y)), Exact(), policy=LeaveOneOutPolicy(missed=0.0))

    def evaluate() -> np.ndarray:
        found = criterion.evaluate(covariance, None, TOLERANCE)
        return np.append(specification.collect(found.gradient), found.value)

    return evaluate


TASKS = {"exact": exact_fit, "leave-one-out": leave_one_out}


def measured(task: Callable[[], np.ndarray]) -> tuple[np.ndarray, Cost]:
    began = time.perf_counter(), time.process_time(), time.thread_time()
    result = task()
    ended = time.perf_counter(), time.process_time(), time.thread_time()
    return result, Cost(*(end - begin for begin, end in zip(began, ended, strict=True)))


def alternate(name: str, split: Split, repetitions: int) -> list[Row]:
    with own_threads():
        everyone, task = n_threads(), TASKS[name](split)
    costs: dict[int, list[Cost]] = {1: [], everyone: []}
    results: dict[int, np.ndarray] = {}
    for _ in range(repetitions):
        for number, own in costs.items():
            with own_threads(number):
                results[number], cost = measured(task)
            own.append(cost)
    first = np.median(costs[1], axis=0)
    rows = []
    for number, own in costs.items():
        median = Cost(*np.median(own, axis=0))
        difference = np.abs(results[number] - results[1]).max() / np.abs(results[1]).max()
        rows.append(
            {
                "task": name,
                "rows": len(split.y),
                "classes": split.n_classes,
                "threads": number,
                "seconds": median.seconds,
                "CPU seconds": median.cpu_seconds,
                "CPU / seconds": median.cpu_seconds / median.seconds,
                "of the calling thread": median.own_seconds,
                "times as fast": first[0] / median.seconds,
                "by its CPU time": first[2] / median.own_seconds,
                "relative difference": float(difference),
            }
        )
    return rows


def run(report: Report, quick: bool) -> None:
    whole, rows, size = load("satimage").standardised(), [], "quick" if quick else "full"
    for name, choices in CLASSES.items():
        for n_classes in choices:
            rows += alternate(name, whole.classes(n_classes).head(ROWS[size][name]), REPETITIONS[size])
            report.progress(f"{name}, {n_classes} classes: done")
    report.table("Medians of alternating runs", rows)


if __name__ == "__main__":
    main("cores", __doc__, run)
