"""What a hierarchy costs: against a flat fit, with the number of nodes, beside the paper's seconds, in memory.

flat: one fit with the hierarchy against one without on cpc_D, wos and imclef07a, hyperparameters fixed, variances
that sum to the same along every path on average, and the same tolerance; the fastest of some equal fits.
rows: one fit begun point by point, as it is, and by Newton's method alone, on texts; the same tolerance.
nodes: the time of one product for trees with 250 to 2000 latent functions, on the same sparse inputs.
wipo: the label trees of Seeger (2008), by default that of section B with 9794 cases of 1172 classes, with words drawn
at random (patents.py), beside the seconds of its Table 2 for the final fit. --sections chooses others, --learn learns
the variances first, as the paper does, and gives the seconds of one fold of an evaluation beside those of the paper.
wordnet: all 1733 classes, with the hierarchy and without, by wordnet.py; the largest resident set is measured.
memory: the largest sum of arrays during a fit to a part of cpc_D, in units of n P doubles, P the number of nodes:
point by point, by Newton's method alone, and with a third of the labels replaced by their parents.
"""

import argparse
import time
import tracemalloc
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

import wordnet
from hierarchies import METHODS, judge_decisions, judge_tree
from logikern.fitting.pointwise import schedule
from logikern.kernels import Linear
from logikern.operators.choose import choose
from logikern.structure.mixing import Flat, Mixing
from logikern.structure.specification import Specification
from logikern.structure.tree import ROOT, Tree
from logikern.structure.tying import tie
from measure import BIAS_VARIANCE
from patents import draw_split
from printed import PATENT_SECONDS
from report import Report, Row
from trees import QUICK_CLASSES, QUICK_ROWS, TreeSplit, fit_quietly, score_on_tree, splits
from tuned import conduct, options
from wordnet import describe_fit

PARTS = ("flat", "rows", "nodes", "wipo", "memory", "wordnet")
FLAT_SETS = ("cpc_D", "wos", "imclef07a")
# With the rows of each that are used; None for all.
ROW_SETS = {"cpc_D": None, "cpc_E": None, "wordnet": 5000}
# Of a class function, prior: the default and what texts are learned to have.
TOTAL_VARIANCES = (30.0, 300.0)
REPEATS = 2
WANTED_RATIO = 1.5
LATENT_COUNTS = (250, 500, 1000, 2000)
N_TOP, LEAVES_PER_NODE = 8, 8
WANTED_EXPONENT = 1.1
N_FOLDS = 5
TREES = {method: METHODS[method] for method in ("F1", "H1")}
WANTED_BYTES = 12e9
# From 2000 rows on products are single.
MEMORY_ROWS, EVERY_COARSE = 2200, 3


def fastest(split: TreeSplit, repeats: int, **settings: Any) -> Row:
    rows = [describe_fit(*fit_quietly(split, criterion=None, **settings)) for _ in range(repeats)]
    return min(rows, key=lambda row: row["seconds"])


def against_flat(report: Report, chosen: argparse.Namespace) -> None:
    rows: list[Row] = []
    for name in FLAT_SETS:
        split = next(iter(splits(name, 1, chosen.quick)))
        # How many latent functions a class function is the sum of, on average.
        length = float(split.tree.latent_depths[split.tree.leaf_latents].mean())
        fit_quietly(split.largest(4).head(80), criterion=None)
        for total in TOTAL_VARIANCES:
            flat = fastest(split, REPEATS, variance=total, tying="shared")
            tree = fastest(split, REPEATS, variance=total / length, tying="level", hierarchy="paths")
            ratios = {f"{key} ratio": tree[key] / flat[key] for key in ("seconds", "products", "ms per product")}
            setting = {"set": name, "variance": total}
            rows.append({**setting, "fit": "flat", **flat, **dict.fromkeys(ratios, 1.0)})
            rows.append({**setting, "fit": "tree", **tree, **ratios})
            times = f"{flat['seconds']:.2f} s flat, {tree['seconds']:.2f} s tree"
            report.progress(f"{name}, variance {total:g}: {times}")
    report.table("One fit with the hierarchy and without", rows)
    for row in rows[1::2]:
        seen = row["seconds ratio"]
        claim = f"{row['set']}, variance {row['variance']:g}: seconds with the hierarchy over those without"
        detail = f"{seen:.2f} (products {row['products ratio']:.2f}, each {row['ms per product ratio']:.2f})"
        report.verdict(claim, f"<= {WANTED_RATIO:g}", detail, seen <= WANTED_RATIO)
    report.say("")


def by_rows(report: Report, chosen: argparse.Namespace) -> None:
    """Both end at the same tolerance; the smaller of two equal fits' seconds."""
    rows: list[Row] = []
    for name, n_rows in ROW_SETS.items():
        split = next(iter(splits(name, 1, chosen.quick)))
        split = split if n_rows is None else split.head(n_rows)
        length = float(split.tree.latent_depths[split.tree.leaf_latents].mean())
        for total in TOTAL_VARIANCES:
            settings = {"variance": total / length, "tying": "level", "hierarchy": "paths", "solver": "newton"}
            first = fastest(split, REPEATS, **settings)
            with mock.patch.dict(vars(schedule.POLICY), worthwhile_from=np.inf):
                alone = fastest(split, 1, **settings)
            setting = {"set": split.describe(), "variance": total}
            rows.append({**setting, "fit": "point by point", **first, "ratio": first["seconds"] / alone["seconds"]})
            rows.append({**setting, "fit": "Newton alone", **alone, "ratio": 1.0})
            times = f"{first['seconds']:.1f} s point by point, {alone['seconds']:.1f} s by Newton's method alone"
            report.progress(f"{name}, variance {total:g}: {times}")
    report.table("One fit begun point by point, and by Newton's method alone", rows)
    for row in rows[::2]:
        claim = f"{row['set']}, variance {row['variance']:g}: seconds over those of Newton's method alone"
        report.verdict(claim, "<= 1", f"{row['ratio']:.2f}", row["ratio"] <= 1)
    report.say("")


def bushy_tree(n_latent: int) -> Tree:
    """A tree of three levels in which every node has siblings."""
    n_middle = (n_latent - N_TOP) // (LEAVES_PER_NODE + 1)
    n_leaves = n_latent - N_TOP - n_middle
    middle = [place % N_TOP for place in range(n_middle)]
    leaves = [N_TOP + place % n_middle for place in range(n_leaves)]
    return Tree(tuple(range(n_latent)), (*([ROOT] * N_TOP), *middle, *leaves))


def time_product(mixing: Mixing, X: Any, repeats: int) -> float:
    """Seconds of one product with a vector for every class, the fastest of some."""
    tying = tie("shared", mixing)
    specification = Specification((Linear(),), (1.0,), BIAS_VARIANCE, tying, mixing)
    covariance = specification.bind(choose((Linear(),), X, "features", "single").points(X))
    shape = (1, mixing.n_classes, X.shape[0])
    vector = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        covariance.matmul(vector)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])


def by_nodes(report: Report, chosen: argparse.Namespace) -> None:
    n, width, per_row = (500, 4000, 30) if chosen.quick else (4000, 30000, 100)
    random = np.random.default_rng(0)
    X = sparse.random(n, width, per_row / width, format="csr", random_state=random, dtype=np.float64)
    rows: list[Row] = []
    for n_latent in LATENT_COUNTS:
        tree = bushy_tree(n_latent)
        seconds = time_product(tree, X, 3 if chosen.quick else 7)
        flat = time_product(Flat(tree.n_classes), X, 3 if chosen.quick else 7)
        rows.append(
            {
                "latent functions P": tree.n_latent,
                "classes": tree.n_classes,
                "ms per product": 1e3 * seconds,
                "us per product and P": 1e6 * seconds / tree.n_latent,
                "flat, ms per product": 1e3 * flat,
                "ratio": seconds / flat,
            }
        )
    report.table(f"One product, {n} sparse rows with {per_row} words each", rows)
    sizes, costs = ([row[key] for row in rows] for key in ("latent functions P", "ms per product"))
    slope = float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
    claim = "seconds of a product over latent functions, exponent"
    report.verdict(claim, f"<= {WANTED_EXPONENT:g}", f"{slope:.2f}", slope <= WANTED_EXPONENT)
    report.say("")


def beside_paper(report: Report, chosen: argparse.Namespace) -> None:
    for section in chosen.sections[:1] if chosen.quick else chosen.sections:
        split = draw_split("D" if chosen.quick else section)
        split = split.largest(QUICK_CLASSES).head(QUICK_ROWS) if chosen.quick else split
        beside_section(report, section, split, chosen.learn)


def beside_section(report: Report, section: str, split: TreeSplit, learn: bool) -> None:
    rows: list[Row] = []
    for method, settings in TREES.items():
        began = time.process_time()
        model, seconds = fit_quietly(split, criterion="cv" if learn else None, cv=N_FOLDS, **settings)
        # Parts of the fit are known by the clock; the processor is taken to be as busy in each of them.
        busy = (time.process_time() - began) / seconds
        cost = describe_fit(model, seconds)
        paper = PATENT_SECONDS[section].final[method]
        row = {"method": method, "paper, s": paper, **cost, "CPU seconds": busy * cost["seconds"]}
        row["of the paper"] = row["CPU seconds"] / paper
        if learn:
            search, evaluations = seconds - cost["seconds"], len(model.trace_)
            own = busy * search / evaluations / N_FOLDS
            fold = {"paper, fold s": PATENT_SECONDS[section].fold[method], "fold CPU s": own}
            row |= {"search seconds": search, "evaluations": evaluations, **fold}
        row["variances"] = ", ".join(f"{variance:.3g}" for variance in model.model_.specification.variances)
        rows.append(row | score_on_tree(model.predict_log_proba(split.X_test), split.y_test, split.tree))
        report.progress(f"{split.name}, {method}: {cost['seconds']:.1f} s, {cost['products']} products")
    words = split.X.nnz / split.X.shape[0]
    report.table(f"{split.describe()}, {words:.0f} different words in each, drawn at random", rows)
    for row in rows:
        claim = f"{split.name}, {row['method']}: CPU seconds of the final fit"
        wanted, seen = f"<= {row['paper, s']:g} (paper)", f"{row['CPU seconds']:.1f}"
        report.verdict(claim, wanted, seen, row["of the paper"] <= 1)
    report.say("")


def arrays_of_fit(split: TreeSplit, **settings: Any) -> Row:
    """The largest sum of arrays, in units of n P doubles."""
    tracemalloc.start()
    model, seconds = fit_quietly(split, criterion=None, hierarchy=split.tree, tying="level", **settings)
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    unit = 8.0 * len(split.y) * len(split.tree.labels)
    return {"n P doubles": largest / unit, "MB": largest / 1e6, **describe_fit(model, seconds)}


def by_arrays(report: Report, chosen: argparse.Namespace) -> None:
    split = next(iter(splits("cpc_D", 1, chosen.quick))).head(MEMORY_ROWS)
    labels = split.y.astype(object)
    labels[::EVERY_COARSE] = [label.rpartition("/")[0] for label in labels[::EVERY_COARSE]]
    coarse = replace(split, y=labels)
    fit_quietly(split, criterion=None)  # what is compiled is no part of it
    rows: list[Row] = []
    for precision in ("double", "single"):
        own = {"state": precision}
        rows.append({"fit": "point by point", **own, **arrays_of_fit(split, state_precision=precision)})
        with mock.patch.dict(vars(schedule.POLICY), worthwhile_from=np.inf):
            rows.append({"fit": "Newton alone", **own, **arrays_of_fit(split, state_precision=precision)})
        rows.append({"fit": "coarse labels", **own, **arrays_of_fit(coarse, state_precision=precision)})
    report.table(f"Memory of one fit: {split.describe()}", rows)
    report.say("")


def whole_wordnet(report: Report, chosen: argparse.Namespace) -> None:
    rows: dict[str, list[Row]] = {method: [] for method in chosen.methods or reversed(TREES)}
    for number in range(chosen.splits):
        for method, own in rows.items():
            row = wordnet.measured(method, number, chosen.quick)
            own.append(row)
            report.progress(f"wordnet, split {number}, {method}: {row['log loss']:.4f}, fit {row['seconds']:.0f} s")
    report.table("wordnet, hyperparameters learned", [row for own in rows.values() for row in own])
    for method, own in rows.items():
        claim = f"wordnet, {method}: largest resident set, prediction included, GB"
        seen = max(row["GB in all"] for row in own)
        report.verdict(claim, f"<= {WANTED_BYTES / 1e9:g}", f"{seen:.2f}", seen <= WANTED_BYTES / 1e9)
    judge_tree(report, "wordnet", rows)
    judge_decisions(report, "wordnet", rows)
    report.say("")


MEASURES = {
    "flat": against_flat,
    "rows": by_rows,
    "nodes": by_nodes,
    "wipo": beside_paper,
    "memory": by_arrays,
    "wordnet": whole_wordnet,
}


def run(report: Report, chosen: argparse.Namespace) -> None:
    for part in chosen.only or PARTS:
        MEASURES[part](report, chosen)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; results get its name")
    parser.add_argument("--learn", action="store_true", help="wipo: learn the variances before the final fit")
    parser.add_argument("--sections", nargs="+", choices=PATENT_SECONDS, default=["B"], help="wipo: of A to H (B)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD", help="wordnet: H1 and F1")
    parser.add_argument("--splits", type=int, default=1, choices=(1, 2, 3), help="wordnet: how many of them (1)")
    chosen = parser.parse_args()
    parts = ["hierarchy_cost", *(chosen.only or ()), *(chosen.methods or ()), *(["learn"] if chosen.learn else [])]
    conduct("_".join(parts), chosen, run)


if __name__ == "__main__":
    main()
