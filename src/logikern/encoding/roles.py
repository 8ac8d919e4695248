"""The role of a column: by its type, by the user's choice, or by its values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.encoding.cells import (
    NESTED_TYPES,
    TIME_TYPES,
    WRITTEN_CODE,
    WRITTEN_DATE,
    parse_number,
    spell,
)
from logikern.encoding.complaints import ColumnError, NestedValueError
from logikern.encoding.levels import count_levels
from logikern.encoding.tables import CATEGORY, NUMBER, OBJECT, TIME, TRUTH, Column

LEVELS = "levels"
FROM_DTYPE = "from_dtype"


@dataclass(frozen=True, eq=False)
class Role:
    """The role of a column: numbers, booleans, times or levels.

    Parameters
    ----------
    kind : {"number", "truth", "time", "levels"}
    spelled : bool, default=False
        Whether numbers are written as text.
    named : bool, default=False
        Whether the user, or the type of the column, says that it is a category.
    """

    kind: str
    spelled: bool = False
    named: bool = False


def read_choices(categorical_features: Any, names: Sequence[str], has_names: bool) -> list[bool | None]:
    """For each column: True if it is a category, False if not, None if its type decides."""
    if categorical_features is None:
        return [False] * len(names)
    chosen = _chosen_places(list_chosen(categorical_features), names, has_names)
    return [True if place in chosen else None for place in range(len(names))]


def list_chosen(categorical_features: Any) -> list[Any]:
    """The entries of a list of names or positions, or of a mask; empty if the types of the columns decide."""
    if categorical_features is None:
        return []
    entries: list[Any] | None
    if isinstance(categorical_features, str):
        entries = None if categorical_features != FROM_DTYPE else []
    else:
        is_list = np.ndim(np.asarray(categorical_features, dtype=object)) == 1
        entries = list(categorical_features) if is_list else None
    if entries is None or not all(isinstance(entry, str | int | bool | np.integer | np.bool_) for entry in entries):
        raise ValueError(
            "`categorical_features` must be 'from_dtype', None, a list of names or positions, or a mask, but is "
            f"{categorical_features!r}. Pass a list, even for one column."
        )
    return entries


def _chosen_places(entries: list[Any], names: Sequence[str], has_names: bool) -> set[int]:
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        if len(entries) != len(names):
            raise ValueError(
                f"`categorical_features` must have one boolean for each of the {len(names)} columns of `X`, but "
                f"has {len(entries)}."
            )
        return {place for place, entry in enumerate(entries) if entry}
    return {_place(entry, names, has_names) for entry in entries}


def _place(entry: Any, names: Sequence[str], has_names: bool) -> int:
    if isinstance(entry, int | np.integer) and 0 <= entry < len(names):
        return int(entry)
    if isinstance(entry, str) and has_names and entry in names:
        return names.index(entry)
    known = f"the columns {list(names)!r}" if has_names else "no column names"
    raise ValueError(
        f"`categorical_features` must hold names of columns or positions below {len(names)}, but holds {entry!r}. "
        f"`X` has {known}."
    )


def assign_role(column: Column, choice: bool | None) -> Role:
    """The role of a column in the training data."""
    if choice:
        if column.kind == OBJECT:
            _refuse_types(column.name, column.objects())
        return Role(LEVELS, named=True)
    if column.kind in (NUMBER, TRUTH, TIME):
        return Role(column.kind)
    if choice is None and column.kind == CATEGORY:
        return Role(LEVELS, named=True)
    return _role_of_objects(column, column.objects(), may_be_levels=choice is None)


def _role_of_objects(column: Column, values: list[Any], may_be_levels: bool) -> Role:
    """The role of values of any types; missing values are None."""
    kinds = _refuse_types(column.name, values)
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return Role(TRUTH)
    are_times = [issubclass(kind, TIME_TYPES) for kind in kinds]
    if kinds and all(are_times):
        return Role(TIME)
    if any(are_times):
        row = _first(values, lambda value: not isinstance(value, TIME_TYPES))
        raise ColumnError(column.name, "mixed dates", f"mixes dates with other values: it holds {values[row]!r}", row)
    spellings, _ = count_levels(values)
    texts = [text for text in spellings if str in kinds]
    if texts and all(map(WRITTEN_DATE.match, texts)):
        raise ColumnError(column.name, "written dates", "holds dates as text")
    others = {text for text in spellings if parse_number(text) is None}
    if others and not may_be_levels:
        row = _first(values, lambda value: spell(value) in others)
        raise ColumnError(
            column.name, "text", f"is not categorical, so it must hold numbers, but it holds {values[row]!r}", row
        )
    if not others:
        is_code = may_be_levels and any(map(WRITTEN_CODE.match, texts))
        return Role(LEVELS) if is_code else Role(NUMBER, spelled=bool(texts))
    n_others = sum(spellings[text] for text in others)
    if 2 * n_others < spellings.total():
        row = _first(values, lambda value: spell(value) in others)
        raise ColumnError(
            column.name,
            "mixed",
            f"mixes types: most values are numbers, but {n_others} are not, the first being {values[row]!r}",
            row,
        )
    return Role(LEVELS)


def _refuse_types(name: str, values: list[Any]) -> set[type]:
    """The types of the values; containers and complex numbers are an error."""
    kinds = set(map(type, values)) - {type(None)}
    if any(issubclass(kind, NESTED_TYPES) for kind in kinds):
        row = _first(values, lambda value: isinstance(value, NESTED_TYPES))
        shown = "record" if isinstance(values[row], dict) else "list"
        # scikit-learn's checks expect "argument must be a string or a number".
        rule = ", but every value in the `X` argument must be a string or a number"
        raise NestedValueError(name, "nested", f"holds a {shown}", row, rule)
    if any(issubclass(kind, complex | np.complexfloating) for kind in kinds):
        raise ColumnError(name, "complex", "holds complex numbers")
    return kinds


def _first(values: Iterable[Any], is_meant: Any) -> int:
    """The row of the first present value that satisfies the condition."""
    return next(row for row, value in enumerate(values) if value is not None and is_meant(value))
