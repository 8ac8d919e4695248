"""City-block distances and their gradients against scipy's cdist, on one thread.

Every table has one-hot inputs, dense inputs, or sparse ones. Times are the least CPU time of some repetitions. A
gradient per input has no peer: its time is divided by that of the distances.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from logikern.kernels import CITY_BLOCK
from report import Report, Row, main

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def dense(n: int, n_inputs: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, n_inputs)) / n_inputs


def one_hot(n: int, n_inputs: int, n_levels: int = 20) -> np.ndarray:
    """Categories of `n_levels` levels each, as 0 and 1."""
    n_columns = n_inputs // n_levels
    levels = np.random.default_rng(0).integers(n_levels, size=(n, n_columns))
    return np.eye(n_levels)[levels].reshape(n, n_inputs) / n_columns


def texts(n: int, n_inputs: int) -> sparse.csr_array:
    random = np.random.default_rng(0)
    return sparse.random_array((n, n_inputs), density=0.01, rng=random, format="csr")


def least_seconds(function: Callable[[], Any], repeats: int) -> float:
    """CPU seconds of the fastest call, after one that compiles."""
    function()
    seconds = []
    for _ in range(repeats):
        began = time.thread_time()
        function()
        seconds.append(time.thread_time() - began)
    return min(seconds)


def measure(name: str, X: Any, repeats: int) -> list[Row]:
    """Ratios of one table, in both precisions."""
    rows = []
    table = X.toarray() if sparse.issparse(X) else X
    peer = least_seconds(lambda: cdist(table, table, "cityblock"), repeats)
    for dtype in (DOUBLE, SINGLE):
        out = np.empty((X.shape[0],) * 2, dtype)
        weights = np.ones_like(out)
        ours = least_seconds(lambda o=out: CITY_BLOCK.compare(X, X, 1.0, o.dtype).distances(slice(None), o), repeats)
        both = least_seconds(lambda w=weights: CITY_BLOCK.compare(X, X, 1.0, w.dtype).contract_inputs(w), repeats)
        rows.append({"table": name, "precision": str(dtype), "cdist": peer, "seconds": ours})
        rows[-1] |= {"times as fast": peer / ours, "gradient": both / ours}
    return rows


def run(report: Report, quick: bool) -> None:
    n, repeats = (500, 2) if quick else (2000, 9)
    rows = measure("10 dense inputs", dense(n, 10), repeats)
    rows += measure("60 dense inputs", dense(n, 60), repeats)
    rows += measure("200 one-hot inputs", one_hot(n, 200), repeats)
    rows += measure("sparse, 5000 inputs", texts(n, 5000), repeats)
    report.table(f"{n} points, one thread", rows)


if __name__ == "__main__":
    main("l1_distances", __doc__, run)
