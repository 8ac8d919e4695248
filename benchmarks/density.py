"""Hyperparameters learned on neighbourhoods, at the density of all rows, against those of a random subset.

The defaults finish a search on neighbourhoods from 4,000 rows on. `search_size=2000` finishes it on 2,000 random rows
and extrapolates rates to the number of all rows. Everything else is the same.
"""

import time

import numpy as np

from data import Split, covtype, load
from logikern import KernelLogisticClassifier
from report import Report, main

SETS = ("satimage", "usps", "letter", "covtype")


def load_set(name: str) -> Split:
    return covtype(20_000, 20_000) if name == "covtype" else load(name)


def measure(split: Split, search_size: int | str) -> dict:
    began = time.perf_counter()
    model = KernelLogisticClassifier(search_size=search_size, random_state=0).fit(split.X, split.y)
    seconds = time.perf_counter() - began
    probabilities = model.predict_proba(split.X_test)
    own = np.maximum(probabilities[np.arange(len(split.y_test)), split.y_test], 1e-15)
    return {
        "set": split.name,
        "rows": len(split.y),
        "learned on": "neighbourhoods" if search_size == "auto" else f"{search_size} random rows",
        "log loss": float(-np.log(own).mean()),
        "error": float((probabilities.argmax(axis=1) != split.y_test).mean()),
        "fit seconds": seconds,
        "search seconds": float(sum(record.seconds for record in model.trace_)),
    }


def run(report: Report, quick: bool) -> None:
    rows = []
    for name in SETS[:1] if quick else SETS:
        split = load_set(name)
        pair = [measure(split, size) for size in ("auto", 2000)]
        rows += pair
        report.progress(f"{name}: {pair[0]['log loss']:.4f} and {pair[1]['log loss']:.4f}")
        seen = f"{pair[0]['log loss']:.4f}"
        report.verdict(
            f"{name}: log loss", f"<= {pair[1]['log loss']:.4f}", seen, pair[0]["log loss"] <= pair[1]["log loss"]
        )
    report.table("Neighbourhoods and random subsets", rows)


if __name__ == "__main__":
    main("density", __doc__, run)
