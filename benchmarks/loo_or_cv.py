"""What one evaluation costs, leave-one-out against cross-validation: from this criterion="auto" is read off.

Standardised rows of real sets, of 2, 3 and 6 classes, one Gaussian kernel, constants of variance 16. Each criterion
is set up as the classifier does it, with 5 and with 10 folds, and evaluated (value and gradient) at the setting that
a search by 5-fold cross-validation finds, starting from the latents of a setting a little way off: the evaluation
that a search repeats. CPU seconds, the least of several; a search by each from the start to its end as well, since
the number of evaluations differs too. Sizes end where a search by leave-one-out takes ten times as long.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from data import Split, load
from logikern.criteria.base import Criterion
from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import folds_from_splits
from logikern.criteria.leave_one_out.criterion import LeaveOneOut
from logikern.estimators._solver_plan import USUAL
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.preconditioning.adaptive import LowRankConditioning
from logikern.likelihoods.softmax import Softmax
from logikern.operators.choose import PointSet, choose
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from raetsch import read_partitions
from report import Report, Row
from tuned import Tuned, conduct, options, tune, warm_up

SIZES = (100, 200, 400, 700, 1000, 1500)
REPEATS = 3
HOPELESS = 0.1
# The loosest tolerance of the folds' fits, and that of a search whose steps have become short.
CV_TOLERANCE, SEARCH_TOLERANCE = 1e-3, 1e-4
# Change of the log parameters between the evaluation that is measured and the one before.
STEP = 0.2


def problems() -> list[tuple[Split, int]]:
    """Sets with enough rows, and how many classes of them are taken."""
    # Nothing is tested here, but a split has some rows for it.
    sets = [read_partitions(name) for name in ("banana", "waveform")]
    banana, waveform = (Split(own.name, own.X, own.y, own.X[:9], own.y[:9]) for own in sets)
    satimage, letter = load("satimage"), load("letter")
    return [(banana, 2), (waveform, 2), (satimage, 2), (satimage, 3), (letter, 3), (satimage, 6), (letter, 6)]


def criterion_of(split: Split, specification: Specification, n_folds: int | None) -> tuple[Criterion, PointSet]:
    """As the classifier sets it up; no folds stand for leave-one-out."""
    targets = from_labels(split.y, split.n_classes)
    exact = n_folds is None or len(split.y) <= USUAL.exact_up_to
    precision = "double" if exact else "single"
    points = choose(specification.kernels, split.X, "auto", precision).points(split.X, keep_distances=True)
    weights = np.ones(len(split.y))
    if n_folds is None:
        return LeaveOneOut(Softmax(), targets, weights, Exact(USUAL.exact_tolerance)), points
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer members than folds
        folds = folds_from_splits(list(splitter.split(split.X, split.y)), weights)
    inner = Newton(CV_TOLERANCE, conditioning=LowRankConditioning(seed=0))
    solver = Exact(USUAL.exact_tolerance) if exact else inner
    return CrossValidation(Softmax(), targets, folds, solver), points


def warm_seconds(split: Split, specification: Specification, n_folds: int | None) -> tuple[float, str]:
    """Of an evaluation that starts from one nearby, and how it was done."""
    criterion, points = criterion_of(split, specification, n_folds)
    logs = specification.log_parameters
    shift = np.where(np.arange(len(logs)) < len(logs) - 1, STEP, 0.0)  # the bias variance stays
    nearby = specification.with_log_parameters(logs + shift)
    state = criterion.evaluate(nearby.bind(points), None, SEARCH_TOLERANCE).state
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        evaluation = criterion.evaluate(specification.bind(points), state, SEARCH_TOLERANCE)
        seconds.append(time.process_time() - began)
    return min(seconds), evaluation.method


def measure(split: Split) -> Row:
    shared = {"tying": "shared", "ard": False, "random_state": 0, "search_size": None}
    searches: dict[str, Tuned] = {
        "loo": tune(split, criterion="loo", **shared),
        "cv": tune(split, criterion="cv", **shared),
    }
    specification = searches["cv"].model.model_.specification
    loo, method = warm_seconds(split, specification, None)
    five, ten = (warm_seconds(split, specification, n_folds)[0] for n_folds in (5, 10))
    cpu = {name: tuned.cpu_seconds for name, tuned in searches.items()}
    return {
        "set": split.name,
        "classes": split.n_classes,
        "rows": len(split.y),
        "loo, s": loo,
        "5 folds, s": five,
        "10 folds, s": ten,
        "5 folds / loo": five / loo,
        "10 folds / loo": ten / loo,
        "search loo, s": cpu["loo"],
        "search 5 folds, s": cpu["cv"],
        "search 5 folds / loo": cpu["cv"] / cpu["loo"],
        "factors": method,
    }


def run(report: Report, chosen: argparse.Namespace) -> None:
    sizes = SIZES[:2] if chosen.quick else SIZES
    rows: list[Row] = []
    for whole, n_classes in problems():
        split = whole.classes(n_classes)
        if not rows:
            warm_up(split)
        for size in sizes:
            rows.append(measure(split.head(size).standardised()))
            report.progress(
                f"{split.name}, {n_classes} classes, {size} rows: one evaluation takes 5 folds "
                f"{rows[-1]['5 folds / loo']:.2f} times as long as leave-one-out, a search "
                f"{rows[-1]['search 5 folds / loo']:.2f} times"
            )
            if rows[-1]["search 5 folds / loo"] < HOPELESS:
                break
    report.table("CPU seconds of one warm evaluation, and of a whole search", rows)
    summary = []
    for n_classes in sorted({row["classes"] for row in rows}):
        for size in sizes:
            own = [row for row in rows if row["classes"] == n_classes and row["rows"] == size]
            if own:
                summary.append({"classes": n_classes, "rows": size} | _means(own))
    report.table("Geometric means over sets: above 1 leave-one-out is the faster one", summary)


def _means(rows: list[Row]) -> Row:
    names = ("5 folds / loo", "10 folds / loo", "search 5 folds / loo")
    return {name: float(np.exp(np.mean([np.log(row[name]) for row in rows]))) for name in names}


if __name__ == "__main__":
    conduct("loo_or_cv", options(__doc__).parse_args(), run)
