"""Whether a learned temperature lowers the log loss: on tables, and on texts in a tree.

Each set is fitted twice, with sharpen=True and sharpen=False and nothing else different. Tables are standardised, in
their original split or in random halves (several seeds), with a Gaussian kernel; texts have a linear kernel and the
hierarchy of their classes (trees.py). The calibration error is the mean gap between the probability of the predicted
class and how often it is right, in 15 bins of equal counts.
"""

import argparse
from typing import Any

import numpy as np

from data import load
from logikern.decisions.metrics import calibration_error
from measure import score
from report import Report, Row
from trees import fit_quietly, mean_of, splits
from tuned import conduct, options, tune

TABLES = ("wine", "glass", "pima", "segment", "satimage")
WITHOUT_SPLIT, SEEDS = ("wine", "glass", "pima"), 5
TEXTS = ("cpc_D", "wos")
# Of the log loss without one: what it must save to be the default.
WORTH = 0.01
KEYS = ("log loss", "error %", "calibration error", "seconds", "certain", "uncertain")


def describe(model: Any, X: Any, labels: np.ndarray, seconds: float) -> Row:
    log_probability = model.predict_log_proba(X)
    scores, temperature = score(log_probability, labels), model.model_.specification.temperature
    return {
        "log loss": scores.log_loss,
        "error %": 100 * scores.error,
        "calibration error": calibration_error(labels, np.exp(log_probability)),
        "seconds": seconds,
        "certain": temperature.certain,
        "uncertain": temperature.uncertain,
    }


def on_table(name: str, seed: int, sharpen: bool, quick: bool) -> Row:
    split = load(name, seed).standardised().head(150 if quick else 2000)
    tuned = tune(split, sharpen=sharpen, random_state=seed)
    return describe(tuned.model, split.X_test, split.y_test, tuned.seconds)


def on_texts(name: str, number: int, sharpen: bool, quick: bool) -> Row:
    split = list(splits(name, number + 1, quick))[number]
    model, seconds = fit_quietly(split, sharpen=sharpen, hierarchy="paths", tying="level")
    return describe(model, split.X_test, split.places(split.y_test), seconds)


def compare(report: Report, name: str, measure: Any, count: int, quick: bool) -> list[Row]:
    """Means over seeds or splits, without and with."""
    found = []
    for sharpen in (False, True):
        rows = [measure(name, number, sharpen, quick) for number in range(count)]
        found.append({"set": name, "sharpen": sharpen, **{key: mean_of(rows, key) for key in KEYS}})
        report.progress(f"{name}, sharpen={sharpen}: log loss {found[-1]['log loss']:.4f}")
    return found


def run(report: Report, chosen: argparse.Namespace) -> None:
    rows: list[Row] = []
    for name in TABLES[:2] if chosen.quick else TABLES:
        count = SEEDS if name in WITHOUT_SPLIT and not chosen.quick else 1
        rows += compare(report, name, on_table, count, chosen.quick)
    for name in TEXTS:
        rows += compare(report, name, on_texts, 1 if chosen.quick else 3, chosen.quick)
    report.table("Log loss without a learned temperature and with it", rows)
    for without, with_one in zip(rows[::2], rows[1::2], strict=True):
        gain = 1.0 - with_one["log loss"] / without["log loss"]
        if without["set"] in TEXTS:  # where it is the default
            claim = f"{without['set']}: part of the log loss that a learned temperature saves"
            report.verdict(claim, f">= {WORTH:g}", f"{gain:+.4f}", gain >= WORTH)


def main() -> None:
    conduct("temperature", options(__doc__).parse_args(), run)


if __name__ == "__main__":
    main()
