"""Checks of single arguments. Each raises a ValueError that says what was expected."""

import numbers
from typing import Any

import numpy as np


def check_whole(argument: str, value: Any, least: int) -> None:
    """Raise unless the value is a whole number of at least `least`."""
    if not is_number(value, numbers.Integral) or value < least:
        raise ValueError(f"`{argument}` must be a whole number of at least {least}, but is {value!r}.")


def check_name(argument: str, value: Any, names: tuple[str, ...], other: str = "") -> None:
    """Raise unless the value is one of the names; `other` says what else may be passed."""
    if not (isinstance(value, str) and value in names):
        raise ValueError(f"`{argument}` must be one of {list(names)}{other and f' {other}'}, but is {value!r}.")


def check_choice(argument: str, value: Any) -> None:
    """Raise unless the value is "auto", True or False."""
    if not (isinstance(value, bool | np.bool_) or is_auto(value)):
        raise ValueError(f"`{argument}` must be 'auto', True or False, but is {value!r}.")


def check_flag(argument: str, value: Any) -> None:
    """Raise unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"`{argument}` must be True or False, but is {value!r}.")


def is_number(value: Any, kind: type = numbers.Real) -> bool:
    """Whether the value is a number; True and False are not."""
    return isinstance(value, kind) and type(value) is not bool


def is_auto(value: Any) -> bool:
    """Whether a setting is "auto"; comparing an array with text would give an array."""
    return isinstance(value, str) and value == "auto"


def check_positive(argument: str, value: Any) -> None:
    """Raise unless the value is a positive finite number."""
    if not is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"`{argument}` must be a positive number, but is {value!r}.")
