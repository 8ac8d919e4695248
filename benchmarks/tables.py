"""Mixed tables: log loss, error, Brier score and seconds of ours beside boosting, kernels and linear models.

Every *.parquet of a folder is a set (column `target` is the label; by default the folder tables/ of the benchmark
data). For seeds 0, 1, 2: 70 % training rows, at most 3000, classes in proportion. Peers see missing numbers imputed
by the median, standardised, and categories one-hot; ours sees the frame. Every fit has one thread and a process of
its own, and its seconds include tuning. Peers need benchmarks/requirements.txt; those that are not installed are
left out.

python benchmarks/tables.py                            everything that is not stored yet
python benchmarks/tables.py --methods ours --label new this version of ours, under a name
python benchmarks/tables.py --summary --label new      results/tables.md from what is stored; --figure draws it
"""

import argparse
import importlib
from pathlib import Path

from report import RESULTS
from table_data import set_names, tables_folder
from table_peers import METHODS, NATIVE, OURS, PACKAGES, is_installed
from table_runs import Record, Run, append, execute, load_records, replace
from table_summary import summarise

QUICK_METHODS = (OURS, "HistGradientBoosting", "LogisticRegressionCV")
QUICK_SETS = 2


def plan(chosen: argparse.Namespace, names: list[str]) -> list[Run]:
    """All runs that were asked for: seed by seed, set by set."""
    methods = [method for method in chosen.methods if is_installed(method)]
    for method in sorted(set(chosen.methods) - set(methods)):
        print(f"left out: {method} ({PACKAGES[method]} is not installed)", flush=True)
    return [
        Run(name, seed, method, inputs_of(method, chosen), chosen.label if method == OURS else "")
        for seed in chosen.seeds
        for name in names
        for method in methods
    ]


def inputs_of(method: str, chosen: argparse.Namespace) -> str:
    raw = not chosen.prepared if method == OURS else chosen.native and method in NATIVE
    return "raw" if raw else "prepared"


def conduct(runs: list[Run], chosen: argparse.Namespace) -> None:
    """Run what is not stored, and store it."""
    known = {} if chosen.again or chosen.quick else load_records(chosen.store)
    for package in {PACKAGES[run.method] for run in runs if run.method in PACKAGES}:
        # Imported before the processes fork, so that each of them has it at once.
        importlib.import_module(package)
    for run in runs:
        if run in known:
            continue
        record = execute(run, chosen.folder, chosen.limit)
        print(f"{run}: {describe(record)}", flush=True)
        if chosen.again and not chosen.quick:
            replace(chosen.store, run, record)
        elif not chosen.quick:
            append(chosen.store, record)


def describe(record: Record) -> str:
    if "failure" in record:
        return f"failed: {record['failure']}"
    return f"log loss {record['log_loss']:.4f}, error {record['error']:.4f}, {record['cpu_seconds']:.1f} s"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=tables_folder(), help="of the *.parquet files")
    parser.add_argument("--store", type=Path, help="JSON lines; default: results/tables.jsonl")
    parser.add_argument("--only", nargs="+", metavar="SET", help="these sets")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="SEED")
    parser.add_argument("--label", default=OURS, help="name of this version of ours")
    parser.add_argument("--prepared", action="store_true", help="ours gets the matrix of the peers")
    parser.add_argument("--native", action="store_true", help="boosting gets the frame instead of the matrix")
    parser.add_argument("--again", action="store_true", help="run also what is stored, and replace it")
    parser.add_argument("--limit", type=float, default=600, help="CPU seconds of one fit")
    parser.add_argument("--quick", action="store_true", help="a small version; writes no results")
    parser.add_argument("--summary", action="store_true", help="run nothing; write the tables from what is stored")
    parser.add_argument("--figure", action="store_true", help="run nothing; draw ratios by set")
    chosen = parser.parse_args()
    if chosen.store is None:
        own = chosen.folder.resolve() == tables_folder()
        chosen.store = RESULTS / ("tables.jsonl" if own else f"tables_{chosen.folder.resolve().name}.jsonl")
    return chosen


def main() -> None:
    chosen = options()
    if chosen.summary:
        summarise(chosen)
    if chosen.figure:
        # Loads matplotlib, which nothing else here needs.
        from table_figure import draw

        draw(chosen)
    if chosen.summary or chosen.figure:
        return
    names = [name for name in set_names(chosen.folder) if not chosen.only or name in chosen.only]
    if chosen.quick:
        names, chosen.seeds, chosen.methods = names[:QUICK_SETS], [0], list(QUICK_METHODS)
        chosen.prepared = True
    conduct(plan(chosen, names), chosen)


if __name__ == "__main__":
    main()
