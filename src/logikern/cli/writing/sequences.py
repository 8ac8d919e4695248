"""Sequence models: predictions, scores and description."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from logikern.cli.models import outcome_sentence
from logikern.cli.preprocessing import final_step, roles_of
from logikern.cli.reading.inputs import wanted_columns
from logikern.cli.writing.description import hyperparameters, plain
from logikern.cli.writing.outputs import labelled_probabilities
from logikern.decisions.intervals import Estimate, bootstrap_means
from logikern.estimators._report.sequence_losses import losses_of_sequences
from logikern.model.persistence import NOTES, read_header, read_notes


@dataclass(frozen=True)
class SequenceScores:
    """Scores of whole sequences; smaller is better. Intervals resample sequences."""

    sequences: int
    error: float  # share of sequences with a wrong label
    log_loss: float  # mean of -log(probability of all labels of a sequence)
    log_loss_per_row: float
    intervals: dict[str, Estimate]  # the 95 % intervals of the scores, by their names


@dataclass(frozen=True)
class Labelling:
    """What a model says about rows with known labels."""

    log_probabilities: np.ndarray  # (n, C): of the labels of each row, given the whole sequence
    predicted: np.ndarray  # (n,)
    scores: SequenceScores


def labelled_sequences(model: Any, X: Any, names: np.ndarray) -> pd.DataFrame:
    """The predicted label of every row, and the probability of each label."""
    predicted = model.predict(X, groups=names)
    return labelled_probabilities(model.predict_proba(X, groups=names), model.classes_, predicted)


def label_known(model: Any, X: Any, labels: np.ndarray, names: np.ndarray) -> Labelling:
    """Probabilities, predictions and scores of whole sequences, for rows with known labels."""
    classifier, inputs = final_step(model), X if final_step(model) is model else model[:-1].transform(X)
    found = losses_of_sequences(classifier, inputs, labels, names)
    error, log_loss = bootstrap_means(found.each)
    per_row = bootstrap_means(found.per_row[:, None], groups=found.number)[0]
    intervals = {"error": error, "log_loss": log_loss, "log_loss_per_row": per_row}
    scores = SequenceScores(len(found.each), error.value, log_loss.value, per_row.value, intervals)
    return Labelling(found.log_probabilities, found.predicted, scores)


def describe_sequences(model: Any, path: Path) -> dict[str, Any]:
    """A sequence model as plain JSON values."""
    classifier, roles = final_step(model), roles_of(model)
    inputs: dict[str, Any] = {"columns": wanted_columns(model)}
    if roles is not None:
        inputs = {"numeric": roles.numeric, "categorical": roles.categorical, "text": roles.text}
    own = classifier.specification_.positions
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "model": type(classifier).__name__,
        "pipeline": [type(step).__name__ for _, step in model.steps] if classifier is not model else None,
        "classes": [plain(label) for label in classifier.classes_.tolist()],
        "inputs": {kind: list(names) for kind, names in inputs.items() if names},
        "features": classifier.encoder_.n_inputs,
        "training_rows": classifier.n_training_rows_,
        "parameters": {name: plain(value) for name, value in classifier.get_params(deep=False).items()},
        "kernels": [str(kernel) for kernel in own.kernels],
        "variances": list(own.variances),
        "newton_steps": plain(classifier.n_iter_),
        "outcome": outcome_sentence(classifier),
        "criterion_value": plain(classifier.criterion_value_),
        "evaluations": len(classifier.trace_),
        "stopped_early": classifier.stopped_early_ or None,
        "hyperparameters": hyperparameters(model),
        "transitions": classifier.transition_.tolist(),
        "first_labels": classifier.start_.tolist(),
        "last_labels": classifier.end_.tolist(),
        "verdicts": [],
        "fit": read_notes(path),
        "written_by": {name: value for name, value in read_header(path).items() if name != NOTES},
    }
