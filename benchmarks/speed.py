"""Seconds of default fits, beside their log loss, in alternation with another checkout of logikern.

    python benchmarks/speed.py --before PATH              31 tables, seeds 0 to 2
    python benchmarks/speed.py --before PATH --only sets  satimage, segment, usps, letter at their own splits

Every fit runs in a process of its own with two threads, once by each checkout, one after the other. Seconds are
wall-clock time after a small fit that is not counted. "search" is the sum over evaluations; "rest" is reading,
judging and the final fit. Products are kernel products per evaluation of the search.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from data import load
from report import Report, Row
from table_data import read, set_names, tables_folder

HERE = Path(__file__).resolve().parent.parent
SEEDS = (0, 1, 2)
SETS = ("satimage", "segment", "usps", "letter")
WANTED = {"tables": 0.25, "sets": 0.5}
ALLOWED_LOSS = 1.01


def work(kind: str, name: str, seed: int) -> None:
    """One fit in this process; prints its row."""
    import time
    import warnings

    from threadpoolctl import threadpool_limits

    from logikern import KernelLogisticClassifier

    warnings.simplefilter("ignore")
    split = read(tables_folder(), name, seed) if kind == "tables" else load(name)
    few = np.random.default_rng(0).permutation(len(split.y))[:150]
    with threadpool_limits(2):
        rows = split.X.iloc[few] if hasattr(split.X, "iloc") else split.X[few]
        KernelLogisticClassifier(random_state=0).fit(rows, split.y[few])
        began = time.perf_counter()
        model = KernelLogisticClassifier(random_state=seed).fit(split.X, split.y)
        seconds = time.perf_counter() - began
    own = model.predict_proba(split.X_test)[
        np.arange(len(split.y_test)), np.searchsorted(model.classes_, split.y_test)
    ]
    searched = sum(record.seconds for record in model.trace_)
    row = {
        "seconds": seconds,
        "search": searched,
        "rest": seconds - searched,
        "evaluations": len(model.trace_),
        "products": float(np.median([record.n_products for record in model.trace_])),
        "log loss": float(-np.mean(np.log(np.maximum(own, 1e-15)))),
    }
    print(json.dumps(row))


def run_in(checkout: Path, kind: str, name: str, seed: int) -> Row:
    """One fit in a process of its own, with the sources of a checkout and the scripts of this one."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "2"}
    command = [sys.executable, str(Path(__file__).resolve()), "--work", kind, name, str(seed)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def measure(report: Report, before: Path, kind: str, names: list[str], seeds: tuple[int, ...]) -> None:
    rows = []
    for seed in seeds:
        for name in names:
            then, now = run_in(before, kind, name, seed), run_in(HERE, kind, name, seed)
            row: Row = {"set": name, "seed": seed, "ratio": now["seconds"] / then["seconds"]}
            for key in then:
                row[f"{key}, before"], row[key] = then[key], now[key]
            rows.append(row)
            report.progress(f"{name}, seed {seed}: {then['seconds']:.2f} -> {now['seconds']:.2f} s")
    report.table(f"Every fit: {kind}", rows)
    then, now = (sum(row[key] for row in rows) for key in ("seconds, before", "seconds"))
    report.verdict(
        "total seconds, now : before",
        f"<= {WANTED[kind]}",
        f"{now:.1f} : {then:.1f} = {now / then:.3f}",
        now <= WANTED[kind] * then,
    )
    loss = compare_losses(rows)
    report.verdict(
        "geometric mean of log losses, now : before", f"<= {ALLOWED_LOSS}", f"{loss:.4f}", loss <= ALLOWED_LOSS
    )
    products = float(np.median([row["products"] for row in rows]))
    report.verdict("median of products per evaluation", "<= 35", f"{products:g}", products <= 35)


def compare_losses(rows: list[Row]) -> float:
    """Geometric mean over sets of the ratio of mean log losses over seeds."""
    ratios = []
    for name in sorted({row["set"] for row in rows}):
        own = [row for row in rows if row["set"] == name]
        ratios.append(np.mean([row["log loss"] for row in own]) / np.mean([row["log loss, before"] for row in own]))
    return float(np.exp(np.mean(np.log(ratios))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--only", choices=("tables", "sets"), default="tables")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help="splits of the tables")
    parser.add_argument("--quick", action="store_true", help="three small tables; writes no results")
    parser.add_argument("--work", nargs=3, metavar=("KIND", "NAME", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, name, seed = options.work
        return work(kind, name, int(seed))
    before = (options.before or HERE).resolve()
    names = set_names(tables_folder()) if options.only == "tables" else list(SETS)
    report = Report(f"speed_{options.only}")
    if options.quick:
        return measure(report, before, "tables", ["iris", "glass", "tae"], (0,))
    measure(report, before, options.only, names, tuple(options.seeds) if options.only == "tables" else (0,))
    report.write()


if __name__ == "__main__":
    main()
