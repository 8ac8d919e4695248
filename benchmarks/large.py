"""Large data: log loss, seconds and memory against what people would take instead, on covtype.

Rows are drawn at random; 50,000 others are the test rows. Every method runs alone in a process of its own on all
cores, and its seconds include tuning. Exponents are slopes of log cost over log rows. Results are kept row by row in
results/large.jsonl, so a run may be continued.

python benchmarks/large.py --rows 20000 60000 100000
python benchmarks/large.py --rows 500000 --only logikern lightgbm
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from data import covtype, require_folder
from report import RESULTS, Report

TEST_ROWS = 50_000
STORE = RESULTS / "large.jsonl"


def logikern(X: np.ndarray, y: np.ndarray) -> Any:
    from logikern import KernelLogisticClassifier

    return KernelLogisticClassifier(random_state=0).fit(X, y)


def lightgbm(X: np.ndarray, y: np.ndarray) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, random_state=0).fit(X, y)


def lightgbm_stopped(X: np.ndarray, y: np.ndarray) -> Any:
    from lightgbm import LGBMClassifier, early_stopping
    from sklearn.model_selection import train_test_split

    inside, outside, own, held_out = train_test_split(X, y, test_size=0.1, random_state=0, stratify=y)
    model = LGBMClassifier(num_leaves=127, n_estimators=3000, verbose=-1, random_state=0)
    return model.fit(inside, own, eval_set=[(outside, held_out)], callbacks=[early_stopping(30, verbose=False)])


def hist_gradient_boosting(X: np.ndarray, y: np.ndarray) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0).fit(X, y)


def nystroem(X: np.ndarray, y: np.ndarray) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features = Nystroem(n_components=1000, gamma=1.0 / X.shape[1], random_state=0)
    return make_pipeline(StandardScaler(), features, LogisticRegression(C=100.0, max_iter=300)).fit(X, y)


def extra_trees(X: np.ndarray, y: np.ndarray) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(500, min_samples_leaf=2, n_jobs=-1, random_state=0).fit(X, y)


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "logikern": logikern,
    "lightgbm": lightgbm,
    "lightgbm_stopped": lightgbm_stopped,
    "hist_gradient_boosting": hist_gradient_boosting,
    "nystroem": nystroem,
    "extra_trees": extra_trees,
}


def measure(method: str, n_rows: int, seed: int) -> dict[str, Any]:
    """One fit in this process."""
    split = covtype(n_rows, TEST_ROWS, seed)
    X, y, X_test, y_test = split.X, split.y, split.X_test, split.y_test
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    model = METHODS[method](X, y)
    fitted = time.perf_counter()
    probabilities = model.predict_proba(X_test)
    predicted = time.perf_counter()
    places = np.searchsorted(model.classes_, y_test)
    own = np.maximum(probabilities[np.arange(len(y_test)), places], 1e-15)
    losses = -np.log(own)
    return {
        "rows": n_rows,
        "method": method,
        "seed": seed,
        "log loss": float(losses.mean()),
        "+-": float(losses.std() / np.sqrt(len(losses))),
        "error": float((probabilities.argmax(axis=1) != places).mean()),
        "fit seconds": fitted - began,
        "test rows per second": len(y_test) / (predicted - fitted),
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "GB beside data": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6,
    }


def stored() -> list[dict[str, Any]]:
    """Results of earlier runs."""
    return [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []


def run(options: argparse.Namespace) -> None:
    report = Report("large")
    for n_rows in options.rows:
        for method in options.only:
            known = {(row["rows"], row["method"], row["seed"]) for row in stored()}
            if (n_rows, method, options.seed) in known and not options.again:
                continue
            command = [sys.executable, __file__, "--one", method, "--rows", str(n_rows), "--seed", str(options.seed)]
            finished = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
            if finished.returncode:
                print(finished.stderr, file=sys.stderr)
                continue
            row = json.loads(finished.stdout.splitlines()[-1])
            print(row, flush=True)
            others = [
                old for old in stored() if (old["rows"], old["method"], old["seed"]) != (n_rows, method, options.seed)
            ]
            STORE.write_text("".join(json.dumps(one) + "\n" for one in [*others, row]))
    tell(report)


def exponent(rows: list[dict[str, Any]], cost: str) -> float:
    sizes, costs = [row["rows"] for row in rows], [row[cost] for row in rows]
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def tell(report: Report) -> None:
    """The tables, and what was promised."""
    rows = sorted(stored(), key=lambda row: (row["rows"], row["log loss"]))
    report.table("covtype", rows)
    ours = [row for row in rows if row["method"] == "logikern"]
    wanted = {20_000: (0.29, 60), 60_000: (0.21, None), 100_000: (0.185, 240), 500_000: (None, 1800)}
    for row in ours:
        loss, seconds = wanted.get(row["rows"], (None, None))
        if loss is not None:
            best = min(
                (one["log loss"] for one in rows if one["rows"] == row["rows"] and one is not row), default=np.inf
            )
            seen = f"{row['log loss']:.4f}, best of the others {best:.4f}"
            met = row["log loss"] <= min(loss, best)
            report.verdict(f"log loss, {row['rows']} rows", f"<= {loss}, below all others", seen, met)
        if seconds is not None:
            claim = f"seconds, {row['rows']} rows"
            report.verdict(claim, f"<= {seconds}", f"{row['fit seconds']:.0f}", row["fit seconds"] <= seconds)
    if len(ours) > 1:
        for cost in ("fit seconds", "GB beside data"):
            slope = exponent(ours, cost)
            report.verdict(f"exponent of {cost}", "<= 1.1", f"{slope:.2f}", slope <= 1.1)
    report.write()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 60_000, 100_000])
    parser.add_argument("--only", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--one", choices=METHODS, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="repeat what is stored")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for one fit")
    parser.add_argument("--tell", action="store_true", help="only write the tables again")
    options = parser.parse_args()
    require_folder()
    if options.one:
        print(json.dumps(measure(options.one, options.rows[0], options.seed)))
    elif options.tell:
        tell(Report("large"))
    else:
        run(options)


if __name__ == "__main__":
    main()
