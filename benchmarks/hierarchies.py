"""Flat or with the tree of the classes: probabilities and decisions beside Table 1 of Seeger (2008).

Sets and their splits as in trees.py. F1 is flat with one variance (tying="shared"), F2 flat with a variance for the
classes of each subtree below the root, H1 has the hierarchy with a variance per level, H2 with one for the inner
nodes and one for the leaves of each subtree below the root (in the paper they are one), and auto has the hierarchy
and tying="auto". Every method learns its hyperparameters; nothing else differs. Scores are those of the paper and the
log loss: acc, prec (mean reciprocal rank), taxo (half the length of the path from decision to truth) and pacc (the
right parent) of the decisions that expect the least of each, taxo[0-1] and pacc[0-1] of the most probable class.
Seconds are those of `fit`, search and final fit. The paper's own figures for its sections D and E are of other texts
of the same kind: claims of patents there, titles of the classification here.
"""

import argparse
from typing import Any

from printed import PATENT_SCORES, PATENTS
from report import Report, Row
from trees import (
    GAIN_ERROR,
    SCORES,
    SETS,
    TreeSplit,
    add_set_options,
    fit_quietly,
    mean_of,
    score_on_tree,
    splits,
    summarise,
)
from tuned import conduct, options

METHODS: dict[str, dict[str, Any]] = {
    "F1": {"tying": "shared"},
    "H1": {"hierarchy": "paths", "tying": "level"},
    "H2": {"hierarchy": "paths", "tying": "subtree"},
    "auto": {"hierarchy": "paths", "tying": "auto"},
}
FLAT_BY_SUBTREE = "F2"
QUICK_SETS = ("imclef07a", "wos", "cpc_D")
# Half of the last digit that the paper prints.
TAXO_TOLERANCE = 0.005
LOWER_IS_BETTER = ("log loss", "taxo")


def settings_of(split: TreeSplit, method: str) -> dict[str, Any]:
    """Settings of a method; F2 has a group of classes for each subtree below the root."""
    if method != FLAT_BY_SUBTREE:
        return METHODS[method]
    paths = [str(label).split("/") for label in split.tree.classes]
    depth = 1 if len({path[0] for path in paths}) > 1 else 2
    return {"tying": ["/".join(path[:depth]) for path in paths]}


def measure_method(split: TreeSplit, method: str) -> Row:
    """Learn, fit, score."""
    model, seconds = fit_quietly(split, **settings_of(split, method))
    kept = [verdict.stage for verdict in model.verdicts_ if verdict.kept]
    return {
        **score_on_tree(model.predict_log_proba(split.X_test), split.y_test, split.tree),
        "seconds": seconds,
        "evaluations": len(model.trace_),
        "products": model.newton_trace_[-1].products,
        "outcome": model.outcome_.name,
        "found": " > ".join(kept),
        "variances": ", ".join(f"{variance:.3g}" for variance in model.model_.specification.variances[:8]),
    }


def compare(report: Report, name: str, chosen: argparse.Namespace) -> None:
    """Every method on every split, method after method within a split, so that they share the machine."""
    methods = chosen.methods or list(METHODS)
    rows: dict[str, list[Row]] = {method: [] for method in methods}
    title = name
    for number, split in enumerate(splits(name, chosen.splits, chosen.quick)):
        title = split.describe()
        for method in methods:
            rows[method].append(measure_method(split, method))
            row = rows[method][-1]
            report.progress(f"{name}, split {number}, {method}: {row['log loss']:.4f}, {row['seconds']:.1f} s")
    counted = len(rows[methods[0]])
    keys = (*SCORES, "seconds", "evaluations")
    means = [{"method": method} | summarise(own, keys) for method, own in rows.items()]
    report.table(f"{title}, mean over {counted} split{'s' if counted > 1 else ''}", means)
    each = [{"method": method, "split": k} | row for method, own in rows.items() for k, row in enumerate(own)]
    report.table(f"{name}: each split", each)
    if name.startswith("cpc_"):
        paper = PATENTS[name[-1]].items()
        printed = [{"method": own} | dict(zip(PATENT_SCORES, values, strict=True)) for own, values in paper]
        report.table(f"{name}: section {name[-1]} of Seeger (2008), Table 1, other texts of the same kind", printed)
    judge_tree(report, name, rows)
    judge_decisions(report, name, rows)
    report.say("")


def judge_tree(report: Report, name: str, rows: dict[str, list[Row]]) -> None:
    """Whether the tree helps."""
    if not {"F1", "H1"} <= rows.keys():
        return
    for key in ("log loss", "taxo", "pacc %"):
        flat, tree = mean_of(rows["F1"], key), mean_of(rows["H1"], key)
        lower = key in LOWER_IS_BETTER
        wanted = f"{'<' if lower else '>'} {flat:.4g} of F1"
        report.verdict(f"{name}, H1, {key}", wanted, f"{tree:.4g}", tree < flat if lower else tree > flat)


def judge_decisions(report: Report, name: str, rows: dict[str, list[Row]]) -> None:
    """Whether decisions by a loss are the better ones by that loss."""
    for method, own in rows.items():
        taxo, of_likely = mean_of(own, "taxo"), mean_of(own, "taxo[0-1]")
        wanted = f"<= {of_likely:.4g} of the most probable class + {TAXO_TOLERANCE}"
        error = mean_of(own, GAIN_ERROR) / len(own) ** 0.5
        seen = f"{taxo:.4g} (a difference of {taxo - of_likely:+.4f} +- {error:.4f})"
        report.verdict(f"{name}, {method}, taxo", wanted, seen, taxo <= of_likely + TAXO_TOLERANCE)
        pacc, of_likely = mean_of(own, "pacc %"), mean_of(own, "pacc[0-1] %")
        wanted = f">= {of_likely:.4g} of the most probable class"
        report.verdict(f"{name}, {method}, pacc %", wanted, f"{pacc:.4g}", pacc >= of_likely)


def run(report: Report, chosen: argparse.Namespace) -> None:
    for name in chosen.only or (QUICK_SETS if chosen.quick else SETS):
        compare(report, name, chosen)


def main() -> None:
    parser = options(__doc__)
    add_set_options(parser)
    methods = (*METHODS, FLAT_BY_SUBTREE)
    parser.add_argument("--methods", nargs="+", choices=methods, metavar="METHOD", help=f"of {', '.join(methods)}")
    chosen = parser.parse_args()
    conduct("_".join(["hierarchies", *(chosen.only or ()), *(chosen.methods or ())]), chosen, run)


if __name__ == "__main__":
    main()
