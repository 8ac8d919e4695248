"""Raetsch's benchmark sets, one Gaussian kernel: leave-one-out and 10-fold tuning beside Cawley & Talbot (2008).

Every raetsch_NAME.npz in the data folder, so many of its partitions into training and test rows, the published ones
first; inputs of mean 0 and variance 1 on the training rows. A rate and a variance are learned for each partition by
leave-one-out, with the free constant of the paper and with a penalised one, and by 10-fold cross-validation, in turn,
so that they share what else the machine does. Information is that of the paper's formula, in bits: 1 + mean log2 of
the probability of the true class. Standard errors are those of the mean over partitions, and two means are compared
by the paper's z, their difference over the root of the summed squares of both errors. A set meets the paper where z
is above -1. Seconds are those of `fit`, search and final fit.

At the end a problem of 1000 rows, against scikit-learn's Gaussian process classifier, which learns the same two
hyperparameters by the Laplace approximation of the marginal likelihood: this takes minutes.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from data import Split, folder
from logikern.decisions.metrics import target_information
from measure import score
from printed import RAETSCH_COLUMNS as COLUMNS
from printed import RAETSCH_ERRORS, RAETSCH_INFORMATION
from report import Report, Row
from tuned import bounded_log, conduct, options, tune, warm_up

METHODS: dict[str, dict[str, Any]] = {
    "loo": {"criterion": "loo", "bias_variance": np.inf},
    "loo, penalised": {"criterion": "loo"},
    "10-fold": {"criterion": "cv", "cv": 10},
}
# The model of the paper: one Gaussian kernel; the search would compare others as well.
COMMON: dict[str, Any] = {"kernel": "gaussian", "inputs": "raw", "tying": "shared", "ard": False, "random_state": 0}
# Of the paper's columns, the one that does what ours does.
COUNTERPART = {"loo": "LOO-KLR", "10-fold": "KLR"}
WANTED_RATIO, WANTED_PEER_RATIO = 5.0, 50.0
PEER_SETS, PEER_SIZE = ("banana", "waveform"), 1000
QUICK_SETS = ("banana", "heart")


@dataclass(frozen=True, eq=False)
class Partitions:
    """A set with its partitions, the published ones first.

    Parameters
    ----------
    name : str
    X, y : arrays of shape (n, d) and (n,)
    train : integer array of shape (R, n_train)
    n_published : int
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    train: np.ndarray
    n_published: int

    def splits(self, count: int) -> Iterator[Split]:
        for rows in self.train[:count]:
            rest = np.setdiff1d(np.arange(len(self.y)), rows)
            yield Split(self.name, self.X[rows], self.y[rows], self.X[rest], self.y[rest])


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What one method gave on the partitions of a set; arrays of shape (R,)."""

    errors: np.ndarray
    information: np.ndarray
    seconds: np.ndarray
    cpu_seconds: np.ndarray
    evaluations: np.ndarray


def found_sets() -> list[str]:
    return sorted(path.stem.removeprefix("raetsch_") for path in folder().glob("raetsch_*.npz"))


def read_partitions(name: str) -> Partitions:
    with np.load(folder() / f"raetsch_{name}.npz", allow_pickle=False) as stored:
        train, original = stored["train"].astype(np.int64), stored["original"]
        X, y = stored["X"].astype(float), stored["y"].astype(np.int64)
    return Partitions(name, X, y, train[np.argsort(~original, kind="stable")], int(original.sum()))


def measure_set(partitions: Partitions, chosen: argparse.Namespace) -> dict[str, Outcomes]:
    """Every method on every partition, method after method within a partition."""
    rows: dict[str, list[tuple[float, ...]]] = {method: [] for method in METHODS}
    for split in partitions.splits(chosen.partitions):
        split = split if chosen.as_stored else split.standardised()
        for method, settings in METHODS.items():
            tuned = tune(split, **COMMON, **settings)
            bits = target_information(split.y_test, tuned.model.predict_proba(split.X_test), prior="uniform")
            costs = (tuned.seconds, tuned.cpu_seconds, len(tuned.model.trace_))
            rows[method].append((100 * tuned.scores.error, bits, *costs))
    return {method: Outcomes(*np.array(values).T) for method, values in rows.items()}


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    spread = values.std(ddof=1) if len(values) > 1 else np.nan
    return float(values.mean()), float(spread / np.sqrt(len(values)))


def z_score(ours: tuple[float, float], theirs: tuple[float, float], sign: float) -> float:
    """How far ours is better, in standard errors of the difference."""
    return sign * (ours[0] - theirs[0]) / float(np.hypot(ours[1], theirs[1]))


def compare(
    report: Report, measured: dict[str, dict[str, Outcomes]], what: str, published: dict, sign: float
) -> None:
    """Means beside the paper's, z against each of its columns, and the verdicts."""
    digits = "{:.2f} +- {:.2f}" if what == "errors" else "{:.4f} +- {:.4f}"
    beside, scores = [], []
    for name, outcomes in measured.items():
        paper = dict(zip(COLUMNS, published.get(name, ()), strict=False))
        ours = {method: mean_and_error(getattr(own, what)) for method, own in outcomes.items()}
        row: Row = {"set": name} | {f"ours, {method}": digits.format(*own) for method, own in ours.items()}
        beside.append(row | {column: "{} +- {}".format(*paper[column]) if paper else "-" for column in COLUMNS})
        for method, own in ours.items():
            against = {c: z_score(own, paper[c], sign) if paper else "-" for c in COLUMNS}
            scores.append({"set": name, "ours": method} | against)
    unit = "Test error, percent" if what == "errors" else "Target information, bits"
    report.table(unit, beside)
    report.table(f"{unit}: z of ours against the paper's columns, positive where ours is better", scores)
    for row in scores:
        column = COUNTERPART.get(row["ours"])
        if column and row[column] != "-":
            claim = f"{row['set']}, {what}, ours by {row['ours']} against {column}"
            report.verdict(claim, "within one standard error or better", f"z = {row[column]:.2f}", row[column] > -1)
    report.say("")


def compare_seconds(report: Report, measured: dict[str, dict[str, Outcomes]]) -> None:
    """By the clock, and by the processor, which other work on the machine disturbs less."""
    each = []
    for name, outcomes in measured.items():
        own = {f"ours, {method}": mean_and_error(found.cpu_seconds) for method, found in outcomes.items()}
        each.append({"set": name} | {column: "{:.2g} +- {:.1g}".format(*pair) for column, pair in own.items()})
    report.table("CPU seconds to a tuned model, one partition", each)
    ratios = {what: _seconds_table(report, measured, what) for what in ("seconds", "cpu_seconds")}
    for method in METHODS:
        if method != "10-fold":
            ratio, of_cpu = (ratios[what][f"10-fold / {method}"] for what in ratios)
            claim = f"seconds of 10-fold over those of {method}, all sets"
            report.verdict(claim, ">= 5", f"{ratio:.2f} (CPU {of_cpu:.2f})", ratio >= WANTED_RATIO)
    report.say("")


def _seconds_table(report: Report, measured: dict[str, dict[str, Outcomes]], what: str) -> Row:
    """Writes the table, and returns its last row, over all sets."""
    rows: list[Row] = []
    for name, outcomes in measured.items():
        row: Row = {"set": name}
        row |= {f"{method}, s": float(getattr(own, what).sum()) for method, own in outcomes.items()}
        rows.append(row | {f"{method}, evaluations": own.evaluations.mean() for method, own in outcomes.items()})
    total: Row = {"set": "all"} | {f"{method}, s": sum(row[f"{method}, s"] for row in rows) for method in METHODS}
    rows.append(total | {key: "-" for key in rows[0] if key not in total})
    for row in rows:
        row |= {f"10-fold / {m}": row["10-fold, s"] / row[f"{m}, s"] for m in METHODS if m != "10-fold"}
    unit = "Seconds" if what == "seconds" else "CPU seconds"
    report.table(f"{unit} to a tuned model, summed over partitions", rows)
    return rows[-1]


def compare_peer(report: Report, partitions: Partitions, size: int) -> None:
    """Ours and the Gaussian process on rows of one set drawn at random, the rest for testing."""
    rows = np.random.default_rng(0).permutation(len(partitions.y))
    train, test = np.sort(rows[:size]), np.sort(rows[size:])
    X, y = partitions.X, partitions.y
    split = Split(partitions.name, X[train], y[train], X[test], y[test]).standardised()
    table = []
    for method, settings in METHODS.items():
        tuned = tune(split, **COMMON, **settings)
        logs = tuned.model.predict_log_proba(split.X_test)
        table.append(_peer_row(f"ours, {method}", (tuned.seconds, tuned.cpu_seconds), logs, split))
    kernel = ConstantKernel(10.0, (1e-3, 1e6)) * RBF(split.X.shape[1] ** 0.5, (1e-2, 1e4))
    process = GaussianProcessClassifier(kernel, random_state=0)
    began, cpu_began = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        process.fit(split.X, split.y)
    costs = time.perf_counter() - began, time.process_time() - cpu_began
    table.append(_peer_row("Gaussian process", costs, bounded_log(process.predict_proba(split.X_test)), split))
    for row in table:
        row["Gaussian process takes"] = costs[0] / row["seconds"]
        row["CPU"] = costs[1] / row["CPU seconds"]
    report.table(f"{partitions.name}, {size} rows, against scikit-learn's Gaussian process", table)
    for row in table[: len(METHODS) - 1]:
        ratio = row["Gaussian process takes"]
        claim = f"{partitions.name}, seconds of the Gaussian process over {row['model']}"
        seen = f"{ratio:.1f} (CPU {row['CPU']:.1f})"
        report.verdict(claim, ">= 50", seen, ratio >= WANTED_PEER_RATIO)
    report.say("")


def _peer_row(name: str, costs: tuple[float, float], log_probability: np.ndarray, split: Split) -> Row:
    scores = score(log_probability, split.y_test)
    row: Row = {"model": name, "seconds": costs[0], "CPU seconds": costs[1]}
    return row | {"error %": 100 * scores.error, "information": 1 - scores.log_loss / np.log(2)}


def run(report: Report, chosen: argparse.Namespace) -> None:
    chosen.partitions = min(chosen.partitions, 2) if chosen.quick else chosen.partitions
    found = [name for name in found_sets() if not chosen.quick or name in QUICK_SETS]
    sets = [read_partitions(name) for name in chosen.only or found]
    warm_up(next(sets[0].splits(1)))
    measured = {}
    for partitions in sets:
        measured[partitions.name] = measure_set(partitions, chosen)
        report.progress(f"{partitions.name}: done")
    described = ", ".join(
        f"{p.name} {min(p.n_published, chosen.partitions)} of {min(len(p.train), chosen.partitions)}" for p in sets
    )
    inputs = "as stored" if chosen.as_stored else "standardised"
    report.say(f"Inputs {inputs}. Published partitions among those used: {described}.")
    compare(report, measured, "errors", RAETSCH_ERRORS, -1.0)
    compare(report, measured, "information", RAETSCH_INFORMATION, 1.0)
    compare_seconds(report, measured)
    for partitions in sets:
        if partitions.name in PEER_SETS and not chosen.no_peer:
            compare_peer(report, partitions, 200 if chosen.quick else PEER_SIZE)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--partitions", type=int, default=100, help="of each set, at most (100)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this set, such as banana")
    parser.add_argument("--as-stored", action="store_true", help="leave the inputs as they are stored")
    parser.add_argument("--no-peer", action="store_true", help="leave out the Gaussian process")
    chosen = parser.parse_args()
    parts = ["raetsch", *(["as_stored"] if chosen.as_stored else []), *(chosen.only or ())]
    conduct("_".join(parts), chosen, run)


if __name__ == "__main__":
    main()
