"""Losses of predicted labels of sequences, row by row and sequence by sequence."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array, Indices

# Name, meaning, and whether it is a share, of the columns of `SequenceLosses.each`.
SEQUENCE_SCORES = (
    ("error of sequences", "share of sequences with a wrong label", True),
    ("log loss of sequences", "mean of -log(probability of all labels of a sequence), natural logarithm", False),
)


@dataclass(frozen=True, eq=False)
class SequenceLosses:
    """What a model predicts for n rows of S sequences with known labels, and its losses."""

    log_probabilities: Array  # (n, C): of the labels of each row, given the whole sequence
    predicted: Array  # (n,): labels
    number: Indices  # (n,): the sequence of each row, counted in the order of first rows
    each: Array  # (S, 2): see `SEQUENCE_SCORES`

    @property
    def per_row(self) -> Array:
        """The log loss of a sequence divided by its length, for each of its rows, (n,)."""
        lengths = np.bincount(self.number)
        return np.asarray((self.each[:, 1] / lengths)[self.number])


def losses_of_sequences(classifier: Any, X: Any, labels: Array, groups: Array) -> SequenceLosses:
    """Losses of a fitted classifier of sequences."""
    probabilities = classifier.predict_proba(X, groups=groups)
    predicted = classifier.predict(X, groups=groups)
    number, joint = _number(groups), classifier.log_likelihood(X, labels, groups=groups)
    wrong = np.bincount(number, weights=predicted != labels) > 0
    # A probability may underflow to zero.
    logs = np.log(np.maximum(probabilities, np.finfo(float).tiny))
    return SequenceLosses(logs, predicted, number, np.stack([wrong, -joint], axis=1))


def losses_of_label_shares(labels: Array, groups: Array) -> Array:
    """Error and log loss of each sequence if every row has the label shares of these rows, (S, 2)."""
    _, place, counts = np.unique(labels, return_inverse=True, return_counts=True)
    number, shares = _number(groups), counts / len(labels)
    wrong = np.bincount(number, weights=place != counts.argmax()) > 0
    return np.stack([wrong, np.bincount(number, weights=-np.log(shares[place]))], axis=1)


def _number(groups: Array) -> Indices:
    """The number of the group of each row, in the order of first rows."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[place])
