"""Fits that learn their hyperparameters, with what they cost stage by stage, and the options of their benchmarks."""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from data import Split, require_folder
from logikern import KernelLogisticClassifier
from measure import Scores, score
from report import Report, Row, is_kept


@dataclass(frozen=True, eq=False)
class Tuned:
    """A fitted classifier and what it cost.

    Parameters
    ----------
    model : KernelLogisticClassifier
    seconds : float
        Of `fit`, search and final fit.
    scores : Scores
        On the test rows.
    cpu_seconds : float
        Of `fit`, summed over its threads: what a machine that does other work as well does not change much.
    """

    model: KernelLogisticClassifier
    seconds: float
    scores: Scores
    cpu_seconds: float

    @property
    def search_seconds(self) -> float:
        """Of the evaluations of the criterion."""
        return sum(record.seconds for record in self.model.trace_)


def tune(split: Split, **settings: Any) -> Tuned:
    """Fit with learned hyperparameters; what `fit` warns of is shown by the outcome instead."""
    model = KernelLogisticClassifier(**settings)
    began, cpu_began = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.X, split.y)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    return Tuned(model, seconds, score(model.predict_log_proba(split.X_test), split.y_test), cpu_seconds)


def warm_up(split: Split) -> None:
    """A small fit, so that what a process does once (imports, thread pools) is in no measurement."""
    tune(split.head(200), tying="shared", random_state=0)


def stages(tuned: Tuned) -> list[Row]:
    """Where the time went: evaluations, products and seconds of each stage, then the rest."""
    rows: list[Row] = []
    records = tuned.model.trace_
    for name in dict.fromkeys(record.stage for record in records):
        own = [record for record in records if record.stage == name]
        rows.append(_stage(name, own[0].n_points, len(own), own, tuned.seconds))
    rest = tuned.seconds - tuned.search_seconds
    rows.append(
        {
            "stage": "final fit, and all else",
            "points": len(tuned.model.dual_coef_),
            "evaluations": "-",
            "products": tuned.model.newton_trace_[-1].products,
            "seconds": rest,
            "share": rest / tuned.seconds,
        }
    )
    return rows


def _stage(name: str, n_points: int, n_evaluations: int, records: list, total: float) -> Row:
    seconds = sum(record.seconds for record in records)
    return {
        "stage": name,
        "points": n_points,
        "evaluations": n_evaluations,
        "products": sum(record.n_products for record in records),
        "seconds": seconds,
        "share": seconds / total,
    }


def bounded_log(probabilities: np.ndarray) -> np.ndarray:
    """Logarithms of a peer's probabilities, bounded as in scikit-learn's log_loss."""
    return np.log(np.clip(probabilities, np.finfo(float).eps, 1.0))


def options(description: str | None) -> argparse.ArgumentParser:
    """A command line with `--quick`, to which a benchmark adds its own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small version; writes no results")
    return parser


def conduct(name: str, chosen: argparse.Namespace, run: Callable[[Report, argparse.Namespace], None]) -> None:
    """Run a benchmark that has options of its own, and write its results unless it is quick."""
    require_folder()
    report = Report(name)
    run(report, chosen)
    if is_kept(chosen.quick):
        report.write()
