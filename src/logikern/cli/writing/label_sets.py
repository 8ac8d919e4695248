"""Predictions and scores of multilabel models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from logikern.cli.preprocessing import final_step
from logikern.cli.reading.labels import joined
from logikern.decisions.label_sets import DECISIONS
from logikern.decisions.metrics import joint_log_loss

SEPARATOR = ";"  # between the labels of a predicted set
HAMMING = "hamming"


@dataclass(frozen=True)
class LabelScore:
    """Frequency and scores of one label."""

    label: str
    rows: int
    mean_probability: float
    recall: float | None
    precision: float | None
    log_loss: float


@dataclass(frozen=True)
class SetScores:
    """Scores of label sets; each loss is measured for the decisions that minimise its expectation."""

    rows: int
    joint_log_loss: float
    baseline_joint_log_loss: float  # of independent labels with the frequencies in these rows
    hamming_loss: float
    subset_error: float
    f1: float  # mean over rows; 1 if a row has no labels and no label is predicted
    per_label: tuple[LabelScore, ...]


def set_loss(loss: str | None, allow_inner: bool) -> str:
    """The loss of label sets that the user chose; another loss is an error."""
    if allow_inner or loss not in (None, *DECISIONS):
        option = "--allow-inner" if allow_inner else f"--loss {loss}"
        raise ValueError(
            f"`{option}` needs a single-label model, but this model is multilabel. Pass one of these losses: "
            f"{', '.join(DECISIONS)}."
        )
    return loss or HAMMING


def labelled_sets(model: Any, X: Any, loss: str) -> pd.DataFrame:
    """The labels chosen for every row, and the probability of each label."""
    classifier, inputs = _at_classifier(model, X)
    names = [str(joined(label)) for label in classifier.classes_.tolist()]
    decided, proba = classifier.decide(inputs, loss), classifier.predict_proba(inputs)
    sets = [SEPARATOR.join(name for name, own in zip(names, row, strict=True) if own) for row in decided]
    return pd.DataFrame({"predicted": sets} | {f"probability_{name}": proba[:, n] for n, name in enumerate(names)})


def score_sets(model: Any, X: Any, sets: np.ndarray) -> SetScores:
    """Scores of a model on rows with known labels, (n, L)."""
    classifier, inputs = _at_classifier(model, X)
    proba, truth = classifier.predict_proba(inputs), sets == 1
    by_loss = {loss: classifier.decide(inputs, loss) == 1 for loss in (HAMMING, "subset", "f1")}
    return SetScores(
        rows=len(truth),
        joint_log_loss=float(-classifier.set_log_proba(inputs, sets).mean()),
        baseline_joint_log_loss=joint_log_loss(sets, np.tile(truth.mean(axis=0), (len(truth), 1))),
        hamming_loss=float((by_loss[HAMMING] != truth).mean()),
        subset_error=float((by_loss["subset"] != truth).any(axis=1).mean()),
        f1=float(_f1(by_loss["f1"], truth).mean()),
        per_label=tuple(
            _score_label(str(joined(label)), proba[:, place], by_loss[HAMMING][:, place], truth[:, place])
            for place, label in enumerate(classifier.classes_.tolist())
        ),
    )


def _at_classifier(model: Any, X: Any) -> tuple[Any, Any]:
    """The classifier, and its inputs after the other steps of a pipeline."""
    classifier = final_step(model)
    return classifier, X if classifier is model else model[:-1].transform(X)


def _f1(decided: np.ndarray, truth: np.ndarray) -> np.ndarray:
    both, sizes = (decided & truth).sum(axis=1), decided.sum(axis=1) + truth.sum(axis=1)
    return np.divide(2.0 * both, sizes, out=np.ones(len(both)), where=sizes > 0)


def _score_label(name: str, proba: np.ndarray, decided: np.ndarray, truth: np.ndarray) -> LabelScore:
    n_true, n_decided, n_both = (int(own.sum()) for own in (truth, decided, decided & truth))
    with np.errstate(divide="ignore"):
        losses = -np.log(np.where(truth, proba, 1.0 - proba))
    recall, precision = n_both / n_true if n_true else None, n_both / n_decided if n_decided else None
    return LabelScore(name, n_true, float(proba.mean()), recall, precision, float(losses.mean()))
