"""The target column as class labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from logikern.cli.reading.cells import POLICY, level, levels, name_list, numbers, row_names, show_wrong
from logikern.structure.links import SEPARATOR
from logikern.structure.tree import as_labels


def missing_targets(target: pd.Series, drop: bool) -> np.ndarray:
    """Which rows have no target; without `drop` such a row is an error."""
    missing = target.isna().to_numpy(dtype=bool)
    if missing.all():
        raise ValueError(f"every value of the target `{target.name}` is missing. Name another column.")
    if missing.any() and not drop:
        raise ValueError(
            f"the target `{target.name}` is missing in {row_names(np.flatnonzero(missing))}. "
            "Fill it in, or pass `--drop-missing-target` to drop these rows."
        )
    return missing


def class_labels(target: pd.Series) -> np.ndarray:
    """Labels for the fit: integers if all are integers, otherwise text."""
    spelled = levels(target)
    classes = np.unique(spelled.astype(str))
    if len(classes) < 2:
        raise ValueError(
            f"the target `{target.name}` has only one class, {str(classes[0])!r}, but needs at least "
            "two. Check the column, or add rows of another class."
        )
    values = numbers(pd.Series(spelled))
    if np.isfinite(values).all():
        _refuse_measurements(target, values)
    return as_integers(spelled)


def as_integers(spelled: np.ndarray) -> np.ndarray:
    """Integers if all are spelled as integers, otherwise text: "01" and "1" are different names."""
    values = numbers(pd.Series(spelled))
    if np.isfinite(values).all():
        integers = values.astype(np.int64)
        if np.array_equal(integers.astype(str), spelled.astype(str)):
            return integers
    return spelled.astype(str)


def measurements(target: pd.Series) -> np.ndarray:
    """The target of a regression, as finite numbers."""
    values = numbers(target)
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise ValueError(
            f"regression needs numbers, but the target `{target.name}` holds "
            f"{show_wrong(target, wrong)}. Correct these values; for classes, fit without `--regression`."
        )
    return values


def known_labels(target: pd.Series, classes: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Labels as classes of the model or nodes of its tree; an unknown label is an error."""
    own = {level(joined(label)): label for label in classes}
    found = levels(target)
    unknown = np.array([label not in own for label in found])
    if unknown.any():
        first = np.flatnonzero(unknown)
        raise ValueError(
            f"the target `{target.name}` holds {show_wrong(target, first)}, "
            f"but the model knows the classes {name_list(own)}. Drop these rows, or fit a new model with them."
        )
    return as_labels([own[label] for label in found])


def joined(label: Any) -> Any:
    """A label as text if it is a path in the form of a tuple; any other label unchanged."""
    return SEPARATOR.join(map(str, label)) if isinstance(label, tuple) else label


def parse_class_weight(text: str | None, labels: np.ndarray) -> str | dict[Any, float] | None:
    """`balanced`, or `LABEL=WEIGHT,LABEL=WEIGHT` for the classes among `labels`."""
    if text is None or text == "balanced":
        return text
    own = {level(label): label for label in np.unique(labels).tolist()}
    weights = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        if name.strip() not in own or not _is_weight(number):
            raise ValueError(
                f"`--class-weight` must be `balanced` or `LABEL=WEIGHT,...` with the classes {name_list(own)} "
                f"and positive weights, but has {part!r}."
            )
        weights[own[name.strip()]] = float(number)
    return weights


def _is_weight(text: str) -> bool:
    try:
        return 0 < float(text) < np.inf
    except ValueError:
        return False


def _refuse_measurements(target: pd.Series, values: np.ndarray) -> None:
    fractional = np.unique(values[values != np.floor(values)])
    if len(fractional) > POLICY.fractional_classes:
        raise ValueError(
            f"the target `{target.name}` has {len(fractional)} different fractional values, such as "
            f"{fractional[0]:g}. It looks like a measurement, not like classes. Pass `--regression` to "
            "predict it as a number. For classes, name another column or bin this one."
        )


def suspect_measurements(target: pd.Series, labels: np.ndarray) -> str | None:
    """A warning if the classes are whole numbers, and so numerous that they look like a measurement."""
    classes, counts = np.unique(labels, return_counts=True)
    is_many = len(classes) > POLICY.whole_classes and counts.mean() < POLICY.rows_per_class
    if classes.dtype.kind != "i" or not is_many:
        return None
    return (
        f"the target `{target.name}` has {len(classes)} different whole numbers from {classes[0]} to {classes[-1]}, "
        f"with {counts.mean():.1f} rows each on average. It looks like a measurement. Pass `--regression` to "
        "predict it as a number. If these are classes, ignore this warning."
    )
