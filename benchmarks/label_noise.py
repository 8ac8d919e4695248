"""Planted label errors: how many of the wrong labels `suspects()` puts first.

The 1797 digits of scikit-learn, of which 5 % get another label, drawn evenly from the other nine; several seeds. The
model is learned from the noisy labels (tying="shared", by leave-one-out and by cross-validation), and rows are ranked
by their leave-one-out loss. Beside it the order by the loss of the fitted model itself, which has seen the labels.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

from data import Split
from report import Report, Row
from tuned import Tuned, conduct, options, tune

FLIPPED = 0.05
FIRST = 0.10
WANTED = 0.9


def flip(labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels with some of them wrong, and which."""
    random = np.random.default_rng(seed)
    n_classes = int(labels.max()) + 1
    rows = random.choice(len(labels), round(FLIPPED * len(labels)), replace=False)
    noisy = labels.copy()
    noisy[rows] = (labels[rows] + random.integers(1, n_classes, len(rows))) % n_classes
    return noisy, noisy != labels


def share_found(order: np.ndarray, flipped: np.ndarray, first: float) -> float:
    """Of the flipped rows, those within the first part of an order of all rows."""
    return float(flipped[order[: round(first * len(flipped))]].sum() / flipped.sum())


def describe(tuned: Tuned, split: Split, flipped: np.ndarray, seed: int) -> Row:
    suspects = tuned.model.suspects()
    order, likely = suspects["row"].to_numpy(), suspects["likely"].to_numpy()
    n_flipped = int(flipped.sum())
    fitted = tuned.model.predict_log_proba(split.X)[np.arange(len(split.y)), split.y]
    found = flipped[order[:n_flipped]]
    return {
        "criterion": tuned.model.criterion,
        "seed": seed,
        "found in first 10 %": share_found(order, flipped, FIRST),
        # As many rows as were flipped: precision and recall are one.
        "precision at 5 %": float(found.mean()),
        "true label likely": float((likely[:n_flipped][found] == split.y_test[order[:n_flipped]][found]).mean()),
        "by fitted loss, first 10 %": share_found(np.argsort(fitted), flipped, FIRST),
        "seconds": tuned.seconds,
    }


def run(report: Report, chosen: argparse.Namespace) -> None:
    X, true = load_digits(return_X_y=True)
    if chosen.quick:
        X, true = X[:600], true[:600]
    rows: list[Row] = []
    for seed in range(2 if chosen.quick else chosen.seeds):
        noisy, flipped = flip(true, seed)
        # The rows themselves with their true labels take the place of a test set.
        split = Split("digits", X, noisy, X, true)
        for criterion in ("loo", "cv"):
            tuned = tune(split, criterion=criterion, tying="shared", ard=False, random_state=seed)
            rows.append(describe(tuned, split, flipped, seed))
            found = rows[-1]["found in first 10 %"]
            report.progress(f"{criterion}, seed {seed}: {found:.1%} in the first 10 %, {tuned.seconds:.1f} s")
    report.table(f"digits, {len(true)} rows, {FLIPPED:.0%} of the labels flipped", rows)
    for criterion in ("loo", "cv"):
        found = [row["found in first 10 %"] for row in rows if row["criterion"] == criterion]
        claim = f"share of flipped labels in the first 10 % of suspects, learned by {criterion}, mean and worst seed"
        seen = f"{np.mean(found):.1%} and {min(found):.1%}"
        report.verdict(claim, ">= 90 %", seen, min(found) >= WANTED)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="how many times labels are flipped (5)")
    conduct("label_noise", parser.parse_args(), run)


if __name__ == "__main__":
    main()
