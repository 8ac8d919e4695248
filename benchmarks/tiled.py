"""letter (15000 x 16, 26 classes) within 1 GB: the same probabilities as dense, and what it costs.

Each fit runs in a process of its own, whose peak resident set is measured; the
limit that the estimator is given is 1 GB, and the process with its libraries
must stay below it. Tiles recompute kernel values in every product, so this is
slow by design.

Before that, speeds of single products on random points. Tiles: 64 functions and
54 inputs in single precision, against the product of the same functions with a
stored matrix. Stored matrix: 6 to 10 functions, in bytes of the matrix per
second, against the largest entry of the same matrix, which only reads it.
Seconds are the least of several runs, and verdicts are by them. CPU seconds, those
of all threads, are for comparison where other work shares the machine.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from data import Split, load
from logikern.kernels import Gaussian
from logikern.numerics.parallel import even_slices, for_each, n_threads, own_threads
from logikern.operators.dense import symmetric_product
from logikern.operators.tiled import tiled
from measure import in_subprocess, peak_memory, score
from report import Report, main

LIMIT = "1GB"
LIMIT_BYTES = 1e9
# Probabilities are compared: both fits must be closer to the optimum than the difference allowed.
TOLERANCE = 1e-6
ROWS = {"full": 15000, "quick": 1500}
POINTS = {"full": 10000, "quick": 7000}


def least(function: Callable[[], Any], repeats: int = 7) -> np.ndarray:
    """The least seconds and CPU seconds of some calls, after a first one."""
    function()
    found = []
    for _ in range(repeats):
        began, cpu = time.perf_counter(), time.process_time()
        function()
        found.append((time.perf_counter() - began, time.process_time() - cpu))
    return np.min(found, axis=0)


def compare_speeds(report: Report, n: int) -> None:
    """Ratios of single products to what the machine can do."""
    random, rows = np.random.default_rng(0), []
    matrix = random.random((n, n), dtype=np.float32)
    with own_threads():
        functions = random.standard_normal((64, n)).astype(np.float32)
        whole = least(lambda: symmetric_product(functions, matrix))
        operator = tiled(Gaussian(9.0 / 54.0), random.standard_normal((n, 54)), np.dtype(np.float32), 1e9)
        rows.append(speed_row("tiles against a stored matrix", 64, least(lambda: operator.matmul(functions)), whole))
        reading = least(lambda: for_each(lambda part: matrix[part].max(), even_slices(n)))
        for count in (6, 8, 10):
            few = functions[:count]
            product = least(lambda few=few: symmetric_product(few, matrix))
            rows.append(speed_row("stored matrix against reading it", count, product, reading))
        report.say(f"{n} points, {n_threads()} threads; reading takes {matrix.nbytes / reading[0] / 1e9:.1f} GB/s.")
    report.table("Speeds of products", rows)
    for row in rows:
        claim = f"{row['product']}, {row['functions']} functions"
        report.verdict(claim, ">= 0.5", f"{row['ratio']:.2f}", row["ratio"] >= 0.5)


def speed_row(title: str, count: int, own: np.ndarray, other: np.ndarray) -> dict:
    ratio, of_cpu = other / own
    seconds = {"ms": 1e3 * own[0], "CPU ms": 1e3 * own[1]}
    return {"product": title, "functions": count, **seconds, "ratio": ratio, "ratio of CPU seconds": of_cpu}


def letter(size: str) -> Split:
    return load("letter").standardised().head(ROWS[size])


def fit_alone(operator: str, precision: str, size: str, target: str) -> None:
    """The child: fit, store the probabilities, print what it cost."""
    from logikern import KernelLogisticClassifier

    split = letter(size)
    before = peak_memory()
    limit = LIMIT if operator == "tiled" else None
    model = KernelLogisticClassifier(
        rate=9.0 / split.total_variance,
        variance=30.0,
        operator=operator,
        precision=precision,
        memory_limit=limit,
        criterion=None,
        tol=TOLERANCE,
        random_state=0,
    )
    began = time.perf_counter()
    model.fit(split.X, split.y)
    seconds = time.perf_counter() - began
    fit_peak = peak_memory()
    log_probability = model.predict_log_proba(split.X_test)
    np.save(target, np.exp(log_probability))
    scores = score(log_probability, split.y_test)
    record = {
        "asked for": operator,
        "precision": precision,
        "products by": model.operator_,
        "seconds": seconds,
        "steps": model.n_iter_,
        "products": model.trace_[-1].products,
        "gradient": model.trace_[-1].gradient_norm,
        "outcome": model.outcome_.name,
        "MB before": before / 1e6,
        "MB in fit": fit_peak / 1e6,
        "MB in all": peak_memory() / 1e6,
        "log loss": scores.log_loss,
        "error %": 100 * scores.error,
    }
    print(json.dumps(record))


def run(report: Report, quick: bool) -> None:
    size = "quick" if quick else "full"
    compare_speeds(report, POINTS[size])
    report.say(f"{ROWS[size]} rows; rate 9 over the total variance, variance 30, gradient {TOLERANCE:g}.")
    rows, probabilities = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, (operator, precision) in enumerate(
            [("tiled", "single"), ("dense", "single"), ("dense", "double")]
        ):
            target = Path(folder) / f"{number}.npy"
            rows.append(in_subprocess(__file__, "--child", operator, precision, size, str(target)))
            probabilities.append(np.load(target))
            report.progress(f"{operator}, {precision}: {rows[-1]['seconds']:.0f} s")
    report.table("Fits", rows)
    by_tiles, dense = rows[0], rows[1]
    report.verdict(
        f"peak resident set with memory_limit={LIMIT!r}",
        "< 1000 MB",
        f"{by_tiles['MB in all']:.0f} MB",
        by_tiles["MB in all"] * 1e6 < LIMIT_BYTES,
    )
    for row, other in zip(rows[1:], probabilities[1:], strict=True):
        difference = float(np.abs(probabilities[0] - other).max())
        claim = f"test probabilities, tiled against dense in {row['precision']} precision"
        report.verdict(claim, "< 1e-5", f"{difference:.1e}", difference < 1e-5)
    report.say(f"\nTiled takes {by_tiles['seconds'] / dense['seconds']:.1f} times the seconds of dense.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        fit_alone(*sys.argv[2:6])
    else:
        main("tiled", __doc__, run)
