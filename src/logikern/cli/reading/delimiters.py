"""Separators and decimal marks of CSV that no option names."""

import csv
import itertools
import re
from collections.abc import Iterable, Sequence

import pandas as pd

SEPARATORS = ",;\t|"
COMMA_NUMBER = re.compile(r"\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*")
# With three digits after the comma, it may separate thousands.
SURE_NUMBER = re.compile(r"\s*[+-]?(0,\d+|\d+,(\d{1,2}|\d{4,}))([eE][+-]?\d+)?\s*")


def find_separator(text: str, usual: str) -> str:
    """The usual separator, unless the header and the next line agree on exactly one other separator."""
    lines = list(itertools.islice((line for line in text.splitlines() if line.strip()), 2))
    if not lines or usual in lines[0]:
        return usual
    others = [separator for separator in SEPARATORS if separator in lines[0]]
    if len(others) != 1 or len({len(row) for row in csv.reader(lines, delimiter=others[0])}) > 1:
        return usual
    return others[0]


def comma_columns(frame: pd.DataFrame, spelled: Sequence[str]) -> list[str]:
    """Columns of text that are numbers if a comma is the decimal mark, without the columns in `spelled`."""
    return [name for name in frame.columns if name not in spelled and _has_comma_numbers(frame[name])]


def has_sure_comma(frame: pd.DataFrame, names: Iterable[str]) -> bool:
    """Whether one of the columns has a comma that cannot separate thousands."""
    return any(frame[name].dropna().str.fullmatch(SURE_NUMBER.pattern).any() for name in names)


def _has_comma_numbers(column: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    present = column.dropna()
    # Most columns of text fail on their first value.
    if not all(isinstance(value, str) and COMMA_NUMBER.fullmatch(value) for value in present):
        return False
    return any("," in value for value in present)
