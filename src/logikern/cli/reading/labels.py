"""The target column as class labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from logikern.cli.reading.cells import level, levels, name_list, numbers, row_names
from logikern.structure.links import SEPARATOR
from logikern.structure.tree import as_labels

# More distinct fractional values than this are a measured quantity, not classes.
MAX_FRACTIONAL_CLASSES = 20


def missing_targets(target: pd.Series, drop: bool) -> np.ndarray:
    """Which rows have no target; without `drop` any such row is refused."""
    missing = target.isna().to_numpy(dtype=bool)
    if missing.all():
        raise ValueError(f"every value of the target `{target.name}` is missing. Name another column.")
    if missing.any() and not drop:
        raise ValueError(
            f"the target `{target.name}` is missing in {row_names(np.flatnonzero(missing))}. "
            "Fill it in, or pass `--drop-missing-target` to leave these rows out."
        )
    return missing


def class_labels(target: pd.Series) -> np.ndarray:
    """Labels to fit on: integers if every one is an integer, otherwise their spelling."""
    spelled = levels(target)
    classes = np.unique(spelled.astype(str))
    if len(classes) < 2:
        raise ValueError(
            f"the target `{target.name}` has one class only, {str(classes[0])!r}, but at least two are "
            "wanted. Check the column, or bring rows of another class."
        )
    values = numbers(pd.Series(spelled))
    if np.isfinite(values).all():
        _refuse_measurements(target, values)
    return as_integers(spelled)


def as_integers(spelled: np.ndarray) -> np.ndarray:
    """Integers if every spelling is that of one, otherwise text: "01" and "1" are different names."""
    values = numbers(pd.Series(spelled))
    if np.isfinite(values).all():
        integers = values.astype(np.int64)
        if np.array_equal(integers.astype(str), spelled.astype(str)):
            return integers
    return spelled.astype(str)


def known_labels(target: pd.Series, classes: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Labels in the model's own classes, or nodes of its tree; a label that it does not know is refused."""
    own = {level(joined(label)): label for label in classes}
    found = levels(target)
    unknown = np.array([label not in own for label in found])
    if unknown.any():
        first = np.flatnonzero(unknown)
        raise ValueError(
            f"the target `{target.name}` holds {found[first[0]]!r} in {row_names(target.index[first])}, "
            f"but the model knows the classes {name_list(own)}. Leave these rows out, or fit again with them."
        )
    return as_labels([own[label] for label in found])


def joined(label: Any) -> Any:
    """A label of a model that was fitted in Python: a path that is a tuple as text, any other as it is."""
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
                f"`--class-weight` wants `balanced` or `LABEL=WEIGHT,...` with the classes {name_list(own)} "
                f"and positive weights, but got {part!r}."
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
    if len(fractional) > MAX_FRACTIONAL_CLASSES:
        raise ValueError(
            f"the target `{target.name}` has {len(fractional)} different fractional values, such as "
            f"{fractional[0]:g}: it looks measured, but classes are wanted. Name another column, or bin it."
        )
