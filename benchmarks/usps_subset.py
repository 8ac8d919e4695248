"""usps: rates and variances per class learned on 2000 points, final fit on all 7291, in one call of `fit`.

Grey values as in the set, original split (Seeger 2008, Section 6.3). Twenty hyperparameters.
"""

import argparse

from data import load
from report import Report
from tuned import conduct, options, stages, tune

WANTED_ERROR = 0.048


def run(report: Report, chosen: argparse.Namespace) -> None:
    split = load("usps")
    split = split.head(800) if chosen.quick else split
    size = 400 if chosen.quick else chosen.search_size
    rows = []
    for seed in range(chosen.seeds):
        tuned = tune(split, tying="separate", ard=False, search_size=size, random_state=seed)
        rows.append(
            {
                "seed": seed,
                "learned on": tuned.model.trace_[-1].n_points,
                "rows": len(split.y),
                "error %": 100 * tuned.scores.error,
                "log loss": tuned.scores.log_loss,
                "seconds": tuned.seconds,
                "search seconds": tuned.search_seconds,
                "criterion": tuned.model.criterion_value_,
                "outcome": tuned.model.outcome_.name,
            }
        )
        report.progress(f"seed {seed}: {tuned.scores}, {tuned.seconds:.0f} s")
    report.table("Test error and log loss", rows)
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
