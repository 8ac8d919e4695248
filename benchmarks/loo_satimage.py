"""satimage, six classes: learned by leave-one-out, against cross-validation, in one run.

The original split (4435 training and 2000 test rows), attributes as published, several seeds. Each seed draws the
rows on which hyperparameters are learned, and the folds; the final fit has all rows. With settings as they come
otherwise, and with one kernel for all classes, where nothing but a rate and a variance is learned.
"""

import argparse
from typing import Any

import numpy as np

from data import load
from report import Report, Row
from tuned import Tuned, conduct, options, stages, tune, warm_up

SETTINGS: dict[str, dict[str, Any]] = {"default": {}, "shared": {"tying": "shared", "ard": False}}
CRITERIA = ("loo", "cv")
WANTED_EXCESS, WANTED_SHARE = 0.02, 0.5


def summarise(settings: str, criterion: str, fits: list[Tuned]) -> Row:
    return {
        "settings": settings,
        "criterion": criterion,
        "error %": np.mean([100 * tuned.scores.error for tuned in fits]),
        "log loss": np.mean([tuned.scores.log_loss for tuned in fits]),
        "seconds": np.mean([tuned.seconds for tuned in fits]),
        "CPU seconds": np.mean([tuned.cpu_seconds for tuned in fits]),
        "search seconds": np.mean([tuned.search_seconds for tuned in fits]),
        "evaluations": np.mean([len(tuned.model.trace_) for tuned in fits]),
        "points": max(record.n_points for tuned in fits for record in tuned.model.trace_),
    }


def judge(report: Report, settings: str, loo: Row, cv: Row) -> None:
    for what in ("error %", "log loss"):
        excess = loo[what] / cv[what] - 1
        seen = f"{loo[what]:.4g} against {cv[what]:.4g}, {excess:+.1%}"
        claim = f"{settings}: {what}, leave-one-out against cross-validation"
        report.verdict(claim, "at most 2 % more", seen, excess <= WANTED_EXCESS)
    share, of_cpu = (loo[what] / cv[what] for what in ("seconds", "CPU seconds"))
    seen = f"{loo['seconds']:.1f} s against {cv['seconds']:.1f} s, {share:.2f} of it (CPU {of_cpu:.2f})"
    report.verdict(f"{settings}: seconds", "at most half", seen, share <= WANTED_SHARE)


def run(report: Report, chosen: argparse.Namespace) -> None:
    split = load("satimage")
    split = split.head(600) if chosen.quick else split
    warm_up(split)
    fits: dict[tuple[str, str], list[Tuned]] = {}
    for settings in chosen.only or SETTINGS:
        for seed in range(1 if chosen.quick else chosen.seeds):
            for criterion in CRITERIA:
                tuned = tune(split, criterion=criterion, random_state=seed, **SETTINGS[settings])
                fits.setdefault((settings, criterion), []).append(tuned)
                report.progress(
                    f"{settings}, {criterion}, seed {seed}: error {tuned.scores.error:.2%}, "
                    f"log loss {tuned.scores.log_loss:.4f}, {tuned.seconds:.1f} s"
                )
    rows = {key: summarise(*key, own) for key, own in fits.items()}
    count = len(next(iter(fits.values())))
    report.table(f"satimage, {len(split.y)} rows, means over {count} seeds", list(rows.values()))
    for key, own in fits.items():
        report.table(f"Where the time goes, {', '.join(key)}, seed 0", stages(own[0]))
    for settings in chosen.only or SETTINGS:
        judge(report, settings, rows[settings, "loo"], rows[settings, "cv"])


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how many (3)")
    parser.add_argument("--only", action="append", choices=SETTINGS, help="these settings; results get their name")
    chosen = parser.parse_args()
    conduct("_".join(["loo_satimage", *(chosen.only or ())]), chosen, run)


if __name__ == "__main__":
    main()
