"""Learned trees of wos and imclef07a, whose labels are stripped of their paths, beside no tree and the true tree.

A number of training rows is drawn at random from the given split, in three draws, and at most 2000 test rows. Texts
have a linear kernel, images a Gaussian kernel. Each draw is fitted with independent classes (hierarchy=None), with a
learned tree (hierarchy="learn"), which does not see the paths, and with the true tree.
Wanted: a mean log loss of the learned tree between those of no tree and of the true tree, or below both.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from logikern import KernelLogisticClassifier
from logikern.structure.tree import Tree
from report import Report, Row
from trees import TreeSplit, grow, splits
from tuned import conduct, options

SETS = ("wos", "imclef07a")
N_ROWS = (1000, 2000)
N_DRAWS = 3
MOST_TEST_ROWS = 2000
KINDS = ("none", "learned", "true")


def draw(split: TreeSplit, n_rows: int, seed: int) -> TreeSplit:
    """Some training rows, and at most `MOST_TEST_ROWS` test rows; classes with a single training row are left out."""
    random = np.random.default_rng(seed)
    train = np.sort(random.permutation(len(split.y))[:n_rows])
    names, counts = np.unique(split.y[train], return_counts=True)
    train = train[np.isin(split.y[train], names[counts > 1])]
    test = np.sort(random.permutation(len(split.y_test))[:MOST_TEST_ROWS])
    own = (split.X[train], split.y[train]), (split.X_test[test], split.y_test[test])
    return grow(split.name, split.kernel, *own)


def top_groups(tree: Tree, classes: list[Any]) -> list[int]:
    """The node below the root of each class."""
    return [tree.path(tree.place[name])[0] for name in classes]


def measure(split: TreeSplit, kind: str) -> Row:
    """A fit with labels that are numbers, and thus without paths, unless the true tree is given."""
    classes = split.tree.classes
    y = split.y if kind == "true" else split.places(split.y)
    hierarchy = {"none": None, "learned": "learn", "true": split.tree}[kind]
    began = time.process_time()
    model = KernelLogisticClassifier(split.kernel, hierarchy=hierarchy, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.X, y)
    seconds = time.process_time() - began
    log_proba, places = model.predict_log_proba(split.X_test), split.places(split.y_test)
    tree, verdict = vars(model).get("tree_"), model.verdicts_[-1]
    is_learned = kind == "learned"
    agreement = np.nan
    if is_learned and tree is not None:
        true = top_groups(split.tree, classes.tolist())
        agreement = adjusted_rand_score(true, top_groups(tree, list(range(len(classes)))))
    return {
        "set": split.name,
        "rows": len(split.y),
        "classes": len(classes),
        "tree": kind,
        "nodes": 0 if tree is None else len(tree.labels),
        "gain": verdict.gain if is_learned else np.nan,
        "noise": verdict.noise if is_learned else np.nan,
        "kept": str(verdict.kept) if is_learned else "",
        "agreement of top groups": agreement,
        "log loss": float(-log_proba[np.arange(len(places)), places].mean()),
        "error": float((log_proba.argmax(axis=1) != places).mean()),
        "CPU seconds": seconds,
    }


def run(report: Report, chosen: argparse.Namespace) -> None:
    for name in chosen.only or SETS:
        whole = next(iter(splits(name, 1, chosen.quick)))
        rows: list[Row] = []
        for n_rows in chosen.rows or N_ROWS[: 1 if chosen.quick else None]:
            for seed in range(1 if chosen.quick else N_DRAWS):
                own = draw(whole, n_rows, seed)
                rows += [measure(own, kind) | {"draw": seed, "drawn": n_rows} for kind in KINDS]
                losses = ", ".join(f"{row['tree']} {row['log loss']:.4f}" for row in rows[-3:])
                report.progress(f"{name}, {n_rows} rows, draw {seed}: {losses} ({rows[-2]['CPU seconds']:.0f} s)")
        report.table(name, rows)
        judge(report, name, rows)


def judge(report: Report, name: str, rows: list[Row]) -> None:
    for n_rows in dict.fromkeys(row["drawn"] for row in rows):
        own = [row for row in rows if row["drawn"] == n_rows]
        means = {kind: float(np.mean([row["log loss"] for row in own if row["tree"] == kind])) for kind in KINDS}
        wanted = f"<= {means['none']:.4f} without (true tree {means['true']:.4f})"
        claim = f"{name}, {n_rows} rows: mean log loss of the learned tree"
        report.verdict(claim, wanted, f"{means['learned']:.4f}", means["learned"] <= means["none"])


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", action="append", choices=SETS, help="this set; results get its name")
    parser.add_argument("--rows", action="append", type=int, help="training rows instead of 1000 and 2000")
    chosen = parser.parse_args()
    conduct("_".join(["learned_trees", *(chosen.only or ())]), chosen, run)


if __name__ == "__main__":
    main()
