"""Losses of predicted label sets, row by row."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.decisions.label_sets import DECISIONS, decide_sets, independent_labels
from logikern.numerics.outcome import Array, Mask

SEPARATOR = ";"  # between the labels of a set
# Name, meaning, and whether it is a share, of the columns of `SetLosses.each`.
SET_SCORES = (
    ("joint log loss", "mean of -log(probability of the whole label set), natural logarithm", False),
    ("Hamming loss", "share of wrong labels, for the label sets chosen to minimise it", True),
    ("subset error", "share of rows with a wrong label, for the label sets chosen to minimise it", True),
    ("1 - F1", "one minus the mean F1 score of rows, for the label sets chosen to minimise it", False),
)


@dataclass(frozen=True)
class LabelScore:
    """Frequency and scores of one label."""

    label: str
    rows: int
    mean_probability: float
    recall: float | None
    precision: float | None
    log_loss: float


@dataclass(frozen=True, eq=False)
class SetLosses:
    """What a model, or the baseline, predicts for rows with known label sets, and its losses."""

    marginals: Array  # (n, L): probability of each label
    decided: dict[str, Mask]  # (n, L): for each loss, the sets with the smallest expected loss
    each: Array  # (n, 4): see `SET_SCORES`


def losses_of_sets(classifier: Any, X: Any, truth: Mask) -> SetLosses:
    """Losses of a multilabel classifier; each is that of the decisions that minimise its expectation."""
    decided = {loss: classifier.decide(X, loss) == 1 for loss in DECISIONS}
    return _compare(classifier.predict_proba(X), decided, classifier.set_log_proba(X, truth.astype(int)), truth)


def losses_of_shares(truth: Mask) -> SetLosses:
    """The same if labels are independent of each other and of the inputs, with their shares in these rows."""
    shares = independent_labels(truth.mean(axis=0)[None])
    every = np.zeros(len(truth), dtype=np.intp)
    decided = {loss: decide_sets(shares, loss)[every] for loss in DECISIONS}
    rows = independent_labels(shares.marginals[every])
    return _compare(rows.marginals, decided, rows.log_probability(truth), truth)


def _compare(marginals: Array, decided: dict[str, Mask], log_probabilities: Array, truth: Mask) -> SetLosses:
    wrong = decided["subset"] != truth
    columns = [
        -log_probabilities,
        (decided["hamming"] != truth).mean(axis=1),
        wrong.any(axis=1),
        1.0 - _f1(decided["f1"], truth),
    ]
    return SetLosses(marginals, decided, np.stack(columns, axis=1))


def _f1(decided: Mask, truth: Mask) -> Array:
    """F1 of each row, (n,); 1 if a row has no labels and none are decided."""
    both, sizes = (decided & truth).sum(axis=1), decided.sum(axis=1) + truth.sum(axis=1)
    return np.divide(2.0 * both, sizes, out=np.ones(len(both)), where=sizes > 0)


def score_labels(found: SetLosses, truth: Mask, names: list[str]) -> tuple[LabelScore, ...]:
    """Frequency and scores of each label."""
    decided = found.decided["hamming"]
    return tuple(
        _score_label(name, found.marginals[:, place], decided[:, place], truth[:, place])
        for place, name in enumerate(names)
    )


def written(sets: Mask, names: list[str], empty: str = "") -> Array:
    """Label sets as text, (n,); `empty` stands for a set without labels."""
    texts = [SEPARATOR.join(name for name, own in zip(names, row, strict=True) if own) for row in sets]
    return np.array([text or empty for text in texts], dtype=object)


def _score_label(name: str, proba: Array, decided: Mask, truth: Mask) -> LabelScore:
    n_true, n_decided, n_both = (int(own.sum()) for own in (truth, decided, decided & truth))
    with np.errstate(divide="ignore"):
        losses = -np.log(np.where(truth, proba, 1.0 - proba))
    recall, precision = n_both / n_true if n_true else None, n_both / n_decided if n_decided else None
    return LabelScore(name, n_true, float(proba.mean()), recall, precision, float(losses.mean()))
