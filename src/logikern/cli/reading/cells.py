"""Single values of a table: missing values, numbers and spellings of categories, and names for messages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from logikern.encoding.cells import spell
from logikern.structure.links import SEPARATOR

# Missing values in CSV and TSV. "None" is not among them, because it is a frequent class name.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "?")


@dataclass(frozen=True)
class TablePolicy:
    """Numbers that decide how a table is read."""

    fractional_classes: int = 20  # with more distinct fractional values, a target is a measurement
    # With more distinct whole numbers, and fewer rows for each, a target looks like a measurement: numbers that name
    # classes, such as postcodes, usually recur.
    whole_classes: int = 50
    rows_per_class: float = 20.0
    many_texts: int = 1000  # with this many texts, words that occur in one row only (most words) are dropped
    wide: int = 1000  # sparse inputs with more features than this behave like word counts ...
    sparse: float = 0.05  # ... if fewer entries than this share are not zero: a linear kernel suffices


POLICY = TablePolicy()


def level(value: Any) -> str:
    """The spelling of a category or class, the same for all file formats: `true`, `3`, `red`, `animal/bird`."""
    if isinstance(value, list | tuple | np.ndarray):
        return SEPARATOR.join(map(level, value))
    return spell(value)


def levels(values: pd.Series) -> np.ndarray:
    """The spelling of every value, NaN for missing values, as an object array."""
    spelled = np.empty(len(values), dtype=object)
    missing = values.isna().to_numpy(dtype=bool)
    spelled[missing] = np.nan
    spelled[~missing] = [level(value) for value in values[~missing]]
    return spelled


def numbers(values: pd.Series) -> np.ndarray:
    """Every value as float64, NaN if it is missing or not a number."""
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.astype("float64").to_numpy()
    return pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def not_numbers(values: pd.Series) -> np.ndarray:
    """Positions of present values that are not numbers."""
    return np.flatnonzero(np.isnan(numbers(values)) & ~values.isna().to_numpy(dtype=bool))


def row_names(positions: Iterable[int], at_most: int = 5) -> str:
    """Row numbers from 1, without the header: `rows 3, 17, 20 and 4 more`."""
    rows = [str(int(position) + 1) for position in positions]
    shown = ", ".join(rows[:at_most])
    more = f" and {len(rows) - at_most} more" if len(rows) > at_most else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def show_wrong(column: pd.Series, wrong: np.ndarray) -> str:
    """The first wrong value and its rows: `'red' in rows 3, 17, and other values in 4 rows`."""
    cells = column.iloc[wrong].astype(str).to_numpy()
    same = wrong[cells == cells[0]]
    n_others = len(wrong) - len(same)
    others = f", and other values in {count(n_others, 'row')}" if n_others else ""
    return f"{str(cells[0])!r} in {row_names(column.index[same])}{others}"


def count(number: int, noun: str) -> str:
    """The number with its noun, singular or plural: `1 row`, `2 rows`, `2 categories`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def name_list(names: Iterable[Any], at_most: int = 8) -> str:
    """Names in backticks: `a`, `b` and 3 more."""
    quoted = [f"`{name}`" for name in names]
    more = f" and {len(quoted) - at_most} more" if len(quoted) > at_most else ""
    return ", ".join(quoted[:at_most]) + more
