"""Classes in a tree: log loss and decisions beside hiclass, logistic regression and support vectors, all tuned.

Sets and splits as in trees.py. Ours is H1 (a variance per level), or what --ours names. The peers, in tree_peers.py:
hiclass with a logistic regression for each parent node, C and calibration by a holdout; flat logistic regression, C
by a holdout; linear support vectors with sigmoid calibration, C by a holdout. On the dense imclef07a the first two
have Gaussian features and the last a Gaussian kernel. All decisions are made in the same way from the probabilities
of each. Probabilities are bounded at 1e-15; "true at 0" counts test rows whose class had none, "all at 0 %" is the
share of zeros in the table. hiclass appears twice: by its own predict_proba, which gives zeros in trees of three
levels and more, and with the probabilities of its local classifiers multiplied along paths. Seconds are those of
search, final fit and prediction, each contestant in a process of its own, which ends after the time limit. On
wordnet ours is fitted by wordnet.py, and hiclass, which takes half an hour there to find the rows of its nodes, has
the same local classifiers and its own calibrators without it.
hiclass is no dependency of the project: pip install hiclass. What ended is kept in the folder LOGIKERN_CHECKPOINTS,
if that is set, for a run that was stopped.
"""

import argparse
import json
import logging
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import wordnet
from hierarchies import METHODS
from measure import keep, keep_at
from report import Report, Row
from trees import (
    GAIN,
    GAIN_ERROR,
    SCORES,
    SETS,
    TreeSplit,
    add_set_options,
    fit_quietly,
    mean_of,
    score_clipped,
    score_on_tree,
    splits,
    summarise,
)
from tuned import conduct, options

PEERS = ("hiclass", "logistic regression", "support vectors")
QUICK_SETS = ("imclef07a", "wos", "cpc_D")
KEYS = (*SCORES, "true at 0", "all at 0 %", "seconds")
# What is compared, the same for the most probable class, and 1 where lower is better.
COMPARED = (("log loss", "log loss", 1.0), ("taxo", "taxo[0-1]", 1.0), ("pacc %", "pacc[0-1] %", -1.0))


def measure_ours(split: TreeSplit, method: str) -> list[Row]:
    # What a process does once, such as compiling, is no part of a search.
    fit_quietly(split.largest(4).head(80), criterion=None, **METHODS[method] | {"tying": "shared"})
    began = time.perf_counter()
    model, _ = fit_quietly(split, **METHODS[method])
    log_probability = model.predict_log_proba(split.X_test)
    seconds = time.perf_counter() - began
    scores = score_on_tree(log_probability, split.y_test, split.tree)
    kept = [verdict.stage for verdict in model.verdicts_ if verdict.kept]
    none = {"true at 0": 0, "all at 0 %": 0.0}
    return [{"model": f"ours, {method}", **scores, **none, "seconds": seconds, "found": " > ".join(kept)}]


def measure_on_wordnet(method: str, number: int, quick: bool) -> Row:
    """The same, with what it found, in the form of the others."""
    row = wordnet.measured(method, number, quick)
    seconds = row["search seconds"] + row["seconds"] + row["prediction seconds"]
    none = {"true at 0": 0, "all at 0 %": 0.0}
    scores = {key: row[key] for key in (*SCORES, GAIN, GAIN_ERROR)}
    return {"model": f"ours, {method}", **scores, **none, "seconds": seconds, "found": row["found"]}


def measure_peer(split: TreeSplit, peer: str) -> list[Row]:
    # Only here: hiclass is no dependency of the project.
    from tree_peers import CONTESTANTS, Task

    task = Task(split.X, split.places(split.y), split.X_test, split.tree)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = CONTESTANTS[peer](task)
    seconds = time.perf_counter() - began
    rows = []
    for way, result in known.items():
        scores = score_clipped(result.probabilities, split.y_test, split.tree)
        name = f"{peer}, {way}" if way else peer
        rows.append({"model": name, **scores, "seconds": seconds, "found": result.found})
    return rows


def measure_alone(name: str, number: int, contestant: str, quick: bool) -> None:
    """The child: one contestant on one split, what came out as JSON on the last line; progress on stderr."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    split = list(splits(name, number + 1, quick))[number]
    rows = measure_peer(split, contestant) if contestant in PEERS else measure_ours(split, contestant)
    print(json.dumps(rows), flush=True)


def run_alone(name: str, number: int, contestant: str, chosen: argparse.Namespace) -> list[Row] | str:
    """What the child measured, now or before, or why there is nothing; ours has all the time."""
    if name == "wordnet" and contestant not in PEERS:
        try:
            return [{"split": number, **measure_on_wordnet(contestant, number, chosen.quick)}]
        except subprocess.CalledProcessError as error:
            return f"failed with exit code {error.returncode}"
    quick = "_quick" if chosen.quick else ""
    kept = keep_at(f"{name}_{number}_{contestant.replace(' ', '_')}{quick}.json")
    if kept is not None and kept.exists():
        return [{"split": number, **row} for row in json.loads(kept.read_text(encoding="utf-8"))]
    command = [sys.executable, str(Path(__file__).resolve()), "--alone", name, str(number), contestant]
    command += ["--quick"] if chosen.quick else []
    limit = chosen.time_limit if contestant in PEERS else None
    try:
        finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return f"not finished in {limit:g} s"
    except subprocess.CalledProcessError as error:
        return f"failed with exit code {error.returncode}"
    last = finished.stdout.strip().splitlines()[-1]
    keep(kept, last)
    return [{"split": number, **row} for row in json.loads(last)]


def compare(report: Report, name: str, chosen: argparse.Namespace) -> None:
    """Every contestant on every split; one that did not end on a split is not tried on further ones."""
    measured: dict[str, list[Row]] = {}
    missing: dict[str, str] = {}
    title, number = name, 0
    for number, split in enumerate(splits(name, chosen.splits, chosen.quick)):
        title = split.describe()
        for contestant in (chosen.ours, *(chosen.peers or PEERS)):
            if contestant in missing:
                continue
            rows = run_alone(name, number, contestant, chosen)
            if isinstance(rows, str):
                missing[contestant] = f"{rows} (split {number})"
                report.progress(f"{name}, split {number}, {contestant}: {rows}")
                continue
            for row in rows:
                measured.setdefault(row["model"], []).append(row)
                progress = f"log loss {row['log loss']:.4f}, {row['seconds']:.1f} s, {row['found']}"
                report.progress(f"{name}, split {number}, {row['model']}: {progress}")
    tabulate(report, f"{title}, mean over {number + 1} split{'s' if number else ''}", measured, missing)
    report.table(f"{name}: each split", [row for own in measured.values() for row in own])
    judge(report, name, measured)
    report.say("")


def tabulate(report: Report, title: str, measured: dict[str, list[Row]], missing: dict[str, str]) -> None:
    """Means of those that ended, on the splits where they did, and who did not."""
    rows: list[Row] = []
    for model, own in measured.items():
        found = "; ".join(dict.fromkeys(row["found"] for row in own))
        rows.append({"model": model, "splits": len(own), **summarise(own, KEYS), "found": found})
    for contestant, reason in missing.items():
        rows.append({"model": contestant, "splits": "-", **dict.fromkeys(KEYS, "-"), "found": reason})
    report.table(title, rows)


def judge(report: Report, name: str, measured: dict[str, list[Row]]) -> None:
    """Ours against each peer where it ended, by the better of its decisions; the nearest peer is named."""
    ours = next((own for model, own in measured.items() if model.startswith("ours")), [])
    peers = {model: own for model, own in measured.items() if not model.startswith("ours")}
    if not ours or not peers:
        missing = "no peer" if ours else "ours"
        report.verdict(f"{name}: ours against peers", "both end", f"{missing} did not end", bool(ours))
        return
    for key, of_likely, sign in COMPARED:
        pairs: dict[str, tuple[float, float]] = {}
        for model, theirs in peers.items():
            known = {row["split"] for row in theirs}
            own = mean_of([row for row in ours if row["split"] in known], key)
            best = min(sign * mean_of(theirs, key), sign * mean_of(theirs, of_likely))
            pairs[model] = (own, sign * best)
        nearest = min(pairs, key=lambda model: sign * (pairs[model][1] - pairs[model][0]))
        seen, theirs_best = pairs[nearest]
        wanted = f"{'<=' if sign > 0 else '>='} {theirs_best:.4g} of {nearest}"
        report.verdict(f"{name}, {key}", wanted, f"{seen:.4g}", sign * seen <= sign * theirs_best)


def run(report: Report, chosen: argparse.Namespace) -> None:
    for name in chosen.only or (QUICK_SETS if chosen.quick else SETS):
        compare(report, name, chosen)


def main() -> None:
    parser = options(__doc__)
    add_set_options(parser)
    parser.add_argument("--ours", choices=METHODS, default="H1", help="which of ours (H1)")
    parser.add_argument("--peers", nargs="+", choices=PEERS, metavar="PEER", help=f"of {', '.join(PEERS)}")
    parser.add_argument("--time-limit", type=float, default=1800.0, metavar="S", help="of one on one split (1800)")
    parser.add_argument("--alone", nargs=3, help=argparse.SUPPRESS)
    chosen: Any = parser.parse_args()
    if chosen.alone:
        name, number, contestant = chosen.alone
        measure_alone(name, int(number), contestant, chosen.quick)
        return
    parts = ["hierarchy_peers", *(chosen.only or ()), *([chosen.ours] if chosen.ours != "H1" else [])]
    conduct("_".join(parts), chosen, run)


if __name__ == "__main__":
    main()
