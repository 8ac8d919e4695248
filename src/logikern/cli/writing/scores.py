"""Scores of a model: log loss, error, Brier score and calibration; on a class tree; or of numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.cli.models import has_label_sets, is_regression, tree_of
from logikern.cli.preprocessing import final_step
from logikern.cli.writing.label_sets import SetScores, score_sets
from logikern.cli.writing.number_scores import NumberScores, score_numbers
from logikern.cli.writing.sequences import SequenceScores, label_known
from logikern.cli.writing.tree_scores import TreeScores, score_on_tree
from logikern.decisions.intervals import Estimate, bootstrap_means
from logikern.decisions.metrics import calibration_error
from logikern.reporting.assessment import row_losses

CALIBRATION_BINS = 15


@dataclass(frozen=True)
class ClassScore:
    """Frequency and scores of one class."""

    label: str
    rows: int
    mean_probability: float
    recall: float | None
    precision: float | None
    log_loss: float | None


@dataclass(frozen=True)
class Scores:
    """Scores of probabilities on rows with known classes; smaller is better."""

    rows: int
    log_loss: float
    baseline_log_loss: float
    error: float
    brier_score: float
    calibration_error: float
    intervals: dict[str, Estimate]  # the 95 % intervals of log loss, error and Brier score
    per_class: tuple[ClassScore, ...]
    confusion: np.ndarray  # (true class, predicted class), counts


@dataclass(frozen=True)
class Report:
    """scores: for rows whose target is a class, if any; tree: for all rows, if there is a class tree; or numbers."""

    scores: Scores | None
    tree: TreeScores | None = None
    numbers: NumberScores | None = None
    sequences: SequenceScores | None = None  # of whole sequences, if the model labels them
    label_sets: SetScores | None = None  # for a multilabel model


def report_on(model: Any, X: Any, labels: np.ndarray, sequences: np.ndarray | None = None) -> Report:
    """Scores of a model on points with known classes, nodes or numbers; sequences name the sequence of each row."""
    if is_regression(model):
        return Report(None, numbers=_number_scores(model, X, labels))
    if has_label_sets(model):
        return Report(None, label_sets=score_sets(model, X, labels))
    if sequences is not None:
        found = label_known(model, X, labels, sequences)
        own = score(found.log_probabilities, labels, model.classes_, found.predicted, sequences)
        return Report(own, sequences=found.scores)
    log_probabilities, tree = model.predict_log_proba(X), tree_of(model)
    if tree is None:
        return Report(score(log_probabilities, labels, model.classes_))
    at_leaf = np.flatnonzero([tree.n_children[tree.place[label]] == 0 for label in labels.tolist()])
    scores = score(log_probabilities[at_leaf], labels[at_leaf], model.classes_) if len(at_leaf) else None
    return Report(scores, score_on_tree(np.exp(log_probabilities), labels, tree))


def _number_scores(model: Any, X: Any, true: np.ndarray) -> NumberScores:
    predicted, deviations = model.predict(X), final_step(model).held_out_rmse_
    if predicted.ndim > 1:
        raise ValueError(
            f"`logikern evaluate` scores one target, but the model predicts {predicted.shape[1]}. Score it in Python."
        )
    return score_numbers(true, predicted, float(deviations[0]))


def score(
    log_probabilities: np.ndarray,
    labels: np.ndarray,
    classes: np.ndarray,
    decided: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> Scores:
    """Scores of `log_probabilities` (n_points, n_classes), columns in the order of `classes`.

    Predictions are the most probable classes, or the decided classes. Intervals resample whole groups.
    """
    n_points, n_classes = log_probabilities.shape
    position = {label: place for place, label in enumerate(classes.tolist())}
    true = np.array([position[label] for label in labels.tolist()])
    probabilities = np.exp(log_probabilities)
    predicted = probabilities.argmax(axis=1)
    if decided is not None:
        predicted = np.array([position[label] for label in decided.tolist()])
    each = row_losses(log_probabilities, true, predicted)
    means = dict(zip(("log_loss", "error", "brier_score"), bootstrap_means(each, groups=groups), strict=True))
    confusion = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(confusion, (true, predicted), 1)
    shares = np.bincount(true, minlength=n_classes) / n_points
    return Scores(
        rows=n_points,
        log_loss=means["log_loss"].value,
        baseline_log_loss=float(-np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)))),
        error=means["error"].value,
        brier_score=means["brier_score"].value,
        calibration_error=calibration_error(
            labels, probabilities, classes, n_bins=CALIBRATION_BINS, strategy="uniform"
        ),
        intervals=means,
        per_class=_per_class(classes, true, probabilities, each[:, 0], confusion),
        confusion=confusion,
    )


def _per_class(
    classes: np.ndarray,
    true: np.ndarray,
    probabilities: np.ndarray,
    losses: np.ndarray,
    confusion: np.ndarray,
) -> tuple[ClassScore, ...]:
    occurring, predicted = confusion.sum(axis=1), confusion.sum(axis=0)
    return tuple(
        ClassScore(
            label=str(label),
            rows=int(occurring[place]),
            mean_probability=float(probabilities[:, place].mean()),
            recall=_ratio(confusion[place, place], occurring[place]),
            precision=_ratio(confusion[place, place], predicted[place]),
            log_loss=float(losses[true == place].mean()) if occurring[place] else None,
        )
        for place, label in enumerate(classes)
    )


def _ratio(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None
