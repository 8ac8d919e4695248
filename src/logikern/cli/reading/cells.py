"""Single values of a table: which are missing, which are numbers, and how a category is spelled."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from logikern.structure.links import SEPARATOR

# Spellings of "missing" in CSV and TSV. "None" is not among them: it is a frequent class name.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "?")


def level(value: Any) -> str:
    """The one spelling of a category or class, whatever the file format: `true`, `3`, `red`, `animal/bird`."""
    if isinstance(value, list | tuple | np.ndarray):
        return SEPARATOR.join(map(level, value))
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = str(value)
    return text.lower() if text.lower() in ("true", "false") else text


def levels(values: pd.Series) -> np.ndarray:
    """Every value by its spelling, NaN where it is missing; an object array."""
    spelled = np.empty(len(values), dtype=object)
    missing = values.isna().to_numpy(dtype=bool)
    spelled[missing] = np.nan
    spelled[~missing] = [level(value) for value in values[~missing]]
    return spelled


def numbers(values: pd.Series) -> np.ndarray:
    """Every value as float64, NaN where it is missing or not a number."""
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.astype("float64").to_numpy()
    return pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def not_numbers(values: pd.Series) -> np.ndarray:
    """Positions of present values that are not numbers."""
    return np.flatnonzero(np.isnan(numbers(values)) & ~values.isna().to_numpy(dtype=bool))


def row_names(positions: Iterable[int], at_most: int = 5) -> str:
    """Rows as the user counts them, from 1 and without the header: `rows 3, 17, 20 and 4 more`."""
    rows = [str(int(position) + 1) for position in positions]
    shown = ", ".join(rows[:at_most])
    more = f" and {len(rows) - at_most} more" if len(rows) > at_most else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def count(number: int, noun: str) -> str:
    """The number and the noun in its number: `1 row`, `2 rows`; a y becomes ies."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def name_list(names: Iterable[Any], at_most: int = 8) -> str:
    """Names in backticks: `a`, `b` and 3 more."""
    quoted = [f"`{name}`" for name in names]
    more = f" and {len(quoted) - at_most} more" if len(quoted) > at_most else ""
    return ", ".join(quoted[:at_most]) + more
