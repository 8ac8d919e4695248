"""Learned coupling with few rows per class: letter and cpc_D with 5 and 10 rows of each class, three draws.

letter has a Gaussian kernel on standardised inputs, cpc_D a linear kernel on tf-idf vectors, without its tree.
Classes with fewer rows are left out. Each draw is fitted with independent classes (coupling=None) and with
coupling="auto", which keeps factors only if they gain more than noise on rows that did not choose them. All test rows
of the kept classes are scored.
Wanted: a lower mean log loss with coupling, or no factors.
"""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from data import load
from logikern import KernelLogisticClassifier
from report import Report, Row, main
from trees import splits

ROWS_PER_CLASS = (5, 10)
N_DRAWS = 3
QUICK_CLASSES = 8


def read(name: str) -> tuple[str, Any, np.ndarray, Any, np.ndarray]:
    """Kernel, training rows and labels, test rows and labels."""
    if name == "letter":
        split = load("letter").standardised()
        return "gaussian", split.X, split.y, split.X_test, split.y_test
    own = next(iter(splits(name, 1)))
    return own.kernel, own.X, own.y, own.X_test, own.y_test


def draw(y: np.ndarray, n_each: int, seed: int, n_classes: int | None = None) -> np.ndarray:
    """The same number of rows of each class that has as many, at random."""
    random = np.random.default_rng(seed)
    names, counts = np.unique(y, return_counts=True)
    kept = names[counts >= n_each][:n_classes]
    return np.sort(np.concatenate([random.permutation(np.flatnonzero(y == own))[:n_each] for own in kept]))


def measure(name: str, n_each: int, seed: int, quick: bool) -> Iterator[Row]:
    kernel, X, y, X_test, y_test = read(name)
    rows = draw(y, n_each, seed, QUICK_CLASSES if quick else None)
    known = np.isin(y_test, np.unique(y[rows]))
    for coupling in (None, "auto"):
        began = time.process_time()
        model = KernelLogisticClassifier(kernel, coupling=coupling, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[rows], y[rows])
        seconds = time.process_time() - began
        log_proba, places = model.predict_log_proba(X_test[known]), np.searchsorted(model.classes_, y_test[known])
        losses = -log_proba[np.arange(len(places)), places]
        verdict = next((own for own in model.verdicts_ if own.stage.startswith("coupling")), None)
        yield {
            "set": name,
            "rows per class": n_each,
            "draw": seed,
            "classes": len(model.classes_),
            "coupling": str(coupling),
            "factors": vars(model).get("loadings_", np.zeros((0, 0))).shape[1],
            "gain in the search": np.nan if verdict is None else verdict.gain,
            "noise": np.nan if verdict is None else verdict.noise,
            "log loss": float(losses.mean()),
            "error": float((log_proba.argmax(axis=1) != places).mean()),
            "CPU seconds": seconds,
        }


def run(report: Report, quick: bool) -> None:
    for name in ("letter",) if quick else ("letter", "cpc_D"):
        rows = []
        for n_each in ROWS_PER_CLASS[:1] if quick else ROWS_PER_CLASS:
            for seed in range(1 if quick else N_DRAWS):
                rows += measure(name, n_each, seed, quick)
                flat, coupled = rows[-2:]
                report.progress(
                    f"{name}, {n_each} rows per class, draw {seed}: {flat['log loss']:.4f}, coupled "
                    f"{coupled['log loss']:.4f} ({coupled['factors']} factors)"
                )
        report.table(name, rows)
        judge(report, name, rows)


def judge(report: Report, name: str, rows: list[Row]) -> None:
    for n_each in dict.fromkeys(row["rows per class"] for row in rows):
        own = [row for row in rows if row["rows per class"] == n_each]
        flat, coupled = ([row for row in own if row["coupling"] == kind] for kind in ("None", "auto"))
        before, after = (float(np.mean([row["log loss"] for row in kind])) for kind in (flat, coupled))
        declined = all(row["factors"] == 0 for row in coupled)
        claim = f"{name}, {n_each} rows per class: mean log loss with coupling"
        seen = f"{after:.4f}{', declined' * declined}"
        report.verdict(claim, f"< {before:.4f}, or declined", seen, declined or after < before)


if __name__ == "__main__":
    main("coupling", __doc__, run)
