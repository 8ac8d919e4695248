"""300 random problems that are hard for rounding: defaults against double precision by explicit differences.

Problems differ in the scales of their columns (1e-4 to 1e4), offsets (up to 1e6), clusters (up to 1e5 apart),
outliers (up to 1e8), one-hot columns beside a year, dense or sparse, float64 or float32, 150 to 3000 rows, 2 to 5
classes. Each is a function of its seed: `python benchmarks/precision.py --first 17 --count 1` repeats one.

Each problem is fitted with the defaults. The truth at the hyperparameters found is the optimum for kernel matrices
that tests/reference computes in double from explicit differences. The reference refines the dual that was found until
it can prove how far the optimum is at most ("uncertainty"). Promised:

- every probability, of training and of test rows, is within 1e-3 of the truth;
- the gradient norm that the fit reports is within 10 % of the one that the reference computes, or both are below the
  tolerance.

The search is then repeated with precision="double": log losses of both on the test rows are reported. Where a
probability is off, "double" says how far a fit of the library in double precision at the same hyperparameters is.
"""

import argparse
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from logikern import KernelLogisticClassifier
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.problem import Problem
from logikern.likelihoods.softmax import Softmax
from logikern.model.fitted import FittedModel
from logikern.operators.choose import choose
from measure import keep, keep_at, score
from report import Report, Row

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.reference.iterative import certify, polish, probability_bound
from tests.reference.kernels import as_double
from tests.reference.model import Model
from tests.reference.reading import read_model
from tests.reference.softmax import relative_norm, residual, sharpen, softmax

COUNT = 300
N_TEST = 300
KINDS = ("scales", "offsets", "clusters", "outliers", "year", "everything")
STORAGES = ("dense", "sparse", "dense", "sparse", "dense float32", "sparse float32")
ALLOWED = 1e-3
TOLERANCE = 1e-4  # the default `tol`
# The truth is refined until it is known this well.
WANTED_UNCERTAINTY = 2e-5


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to learn from and rows to predict, as the classifier gets them."""

    seed: int
    kind: str
    storage: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def draw(seed: int) -> Table:
    """The problem of a seed."""
    random = np.random.default_rng(seed)
    kind, storage = KINDS[seed % len(KINDS)], STORAGES[random.integers(len(STORAGES))]
    low, high = (2000, 3000) if random.random() < 0.2 else (150, 2000)
    n = int(np.exp(random.uniform(np.log(low), np.log(high))))
    n_classes, n_columns = int(random.integers(2, 6)), int(random.integers(2, 11))
    while True:
        inputs = random.normal(size=(n + N_TEST, n_columns))
        y = _labels(random, inputs, n_classes)
        if np.bincount(y[:n], minlength=n_classes).min() >= 8:
            break
    X = _values(random, kind, inputs, n)
    if storage.startswith("sparse") and kind != "year":
        X *= random.random(X.shape) < random.uniform(0.1, 1.0, X.shape[1])
    X = X.astype(np.float32 if storage.endswith("float32") else np.float64)
    if storage.startswith("sparse"):
        X = sparse.csr_matrix(X)
    return Table(seed, kind, storage, X[:n], y[:n], X[n:], y[n:])


def _labels(random: np.random.Generator, inputs: np.ndarray, n_classes: int) -> np.ndarray:
    """Drawn from the softmax of smooth functions of the first three inputs; some problems are nearly separable."""
    own = inputs[:, :3]
    waves = np.sin(0.8 * own @ random.normal(size=(own.shape[1], 12)) + random.uniform(0, 6, 12))
    latent = waves @ random.normal(size=(12, n_classes)) * 10 ** random.uniform(-0.3, 1.0)
    return np.argmax(latent + random.gumbel(size=latent.shape), axis=1)


def _values(random: np.random.Generator, kind: str, inputs: np.ndarray, n: int) -> np.ndarray:
    """The inputs in the units of a kind."""
    n_rows, n_columns = inputs.shape
    everything = kind == "everything"
    X = inputs.copy()
    if kind == "year":
        categories = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, random.integers(4, 20))[1:-1]))
        years = np.round(1990 + 15 * X[:, 1])
        return np.column_stack([np.eye(categories.max() + 1)[categories], years, X[:, 2:] > 0.5])
    if kind == "clusters" or (everything and random.random() < 0.5):
        centres = random.normal(size=(random.integers(2, 5), n_columns)) * 10 ** random.uniform(1, 5)
        X += centres[random.integers(len(centres), size=n_rows)]
    if kind in ("scales", "offsets") or everything:
        scales = 10 ** random.uniform(-4, 4, n_columns)
        # In half of the problems the columns that matter are the largest: one rate for all can then see them.
        X *= np.sort(scales)[::-1] if random.random() < 0.5 else scales
    if kind == "offsets" or everything:
        X += random.choice([-1, 1], n_columns) * 10 ** random.uniform(0, 6, n_columns)
    if kind == "outliers" or (everything and random.random() < 0.5):
        rows = np.append(random.choice(n, random.integers(1, 4), replace=False), n + random.integers(N_TEST))
        columns = random.random(n_columns) < random.choice([0.0, 0.5])
        columns[random.integers(n_columns)] = True
        X[np.ix_(rows, columns)] *= 10 ** random.uniform(2, 8)
    return X


def measure(seed: int, search: bool) -> Row:
    """One problem: a row for the table, with an error's last line where there was one."""
    table = draw(seed)
    row: Row = {
        "seed": seed,
        "kind": table.kind,
        "storage": table.storage,
        "rows": table.X.shape[0],
        "columns": table.X.shape[1],
        "classes": int(table.y.max()) + 1,
    }
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            row |= _measure(table, search)
        except Exception as error:  # one broken fit must not end the others
            row["error"] = f"{type(error).__name__}: {error} ({traceback.format_exc().splitlines()[-2].strip()})"
    return row


def _measure(table: Table, search: bool) -> Row:
    began = time.perf_counter()
    fitted = KernelLogisticClassifier(random_state=0).fit(table.X, table.y)
    row = {"seconds": time.perf_counter() - began, "outcome": fitted.outcome_.name, **_compare(table, fitted)}
    if search:
        again = KernelLogisticClassifier(random_state=0, precision="double").fit(table.X, table.y)
        row["log loss"] = score(fitted.predict_log_proba(table.X_test), table.y_test).log_loss
        row["log loss, double"] = score(again.predict_log_proba(table.X_test), table.y_test).log_loss
    return row


def _compare(table: Table, fitted: KernelLogisticClassifier) -> Row:
    """The fit against the reference at its own hyperparameters."""
    specification = fitted.model_.specification
    model = read_model(specification)
    # The encoder is exact arithmetic on each input; the reference takes over where inputs enter a kernel.
    encode = fitted.encoder_.transform
    X, X_test = as_double(encode(table.X)), as_double(encode(table.X_test))
    targets, weights = np.eye(model.n_classes)[table.y].T, np.ones(len(table.y))
    matrices, new_matrices = model.matrices(X, X), model.matrices(X_test, X)
    given = certify(model, matrices, np.asarray(fitted.dual_coef_.T, dtype=np.float64), targets, weights)
    rest = residual(given.dual, given.latent, targets, weights)
    gradient = weights * (softmax(given.latent) - targets)
    spread = float(np.sqrt(model.variance_at(X[:1]).max()))  # the same everywhere: kernels are stationary
    wanted = 2.0 * np.arctanh(WANTED_UNCERTAINTY) / spread
    truth = polish(model, matrices, given.dual, targets, weights, wanted)
    temperature = specification.temperature

    def probabilities(own: Model, to_points: list[np.ndarray]) -> np.ndarray:
        return softmax(sharpen(own.image(to_points, truth.dual), temperature.certain, temperature.uncertain)).T

    on_train, on_test = probabilities(model, matrices), probabilities(model, new_matrices)

    def difference(found: Any) -> float:
        own = [np.abs(found(table.X) - on_train).max(), np.abs(found(table.X_test) - on_test).max()]
        return float(max(own))

    off = difference(fitted.predict_proba)
    row: Row = {
        "difference": off,
        "uncertainty": float(probability_bound(spread * truth.distance)),
        "reported": float(fitted.newton_trace_[-1].gradient_norm),
        "true": relative_norm(rest, gradient, weights),
        "double": np.nan,
    }
    if off > ALLOWED:
        row["double"] = difference(_fit_in_double(encode, table.X, specification, targets))
    return row


def _fit_in_double(encode: Any, X: Any, specification: Any, targets: np.ndarray) -> Any:
    """Probabilities of the library's own double precision at the same hyperparameters, to a tight tolerance."""
    inputs = encode(X)
    choice = choose(specification.kernels, inputs, "dense", "double")
    problem = Problem(specification.bind(choice.points(inputs)), Softmax(), targets, np.ones((1, targets.shape[1])))
    model = FittedModel(specification, inputs, Newton(1e-7).fit(problem).dual[0])
    return lambda own: softmax(model.latents(encode(own)).T).T


def probability_holds(row: Row) -> bool:
    """Within what is promised, as far as the truth is known."""
    return bool(row["difference"] <= ALLOWED + row["uncertainty"])


def residual_holds(row: Row) -> bool:
    """Within 10 %, or both below the tolerance."""
    reported, true = row["reported"], row["true"]
    small = reported <= TOLERANCE and true <= TOLERANCE
    return bool(small or abs(reported - true) <= 0.1 * true)


def count_by(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Counts and worst values for each value of some columns."""
    records = []
    for key in keys:
        for value in sorted({row[key] for row in rows}):
            own = [row for row in rows if row[key] == value]
            fine = [row for row in own if "error" not in row]
            records.append(
                {
                    "of": f"{key} {value}",
                    "problems": len(own),
                    "errors": len(own) - len(fine),
                    "probabilities off": sum(not probability_holds(row) for row in fine),
                    "residuals off": sum(not residual_holds(row) for row in fine),
                    "not converged": sum(row["outcome"] != "CONVERGED" for row in fine),
                    "largest difference": max((row["difference"] for row in fine), default=np.nan),
                    "largest uncertainty": max((row["uncertainty"] for row in fine), default=np.nan),
                }
            )
    return records


def summarise(report: Report, rows: list[Row]) -> None:
    """Tables of counts and of the worst problems, and whether the promises hold."""
    for row in rows:
        row["all"] = "problems"
        row["size"] = "from 2000 rows" if row["rows"] >= 2000 else "below 2000 rows"
    report.table("Counts", count_by(rows, ("all", "kind", "storage", "size")))
    fine = [row for row in rows if "error" not in row]
    shown = ("seed", "kind", "storage", "rows", "columns", "classes", "outcome", "reported", "true", "difference")
    told = [{key: row[key] for key in (*shown, "double", "uncertainty")} for row in fine]
    by_difference = sorted(told, key=lambda row: -row["difference"])
    report.table("Largest differences of probabilities", by_difference[:15])
    by_residual = [row for row in fine if not residual_holds(row)]
    by_residual.sort(key=lambda row: -abs(np.log(max(row["true"], 1e-300) / max(row["reported"], 1e-300))))
    report.table("Residuals that are off", [{key: row[key] for key in shown} for row in by_residual[:15]])
    failed = [{"seed": row["seed"], "kind": row["kind"], "error": row["error"]} for row in rows if "error" in row]
    report.table("Errors", failed[:15])
    judge(report, rows, fine)
    searched = [row for row in fine if "log loss" in row]
    if searched:
        summarise_searches(report, searched)


def judge(report: Report, rows: list[Row], fine: list[Row]) -> None:
    for claim, holds in (
        (f"probabilities within {ALLOWED:g} of double", probability_holds),
        ("residual reported within 10 % of the true one, or both below the tolerance", residual_holds),
    ):
        kept = sum(map(holds, fine))
        report.verdict(claim, f"{len(rows)} of {len(rows)}", f"{kept} of {len(rows)}", kept == len(rows))


def summarise_searches(report: Report, rows: list[Row]) -> None:
    """Test log losses of the search as it is and in double."""
    gains = np.array([row["log loss"] - row["log loss, double"] for row in rows])
    records = [
        {
            "searches": len(rows),
            "mean log loss": float(np.mean([row["log loss"] for row in rows])),
            "mean log loss, double": float(np.mean([row["log loss, double"] for row in rows])),
            "worse by > 0.005": int((gains > 0.005).sum()),
            "better by > 0.005": int((gains < -0.005).sum()),
            "worse by > 0.05": int((gains > 0.05).sum()),
            "better by > 0.05": int((gains < -0.05).sum()),
        }
    ]
    report.table("Searches: default against precision='double', test log loss", records)
    worst = [rows[place] for place in np.argsort(-gains)[:12]]
    keys = ("seed", "kind", "storage", "rows", "classes", "log loss", "log loss, double")
    report.table("Searches: the worst", [{key: row[key] for key in keys} for row in worst])


def run(report: Report, seeds: Sequence[int], jobs: int, search: bool) -> None:
    rows: list[Row] = []
    path = keep_at("precision.json")
    for row in measure_all(seeds, jobs, search):
        rows.append(row)
        told = row.get("error") or (
            f"{row['seconds']:.1f} s {row['outcome']} difference {row['difference']:.1e} "
            f"(known to {row['uncertainty']:.0e}), residual {row['reported']:.1e} true {row['true']:.1e}"
            f"{'' if probability_holds(row) and residual_holds(row) else '   <-- off'}"
        )
        head = f"{row['seed']} {row['kind']}, {row['storage']}, {row['rows']} x {row['columns']}"
        report.progress(f"[{len(rows)}/{len(seeds)}] {head}, {row['classes']} classes: {told}")
        keep(path, json.dumps(rows, default=str))
    summarise(report, sorted(rows, key=lambda row: row["seed"]))


def measure_all(seeds: Sequence[int], jobs: int, search: bool) -> Iterator[Row]:
    """Rows as they come, from several processes; those that a process took with it when it died are tried again."""
    left, tries = list(seeds), 3
    while left and tries:
        # Forked workers would inherit threads of the BLAS.
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(measure, seed, search): seed for seed in left}
            try:
                for done in as_completed(waiting):
                    row = done.result()
                    left.remove(waiting[done])
                    yield row
            except BrokenProcessPool:
                tries -= 1
    if left:
        raise RuntimeError(f"A process died three times. The problems {left} were not measured.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="12 problems; writes no results")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=None, help=f"problems, {COUNT} unless told")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes, one thread each")
    parser.add_argument("--no-search", action="store_true", help="leave out the second search, in double")
    options = parser.parse_args()
    count = options.count or (12 if options.quick else COUNT)
    report = Report("precision")
    run(report, range(options.first, options.first + count), options.jobs, not options.no_search)
    if not options.quick and count == COUNT:
        report.write()


if __name__ == "__main__":
    main()
