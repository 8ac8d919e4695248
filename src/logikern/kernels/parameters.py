"""Learned parameters as dataclass fields: a kernel declares them once, and names and logarithms follow.

A field made by `positive` is learned as its logarithm. Fields made by `whole` and `places` are fixed: an integer, and
which of several values each input has. A field made by `part` holds another record whose parameters are passed
through with the field's name in front.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

Record = TypeVar("Record")

_KIND, _ROLE = "logikern.kind", "logikern.role"
# Roles of inverse squared length scales: one for all inputs, or one per input.
RATES = ("rate", "rate per input")
_POSITIVE, _POSITIVE_PER_INPUT, _WHOLE, _PLACES, _PART = "positive", "positive per input", "whole", "places", "part"
_VALUES = "logikern.values"


def positive(default: float, *, per_input: bool = False, role: str = "shape") -> Any:
    """Declare a positive field, learned as its logarithm.

    Parameters
    ----------
    default : float
        Default value.
    per_input : bool, default=False
        Whether a sequence is accepted as well: one value per input.
    role : str, default="shape"
        What the parameter controls. A "rate" is an inverse squared length scale, which grows with the number of
        points and may differ between inputs.
    """
    kind = _POSITIVE_PER_INPUT if per_input else _POSITIVE
    return dataclasses.field(default=default, metadata={_KIND: kind, _ROLE: role})


def whole(default: int) -> Any:
    """Declare a fixed integer field of at least 1; it is not learned."""
    return dataclasses.field(default=default, metadata={_KIND: _WHOLE})


def places(values: str) -> Any:
    """Declare a fixed keyword field: None, or for every input the position of its value in another field.

    `values` names that field, made by `positive` with `per_input`.
    """
    return dataclasses.field(default=None, kw_only=True, repr=False, metadata={_KIND: _PLACES, _VALUES: values})


def part() -> Any:
    """Declare a field that holds another record with parameters of its own."""
    return dataclasses.field(metadata={_KIND: _PART})


def normalise(record: Any) -> None:
    """Check the declared fields and store them as float, int or tuple.

    Records then compare and hash by value, for any type of sequence or number. Only for `__post_init__` of frozen
    dataclasses.
    """
    for field, value in _declared(record):
        kind = field.metadata[_KIND]
        if kind == _PART:
            continue
        if kind == _WHOLE:
            checked: Any = _checked_whole(field.name, value)
        elif kind == _PLACES:
            checked = _checked_places(field.name, value, field.metadata[_VALUES], record)
        elif kind == _POSITIVE_PER_INPUT and np.ndim(value) == 1:
            checked = tuple(_checked_positive(f"{field.name}[{index}]", entry) for index, entry in enumerate(value))
            if not checked:
                raise ValueError(
                    f"`{field.name}` must have one value per input, but is empty. Pass one number for all."
                )
        else:
            checked = _checked_positive(field.name, value)
        object.__setattr__(record, field.name, checked)


def names(record: Any) -> tuple[str, ...]:
    """Name of every learned parameter: `rate`, `rate[3]`, or `left.rate` for a part."""
    found: list[str] = []
    for field, value in _learned(record):
        if field.metadata[_KIND] == _PART:
            found.extend(f"{field.name}.{name}" for name in names(value))
        elif isinstance(value, tuple):
            found.extend(f"{field.name}[{index}]" for index in range(len(value)))
        else:
            found.append(field.name)
    return tuple(found)


def roles(record: Any) -> tuple[str, ...]:
    """Role of every learned parameter, in the order of `names`."""
    found: list[str] = []
    for field, value in _learned(record):
        if field.metadata[_KIND] == _PART:
            found.extend(roles(value))
        elif isinstance(value, tuple):
            found.extend([f"{field.metadata[_ROLE]} per input"] * len(value))
        else:
            found.append(field.metadata[_ROLE])
    return tuple(found)


def logarithms(record: Any) -> np.ndarray:
    """Logarithm of every learned parameter, in the order of `names`."""
    found = [
        logarithms(value) if field.metadata[_KIND] == _PART else np.log(np.atleast_1d(value))
        for field, value in _learned(record)
    ]
    return np.concatenate(found) if found else np.zeros(0)


def with_logarithms(record: Record, values: Sequence[float] | np.ndarray) -> Record:
    """The same record with learned parameters exp(values), in the order of `names`."""
    logs = np.asarray(values, dtype=np.float64)
    wanted = len(names(record))
    if logs.shape != (wanted,):
        raise ValueError(
            f"`values` must hold {wanted} log parameters, but has shape {logs.shape!r}. "
            f"Pass one value for each of {names(record)!r}."
        )
    changes: dict[str, Any] = {}
    for field, value in _learned(record):
        if field.metadata[_KIND] == _PART:
            count = len(names(value))
            changes[field.name] = with_logarithms(value, logs[:count])
        elif isinstance(value, tuple):
            count = len(value)
            changes[field.name] = tuple(map(_exponential, logs[:count]))
        else:
            count = 1
            changes[field.name] = _exponential(logs[0])
        logs = logs[count:]
    return dataclasses.replace(record, **changes)  # type: ignore[type-var]


def parts(record: Any) -> list[Any]:
    """The parts of a record."""
    return [value for field, value in _declared(record) if field.metadata[_KIND] == _PART]


def _declared(record: Any) -> Iterator[tuple[dataclasses.Field, Any]]:
    """Fields made by a function of this file, with their values."""
    for field in dataclasses.fields(record):
        if _KIND in field.metadata:
            yield field, getattr(record, field.name)


def _learned(record: Any) -> Iterator[tuple[dataclasses.Field, Any]]:
    return ((field, value) for field, value in _declared(record) if field.metadata[_KIND] not in (_WHOLE, _PLACES))


def _exponential(logarithm: float) -> float:
    """exp, with infinity instead of an error: the check of the record then names the parameter."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf


def _checked_positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 < number < math.inf:
        raise ValueError(
            f"`{name}` must be a positive finite number, but is {value!r}. "
            "Its logarithm is learned: pass a small positive number instead of zero."
        )
    return number


def _checked_whole(name: str, value: Any) -> int:
    try:
        number = int(value)
        exact = number == value
    except (TypeError, ValueError, OverflowError):
        number, exact = 0, False
    if number < 1 or not exact:
        raise ValueError(f"`{name}` must be an integer of at least 1, but is {value!r}. Pass 1, 2, 3, ...")
    return number


def _checked_places(name: str, value: Any, values: str, record: Any) -> tuple[int, ...] | None:
    """None, or one position per input, so that every value belongs to some input."""
    if value is None:
        return None
    found = np.asarray(value)
    if found.ndim != 1 or not found.size or found.dtype.kind not in "iu" or found.min() < 0:
        raise ValueError(
            f"`{name}` must be a sequence of integers 0, 1, 2, ..., one per input, but is {value!r}. "
            "Pass None if every input has a value of its own."
        )
    given = getattr(record, values)
    n_values = len(given) if np.ndim(given) == 1 else int(found.max()) + 1
    used = set(found.tolist())
    if used != set(range(n_values)):
        wrong = max(used) if max(used) >= n_values else min(set(range(n_values)) - used)
        problem = "occurs" if wrong in used else "is missing"
        raise ValueError(
            f"`{name}` must contain every position in `{values}`, from 0 to {n_values - 1}, and no other, but "
            f"position {wrong} {problem}. For every input, pass the position of its value in `{values}`; inputs may "
            "share a value."
        )
    return tuple(found.tolist())
