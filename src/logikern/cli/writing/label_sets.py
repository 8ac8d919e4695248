"""Predictions and scores of multilabel models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from logikern.cli.preprocessing import final_step
from logikern.cli.reading.labels import joined
from logikern.decisions.intervals import Estimate, bootstrap_means
from logikern.decisions.label_sets import DECISIONS
from logikern.estimators._report.set_losses import LabelScore, losses_of_sets, losses_of_shares, score_labels, written

HAMMING = "hamming"


@dataclass(frozen=True)
class SetScores:
    """Scores of label sets; each loss is measured for the decisions that minimise its expectation."""

    rows: int
    joint_log_loss: float
    baseline_joint_log_loss: float  # of independent labels with the frequencies in these rows
    hamming_loss: float
    subset_error: float
    f1: float  # mean over rows; 1 if a row has no labels and no label is predicted
    intervals: dict[str, Estimate]  # the 95 % intervals of the scores, by their names
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
    sets = written(decided == 1, names)
    return pd.DataFrame({"predicted": sets} | {f"probability_{name}": proba[:, n] for n, name in enumerate(names)})


def score_sets(model: Any, X: Any, sets: np.ndarray) -> SetScores:
    """Scores of a model on rows with known labels, (n, L)."""
    classifier, inputs = _at_classifier(model, X)
    truth = sets == 1
    found, baseline = losses_of_sets(classifier, inputs, truth), losses_of_shares(truth)
    joint, hamming, subset, lost = bootstrap_means(found.each)
    f1 = Estimate(1.0 - lost.value, 1.0 - lost.high, 1.0 - lost.low)
    return SetScores(
        rows=len(truth),
        joint_log_loss=joint.value,
        baseline_joint_log_loss=float(baseline.each[:, 0].mean()),
        hamming_loss=hamming.value,
        subset_error=subset.value,
        f1=f1.value,
        intervals={"joint_log_loss": joint, "hamming_loss": hamming, "subset_error": subset, "f1": f1},
        per_label=score_labels(found, truth, [str(joined(label)) for label in classifier.classes_.tolist()]),
    )


def _at_classifier(model: Any, X: Any) -> tuple[Any, Any]:
    """The classifier, and its inputs after the other steps of a pipeline."""
    classifier = final_step(model)
    return classifier, X if classifier is model else model[:-1].transform(X)
