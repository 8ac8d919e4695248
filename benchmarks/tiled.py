"""letter (15000 x 16, 26 classes) within 1 GB: the same probabilities as dense, and what it costs.

Each fit runs in a process of its own, whose peak resident set is measured; the
limit that the estimator is given is 1 GB, and the process with its libraries
must stay below it. Tiles recompute kernel values in every product, so this is
slow by design.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from data import Split, load
from measure import in_subprocess, peak_memory, score
from report import Report, main

LIMIT = "1GB"
LIMIT_BYTES = 1e9
# Probabilities are compared: both fits must be closer to the optimum than the difference allowed.
TOLERANCE = 1e-6
ROWS = {"full": 15000, "quick": 1500}


def letter(size: str) -> Split:
    return load("letter").standardised().head(ROWS[size])


def fit_alone(operator: str, precision: str, size: str, target: str) -> None:
    """The child: fit, store the probabilities, print what it cost."""
    from logikern import KernelLogisticClassifier

    split = letter(size)
    before = peak_memory()
    limit = LIMIT if operator == "tiled" else None
    name = "auto" if operator == "tiled" and size == "full" else operator
    model = KernelLogisticClassifier(
        rate=9.0 / split.total_variance,
        variance=30.0,
        operator=name,
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
    tiled, dense = rows[0], rows[1]
    report.verdict(
        f"peak resident set with memory_limit={LIMIT!r}",
        "< 1000 MB",
        f"{tiled['MB in all']:.0f} MB",
        tiled["MB in all"] * 1e6 < LIMIT_BYTES,
    )
    for row, other in zip(rows[1:], probabilities[1:], strict=True):
        difference = float(np.abs(probabilities[0] - other).max())
        claim = f"test probabilities, tiled against dense in {row['precision']} precision"
        report.verdict(claim, "< 1e-5", f"{difference:.1e}", difference < 1e-5)
    report.say(f"\nTiled takes {tiled['seconds'] / dense['seconds']:.1f} times the seconds of dense.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        fit_alone(*sys.argv[2:6])
    else:
        main("tiled", __doc__, run)
