"""All 1733 classes of wordnet: learned, fitted and scored in a process of its own, which can be stopped and go on.

Hyperparameters are learned in half an hour at most, which a run that goes on has again; the fit has a tolerance of
1e-3 and 40 rounds at most. Searches and measurements are kept in the folder LOGIKERN_CHECKPOINTS, if that is set.
"""

import argparse
import json
import logging
import time
from pathlib import Path
from typing import Any

import numpy as np

from hierarchies import METHODS
from logikern import KernelLogisticClassifier
from measure import in_subprocess, keep, keep_at, peak_memory
from report import Row
from trees import fit_quietly, score_on_tree, splits

SEARCH_SECONDS, TOLERANCE, ROUNDS = 1800.0, 1e-3, 40


def measured(method: str, number: int, quick: bool) -> Row:
    """What one method costs and how it scores on one split, from the folder if it is there."""
    kept = keep_at(f"{_name(method, number, quick)}.json")
    if kept is not None and kept.exists():
        row: Row = json.loads(kept.read_text(encoding="utf-8"))
        return row
    row = in_subprocess(__file__, method, str(number), *(["--quick"] if quick else []))
    keep(kept, json.dumps(row))
    return row


def describe_fit(model: KernelLogisticClassifier, seconds: float, n_known: int = 0) -> Row:
    """Cost of the final fit; seconds without those of the search, whose first answers may have been known before.

    What it takes to write a checkpoint counts, a second or two for each evaluation.
    """
    search = sum(record.seconds for record in model.trace_[n_known:]) if model.verdicts_ else 0.0
    steps = model.newton_trace_
    return {
        "seconds": seconds - search,
        "steps": steps[-1].step,
        "products": steps[-1].products,
        "ms per product": 1e3 * (seconds - search) / steps[-1].products,
        "gradient": steps[-1].gradient_norm,
        "outcome": model.outcome_.name,
    }


def _name(method: str, number: int, quick: bool) -> str:
    return f"wordnet_{number}_{method}{'_quick' if quick else ''}"


def _measure(method: str, number: int, quick: bool) -> Row:
    split = list(splits("wordnet", number + 1, quick))[number]
    before = peak_memory()
    kept = keep_at(f"{_name(method, number, quick)}.npz")
    n_known = _count_answers(kept)
    budget: dict[str, Any] = {"max_time": SEARCH_SECONDS, "tol": TOLERANCE, "max_iter": ROUNDS}
    model, seconds = fit_quietly(split, **budget, checkpoint=kept, verbose=1, **METHODS[method])
    fitted = peak_memory()
    began = time.perf_counter()
    log_probability = model.predict_log_proba(split.X_test)
    return {
        "method": method,
        "split": number,
        "set": split.describe(),
        "found": " > ".join(verdict.stage for verdict in model.verdicts_ if verdict.kept),
        "evaluations": len(model.trace_),
        "search rows": model.trace_[-1].n_points,
        "search seconds": sum(record.seconds for record in model.trace_),
        **describe_fit(model, seconds, n_known),
        "prediction seconds": time.perf_counter() - began,
        "variances": ", ".join(f"{variance:.3g}" for variance in model.model_.specification.variances[:15]),
        "GB before": before / 1e9,
        "GB in fit": fitted / 1e9,
        "GB in all": peak_memory() / 1e9,
        **score_on_tree(log_probability, split.y_test, split.tree),
    }


def _count_answers(checkpoint: Path | None) -> int:
    """Evaluations of a search that a checkpoint holds."""
    if checkpoint is None or not checkpoint.exists():
        return 0
    with np.load(checkpoint, allow_pickle=False) as stored:
        return sum(name.startswith("point_") for name in stored.files)


def main() -> None:
    """The child: print what was measured; how it goes on is written to stderr, for it takes long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("number", type=int, help="of the split")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    print(json.dumps(_measure(chosen.method, chosen.number, chosen.quick)), flush=True)


if __name__ == "__main__":
    main()
