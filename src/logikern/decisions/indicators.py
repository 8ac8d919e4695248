"""Validation of label indicators and of the probabilities of labels."""

import numbers
from typing import Any

import numpy as np

from logikern.decisions.cases import as_numbers
from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Array, Mask

_ADVICE = "Turn lists or sets of labels into indicators with sklearn.preprocessing.MultiLabelBinarizer."


def as_indicator(values: Any, name: str) -> Mask:
    """Whether each row has each label, (n, L), from zeros and ones, dense or sparse, or from booleans."""
    table = _table(values.toarray() if is_sparse(values) else values, name)
    if not np.array_equal(table, np.round(table)):
        raise ValueError(f"`{name}` must hold 0 (label absent) and 1 (label present), but has continuous values.")
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(
            f"`{name}` must be an indicator matrix with a row per case and a column per label, but has shape "
            f"{table.shape!r}. Only binary classification is supported: each label is either present or absent. "
            f"{_ADVICE} If every row has exactly one class, use KernelLogisticClassifier."
        )
    wrong = np.argwhere((table != 0) & (table != 1))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(
            f"`{name}` must hold 0 (label absent) and 1 (label present), but row {row} has {table[row, column]:g} in "
            f"column {column}. {_ADVICE} If the values are classes of one target, use KernelLogisticClassifier."
        )
    return table == 1


def _table(values: Any, name: str) -> Array:
    """An array of numbers; lists of labels are rejected."""
    try:
        if isinstance(values, list | tuple) and any(isinstance(row, str | set | frozenset | dict) for row in values):
            raise TypeError
        table = np.asarray(values)
        if table.dtype.kind != "c":
            return table.astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"`{name}` must be an indicator matrix of zeros and ones, but holds other values or rows of different "
            f"length. {_ADVICE}"
        ) from None
    raise ValueError(f"Complex data not supported: `{name}` must hold zeros and ones.")


def as_marginals(values: Any, shape: tuple[int, ...], name: str = "proba") -> Array:
    """Probabilities of labels, of a given shape (n, L)."""
    table = as_numbers(values, name, " Pass what `predict_proba` returns.")
    if table.shape != shape:
        raise ValueError(
            f"`{name}` must have a probability for each of the {shape[0]} rows and {shape[1]} labels of `y`, but has "
            f"shape {table.shape!r}. Pass what `predict_proba` returns."
        )
    wrong = np.flatnonzero(~((table >= 0) & (table <= 1)).all(axis=1))
    if wrong.size:
        raise ValueError(
            f"`{name}` must hold probabilities between 0 and 1, but row {wrong[0]} is {table[wrong[0]]}. Pass what "
            "`predict_proba` returns."
        )
    return table


def as_share(value: Any, name: str) -> float:
    """A number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0.0 <= float(value) <= 1.0:
        raise ValueError(f"`{name}` must be a number between 0 and 1, but is {value!r}.")
    return float(value)
