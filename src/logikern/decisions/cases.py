"""Validation of scores, true classes and weights, once, before they are used."""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from logikern.numerics.outcome import Array, Indices, Mask
from logikern.structure.links import shown
from logikern.structure.tree import as_labels

Labels: TypeAlias = Sequence[Any] | Array

SUM_TOLERANCE = 1e-4  # probabilities in single precision, or averaged over models, sum to 1 only approximately


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases of positive weight with known classes. Build it with `align`."""

    true: Indices  # (n,), the column of each case's class
    scores: Array  # (n, C)
    weights: Array  # (n,), positive, with sum 1
    names: list[Any]  # the label of each column

    @property
    def confidence(self) -> Array:
        """The largest score of each case."""
        return self.scores.max(axis=1)

    @property
    def correct(self) -> Mask:
        """Whether the true class has the largest score; ties go to the first column."""
        return self.scores.argmax(axis=1) == self.true

    @property
    def true_scores(self) -> Array:
        """The score of each case's class."""
        return self.scores[np.arange(len(self.true)), self.true]


def as_scores(values: Any, name: str = "proba") -> Array:
    """A finite table (n, C) with a column per class; larger means more confident."""
    table = as_numbers(values, name, " Pass what `predict_proba` returns.")
    if table.ndim != 2:
        raise ValueError(
            f"`{name}` must have a row per case and a column per class, but has shape {table.shape!r}. Pass what "
            "`predict_proba` returns. For the probability p of one of two classes, pass np.column_stack([1 - p, p])."
        )
    if table.shape[1] < 2:
        raise ValueError(f"`{name}` must have at least two columns, one per class, but has {table.shape[1]}.")
    broken = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if broken.size:
        raise ValueError(f"`{name}` must hold finite numbers, but row {broken[0]} is {table[broken[0]]}.")
    return table


def as_probabilities(values: Any, name: str = "proba") -> Array:
    """A table (n, C) whose rows are distributions over the classes."""
    table = as_scores(values, name)
    totals = table.sum(axis=1)
    negative = np.flatnonzero((table < 0).any(axis=1))
    if negative.size:
        raise ValueError(
            f"`{name}` must hold probabilities, but row {negative[0]} has the negative value "
            f"{table[negative[0]].min():g}. Pass what `predict_proba` returns, not logarithms or decision values."
        )
    wrong = np.flatnonzero(np.abs(totals - 1.0) > SUM_TOLERANCE)
    if wrong.size:
        raise ValueError(
            f"Rows of `{name}` must sum to 1 over the {table.shape[1]} classes, but row {wrong[0]} sums to "
            f"{totals[wrong[0]]:g}. Pass what `predict_proba` returns, or normalise the rows."
        )
    return table


def as_numbers(values: Any, name: str, advice: str = "") -> Array:
    """An array of floats of any shape."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must hold numbers, but is {shown(values)}.{advice}") from None


def check_count(value: Any, name: str) -> None:
    """Reject anything but a positive integer."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < 1:
        raise ValueError(f"`{name}` must be a positive integer, but is {shown(value)}.")


def align(y: Any, scores: Array, classes: Labels | None, sample_weight: Any) -> Cases:
    """True classes as columns of `scores`, without cases of weight 0."""
    plain = isinstance(y, list | tuple) and not any(isinstance(label, list) for label in y)
    labels = as_labels(y) if plain else np.asarray(y)
    if labels.shape != scores.shape[:1]:
        raise ValueError(
            f"`y` must hold one label for each of the {len(scores)} rows of `proba`, but has shape {labels.shape!r}."
        )
    if not len(labels):
        raise ValueError("`y` and `proba` must have at least one row, but are empty.")
    names = _column_names(labels, scores.shape[1], classes)
    true = _columns_of(labels, names)
    weights = as_shares(as_weights(sample_weight, len(labels)))
    used = np.flatnonzero(weights > 0)
    return Cases(true[used], scores[used], weights[used], names)


def _column_names(labels: Array, n_columns: int, classes: Labels | None) -> list[Any]:
    if classes is None:
        names = _sorted_labels(labels)
        if len(names) != n_columns:
            raise ValueError(
                f"`y` has {len(names)} distinct labels, but `proba` has {n_columns} columns. "
                "Pass `classes`, the label of each column, such as `classes_` of the classifier."
            )
        return names
    names = [] if isinstance(classes, str) else as_labels(classes).tolist()
    if len(names) != n_columns or len(set(names)) != n_columns:
        raise ValueError(
            f"`classes` must hold a distinct label for each of the {n_columns} columns of `proba`, "
            f"but is {shown(classes)}."
        )
    return names


def _sorted_labels(labels: Array) -> list[Any]:
    try:
        return np.unique(labels).tolist()
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(
            f"`y` must hold labels of one type, but mixes {', '.join(kinds)}. Drop the rows without a label, or pass "
            "`classes`, the label of each column of `proba`."
        ) from None


def _columns_of(labels: Array, names: list[Any]) -> Indices:
    place = {name: column for column, name in enumerate(names)}
    columns = np.array([place.get(label, -1) for label in labels.tolist()])
    unknown = np.flatnonzero(columns < 0)
    if unknown.size:
        label = labels.tolist()[unknown[0]]
        raise ValueError(
            f"`y` must hold labels of the {len(names)} classes, but row {unknown[0]} is {label!r}. "
            "Drop such rows, or add the label to `classes` and a column to `proba`."
        )
    return columns


def as_weights(sample_weight: Any, n_cases: int) -> Array:
    """Weights of the cases, non-negative and not all 0; None means 1."""
    if sample_weight is None:
        return np.ones(n_cases)
    weights = as_numbers(sample_weight, "sample_weight")
    if weights.shape != (n_cases,):
        raise ValueError(f"`sample_weight` must have shape ({n_cases},), but has {weights.shape!r}.")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"`sample_weight` must be finite and non-negative, but its smallest value is {weights.min():g}."
        )
    if not weights.any():
        raise ValueError("`sample_weight` must be positive for at least one case, but all weights are 0.")
    return weights


def as_shares(weights: Array) -> Array:
    """Weights divided by their sum."""
    weights = weights / weights.max()  # the sum of very large weights may overflow
    return weights / weights.sum()
