"""Labels and distributions over classes, and their numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from logikern.numerics.outcome import Array, Indices
from logikern.structure.targets import from_distributions

# Maximum number of rows in an error message.
N_NAMED = 5


def refuse_missing(y: Any) -> None:
    """Reject missing targets (None, NaN, NaT, pandas' NA), and name their rows."""
    rows = missing_rows(y)
    if rows.size:
        named = ("row " if len(rows) == 1 else "rows ") + ", ".join(map(str, rows[:N_NAMED]))
        more = f" and {len(rows) - N_NAMED} more" if len(rows) > N_NAMED else ""
        raise ValueError(
            f"`y` must have a value in every row, but is None, NaN or NA in {named}{more}. Drop these rows, or fill "
            "in their values."
        )


def missing_rows(y: Any) -> Indices:
    """Rows whose target is None, NaN, NaT or pandas' NA."""
    if hasattr(y, "isna"):  # pandas; its nullable columns become objects only if something is missing
        missing = np.asarray(y.isna(), dtype=bool)
    elif isinstance(y, list | tuple):  # labels may be tuples, which must not become an array
        missing = np.array([_is_missing(label) for label in y], dtype=bool)
    else:
        values = np.asarray(y)
        missing = np.zeros(values.shape, dtype=bool)
        if values.dtype.kind in "fmM":
            missing = np.isnat(values) if values.dtype.kind in "mM" else np.isnan(values)
        elif values.dtype.kind == "O":
            missing = np.array([_is_missing(label) for label in values.ravel()], dtype=bool).reshape(values.shape)
    return np.flatnonzero(missing.any(axis=tuple(range(1, missing.ndim))))


def _is_missing(label: Any) -> bool:
    # Comparisons with pandas' NA give NA. It is recognised by name, because pandas need not be installed.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | np.floating) and bool(np.isnan(label))


def is_table(y: Any) -> bool:
    """Whether y has several columns."""
    values = np.asarray(y)
    return values.ndim == 2 and values.shape[1] > 1


def read_distributions(y: Any) -> Array:
    """Distributions (C, n) from a table with a column per class."""
    if np.asarray(y).dtype.kind not in "buif":
        raise ValueError(
            f"`y` with {y.shape[1]} columns must hold distributions over classes, but holds values that are "
            "not numbers. Pass class labels as one column."
        )
    return from_distributions(np.asarray(y))


def read_labels(y: Any) -> tuple[Array, Indices]:
    """The distinct labels, sorted, and the number of each row's label."""
    y = column_or_1d(y, warn=True)
    try:
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y})
        raise ValueError(
            f"`y` must hold labels of one kind, but mixes {', '.join(kinds)}. Use names for all classes, or "
            "numbers for all classes."
        ) from None
    return classes, labels


def class_against_rest(data: Any) -> Iterator[Array]:
    """For each class a target of all given rows: True or False, or a distribution over rest and class if soft.

    A class without a row of positive weight is an error.
    """
    absent = data.classes[~(data.targets > 0).any(axis=1)]
    if len(absent):
        raise ValueError(
            f"`one_vs_rest` is True, but no row of the class {str(absent[0])!r} has a positive weight, so there is "
            "nothing to learn about it. Drop the class, give its rows positive weights, or fit all classes together "
            "(one_vs_rest=False)."
        )
    soft = ((data.targets > 0) & (data.targets < 1)).any()
    for target in data.targets:
        share = np.zeros(data.n_rows)
        share[data.kept] = target
        yield np.column_stack([1.0 - share, share]) if soft else share > 0
