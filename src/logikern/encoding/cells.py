"""Single values of a table: missing values, numbers, dates, and the spelling of levels."""

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

DAY = datetime.timedelta(days=1)
EPOCH = datetime.datetime(1970, 1, 1)
WRITTEN_DATE = re.compile(r"^\d{4}-\d{1,2}-\d{1,2}([T ].*)?$|^\d{1,2}[./]\d{1,2}[./]\d{2,4}( .*)?$")
WRITTEN_CODE = re.compile(r"^0\d")  # "007" is a name, not a number
TRUTHS = {"true": 1.0, "false": 0.0}
# A class of pandas is recognised by its name, so that pandas need not be installed.
MISSING_TYPES = ("NAType", "NaTType")
TIME_TYPES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
NESTED_TYPES = (list, tuple, dict, set, frozenset, np.ndarray)


def without_missing(values: list[Any]) -> list[Any]:
    """The values, with None in place of missing values."""
    if set(map(type, values)) <= {str, type(None)}:
        return values
    return [None if is_missing(value) else value for value in values]


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if isinstance(value, str):
        return False
    if value is None or type(value).__name__ in MISSING_TYPES:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # an array has no single truth value
        return False


def spell(value: Any) -> str:
    """The spelling of a level, the same for all types and libraries: `true`, `3`, `red`."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float | np.floating | Decimal) and _is_whole(value):
        return str(int(value))
    text = str(value)
    return text.lower() if text.lower() in TRUTHS else text


def spell_all(values: Sequence[Any]) -> list[str | None]:
    """The spelling of every value, None for None."""
    if set(map(type, values)) <= {str, type(None)}:
        # Few values are distinct. Values of other types may be equal but spelled differently, such as 1 and True.
        known = {value: None if value is None else spell(value) for value in set(values)}
        return [known[value] for value in values]
    return [None if value is None else spell(value) for value in values]


def _is_whole(value: Any) -> bool:
    return bool(value == value // 1) if abs(value) < np.inf else False


def parse_number(text: str) -> float | None:
    """The number that a text spells, if any; NaN does not count as a number."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if number != number or "_" in text else number


def to_days(value: Any) -> float:
    """A date as days since 1970 (UTC if it has a time zone), a duration or a time of day in days."""
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype(np.int64)) / (DAY // datetime.timedelta(microseconds=1))
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "D"))
    if isinstance(value, datetime.datetime):
        origin = EPOCH if value.tzinfo is None else EPOCH.replace(tzinfo=datetime.UTC)
        return (value - origin) / DAY
    if isinstance(value, datetime.date):
        return float(value.toordinal() - EPOCH.toordinal())
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(EPOCH, value.replace(tzinfo=None)) - EPOCH
    return value / DAY
