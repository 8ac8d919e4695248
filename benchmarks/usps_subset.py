"""usps: rates and variances per class learned on 2000 points, final fit on all 7291, in one call of `fit`.

Grey values as in the set, original split, bias variance 4 (Seeger 2008, Section 6.3; five runs there). Twenty
hyperparameters. The error-reject curve pools the test rows of all seeds.
"""

import argparse

import numpy as np

from data import load
from logikern import error_reject_curve
from logikern.reporting.curves import plot_error_reject
from report import RESULTS, Report, is_kept
from tuned import conduct, options, stages, tune

WANTED_ERROR = 0.048
REJECTED = (0.025, 0.05, 0.10)
SETTINGS = {"kernel": "gaussian", "inputs": "raw", "tying": "separate", "ard": False, "bias_variance": 4.0}


def run(report: Report, chosen: argparse.Namespace) -> None:
    split = load("usps")
    split = split.head(250) if chosen.quick else split
    size = 150 if chosen.quick else chosen.search_size
    rows, probabilities = [], []
    for seed in range(1 if chosen.quick else chosen.seeds):
        tuned = tune(split, search_size=size, random_state=seed, **SETTINGS)
        probabilities.append(tuned.model.predict_proba(split.X_test))
        rows.append(
            {
                "seed": seed,
                "learned on": tuned.model.trace_[-1].n_points,
                "rows": len(split.y),
                "error %": 100 * tuned.scores.error,
                "log loss": tuned.scores.log_loss,
                "seconds": tuned.seconds,
                "CPU seconds": tuned.cpu_seconds,
                "search seconds": tuned.search_seconds,
                "criterion": tuned.model.criterion_value_,
                "outcome": tuned.model.outcome_.name,
            }
        )
        report.progress(f"seed {seed}: {tuned.scores}, {tuned.seconds:.0f} s")
    report.table("Test error and log loss", rows)
    curve = error_reject_curve(np.tile(split.y_test, len(rows)), np.concatenate(probabilities))
    at = {f"error % at {100 * fraction:g} %": 100 * float(curve.error_at(fraction)) for fraction in REJECTED}
    report.table("Error-reject curve", [{"area": curve.area, "excess area": curve.excess_area, **at}])
    if is_kept(chosen.quick):
        RESULTS.mkdir(parents=True, exist_ok=True)
        ax = plot_error_reject({"separate": curve})
        ax.set(title="usps", xlim=(0.0, 0.2))
        ax.figure.savefig(RESULTS / "usps_error_reject.png", dpi=110)
    report.table(f"Where the time goes, seed {rows[-1]['seed']}", stages(tuned))
    frame = tuned.model.hyperparameters_
    report.table("Hyperparameters", frame.to_dict("records"))
    error = sum(row["error %"] for row in rows) / len(rows) / 100
    report.verdict("mean test error", "<= 4.8 %", f"{error:.2%}", error <= WANTED_ERROR)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--search-size", type=int, default=2000, help="points on which is learned (2000)")
    parser.add_argument("--seeds", type=int, default=1, help="fits with different subsets and partitions (1)")
    conduct("usps_subset", parser.parse_args(), run)


if __name__ == "__main__":
    main()
