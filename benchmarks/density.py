"""Hyperparameters learned on neighbourhoods, at the density of all rows, against those of a random subset.

The defaults finish a search on neighbourhoods from 4,000 rows on. `search_size=2000` finishes it on 2,000 random rows
and extrapolates rates to the number of all rows. Everything else is the same. The test rows of usps are harder
than its training rows; random splits of all rows show the method without this difference. Differences of losses are
paired by test row.
"""

import time
from collections.abc import Iterator

import numpy as np

from data import Split, covtype, load
from logikern import KernelLogisticClassifier
from report import Report, main

SETS = ("satimage", "usps", "letter", "covtype")
REDRAWN = {"usps": (1, 2, 3)}  # seeds of random splits


def splits(quick: bool) -> Iterator[tuple[str, Split]]:
    """The sets, and random splits of some, with their names."""
    for name in SETS[:1] if quick else SETS:
        split = covtype(20_000, 20_000) if name == "covtype" else load(name)
        yield name, split
        for seed in REDRAWN.get(name, ()):
            yield f"{name}, random split {seed}", split.redrawn(seed)


def measure(name: str, split: Split, search_size: int | str) -> tuple[dict, np.ndarray]:
    """A row of the table, and the losses of the test rows."""
    began = time.perf_counter()
    model = KernelLogisticClassifier(search_size=search_size, random_state=0).fit(split.X, split.y)
    seconds = time.perf_counter() - began
    probabilities = model.predict_proba(split.X_test)
    own = np.maximum(probabilities[np.arange(len(split.y_test)), split.y_test], 1e-15)
    losses = -np.log(own)
    row = {
        "set": name,
        "rows": len(split.y),
        "learned on": "neighbourhoods" if search_size == "auto" else f"{search_size} random rows",
        "log loss": float(losses.mean()),
        "error": float((probabilities.argmax(axis=1) != split.y_test).mean()),
        "fit seconds": seconds,
        "search seconds": float(sum(record.seconds for record in model.trace_)),
    }
    return row, losses


def run(report: Report, quick: bool) -> None:
    rows = []
    for name, split in splits(quick):
        (dense, losses), (thin, others) = (measure(name, split, size) for size in ("auto", 2000))
        rows += [dense, thin]
        difference = losses - others
        error = float(difference.std() / len(difference) ** 0.5)
        seen = f"{dense['log loss']:.4f} (difference {difference.mean():.4f} +- {error:.4f})"
        report.progress(f"{name}: {seen}")
        report.verdict(f"{name}: log loss", f"<= {thin['log loss']:.4f}", seen, dense["log loss"] <= thin["log loss"])
    report.table("Neighbourhoods and random subsets", rows)


if __name__ == "__main__":
    main("density", __doc__, run)
