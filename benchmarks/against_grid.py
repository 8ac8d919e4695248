"""Seconds of a self-tuned fit against a 6 x 6 grid search of an SVC with calibration, in one run.

Standardised inputs, original splits. Ours: `KernelLogisticClassifier(random_state=0).fit`, once with
tying="shared" and once as it comes. The peer: GridSearchCV of C and gamma of an SVC with Gaussian kernel (peers.py
gives the grid; 5 folds, accuracy, n_jobs=2, no refit), then CalibratedClassifierCV of the winner (5 folds, sigmoid,
ensemble=False, n_jobs=2), which fits the SVC once more on all rows. On letter the grid search sees a stratified
subset of the size on which ours learns, and calibration sees all rows. Seconds are wall-clock time; a small fit of
each kind goes first, so that process pools and imports count for nobody.
"""

import argparse
import time

from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from data import Split, load
from measure import score
from peers import vector_grid
from report import Report, Row
from tuned import Tuned, bounded_log, conduct, options, stages, tune, warm_up

SETS = ("satimage", "segment", "usps", "letter")
# Rows from which on the grid search gets a subset.
SUBSET_FROM = 10000
SUBSET = 2000
JOBS = 2
OURS = {"tying='shared'": {"tying": "shared"}, "default": {}}


def search_rows(split: Split) -> Split:
    """What the grid search sees: all rows, or of large sets a stratified subset."""
    if len(split.y) < SUBSET_FROM:
        return split
    X, _, y, _ = train_test_split(split.X, split.y, train_size=SUBSET, stratify=split.y, random_state=0)
    return Split(split.name, X, y, split.X_test, split.y_test)


def measure_grid(split: Split, method: str, quick: bool) -> Row:
    """Search, calibrate, score."""
    part = search_rows(split)
    began = time.perf_counter()
    search = GridSearchCV(SVC(), vector_grid(split, quick), cv=5, n_jobs=JOBS, refit=False).fit(part.X, part.y)
    searched = time.perf_counter()
    machine = SVC(**search.best_params_)
    calibrated = CalibratedClassifierCV(machine, method=method, cv=5, ensemble=False, n_jobs=JOBS)
    calibrated.fit(split.X, split.y)
    ended = time.perf_counter()
    scores = score(bounded_log(calibrated.predict_proba(split.X_test)), split.y_test)
    best = search.best_params_
    return {
        "model": f"SVC grid, {method}",
        "seconds": ended - began,
        "of the grid": 1.0,
        "search seconds": searched - began,
        "search rows": len(part.y),
        "log loss": scores.log_loss,
        "error %": 100 * scores.error,
        "found": f"C={best['C']:g}, gamma={best['gamma']:.3g}",
    }


def our_row(label: str, tuned: Tuned, grid: Row) -> Row:
    kept = [verdict.stage for verdict in tuned.model.verdicts_ if verdict.kept]
    return {
        "model": f"ours, {label}",
        "seconds": tuned.seconds,
        "of the grid": tuned.seconds / grid["seconds"],
        "search seconds": tuned.search_seconds,
        "search rows": tuned.model.trace_[-1].n_points,
        "log loss": tuned.scores.log_loss,
        "error %": 100 * tuned.scores.error,
        "found": " > ".join(kept),
    }


def judge(report: Report, name: str, shared: Row, default: Row) -> None:
    for row, wanted in ((shared, 0.2), (default, 0.5)):
        seen = row["of the grid"]
        report.verdict(
            f"{name}, {row['model']}: seconds over the grid's", f"<= {wanted:g}", f"{seen:.2f}", seen <= wanted
        )
    if name == "satimage":
        limits = ((shared, "log loss", 0.225), (default, "log loss", 0.212), (default, "error %", 8.3))
        for row, key, wanted in limits:
            report.verdict(f"{name}, {row['model']}: {key}", f"<= {wanted:g}", f"{row[key]:.4g}", row[key] <= wanted)


def compare(report: Report, split: Split, chosen: argparse.Namespace) -> None:
    warm_up(split)
    # Calibration wants five rows of every class.
    measure_grid(split.head(max(200, 40 * len(set(split.y)))), chosen.method, quick=True)
    fits = {}
    for label, settings in OURS.items():
        fits[label] = tune(split, random_state=0, **settings)
        report.progress(f"{split.name}, {label}: {fits[label].seconds:.1f} s, {fits[label].scores}")
    grid = measure_grid(split, chosen.method, chosen.quick)
    rows = [*(our_row(label, tuned, grid) for label, tuned in fits.items()), grid]
    report.table(f"{split.name}, {len(split.y)} rows, {split.n_classes} classes", rows)
    for label, tuned in fits.items():
        report.table(f"{split.name}: where the time goes, {label}", stages(tuned))
    report.say("```\n" + fits["default"].model.explain() + "\n```")
    judge(report, split.name, rows[0], rows[1])
    report.say("")


def run(report: Report, chosen: argparse.Namespace) -> None:
    for name in chosen.only or (SETS[:2] if chosen.quick else SETS):
        split = load(name)
        split = split.head(600) if chosen.quick else split
        compare(report, split.standardised(), chosen)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", action="append", choices=SETS, help="this set; results get its name")
    parser.add_argument("--method", choices=("sigmoid", "temperature"), default="sigmoid", help="of the calibration")
    chosen = parser.parse_args()
    parts = ["against_grid", *(chosen.only or ())]
    parts += [chosen.method] if chosen.method != "sigmoid" else []
    conduct("_".join(parts), chosen, run)


if __name__ == "__main__":
    main()
