"""Numbers, booleans and times of a table as inputs: missing values become the median, with an indicator."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.encoding.cells import TIME_TYPES, TRUTHS, parse_number, spell, to_days
from logikern.encoding.complaints import ColumnError
from logikern.encoding.tables import NUMBER, TIME, TRUTH, Column
from logikern.numerics.outcome import Array, Indices

KINDS = (NUMBER, TRUTH, TIME)
_PLURAL = {NUMBER: "numbers", TRUTH: "true or false", TIME: "dates or durations"}
_CAUSES = {NUMBER: "not numbers", TRUTH: "not truths", TIME: "not dates"}


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns that are numbers, booleans or times."""

    places: Indices  # (k,): the columns, in increasing order
    kinds: Indices  # (k,): what each holds, as a position in `KINDS`
    medians: Array  # (k,): replacement of missing values
    gaps: Indices  # (g,): which of the k columns had missing values in training and therefore have an indicator

    @property
    def n_inputs(self) -> int:
        """Number of inputs: values, then indicators."""
        return len(self.places) + len(self.gaps)

    def fill(self, values: Array) -> Array:
        """Inputs (n, k + g) of values (n, k); the values themselves if nothing is missing."""
        if not len(self.gaps) and not _has_gaps(values):
            return values
        missing = np.isnan(values)
        filled = np.where(missing, self.medians, values)
        return np.hstack([filled, missing[:, self.gaps]]) if len(self.gaps) else filled


def learn_medians(values: Array, n_rows: int | None = None) -> tuple[Array, Indices]:
    """Medians of the columns (k,), and which have missing values. Columns without gaps use at most `n_rows` rows.

    The median of a column without any value is NaN.
    """
    if not _has_gaps(values):
        step = 1 if n_rows is None else -(-len(values) // n_rows)
        return median(values[::step]), np.zeros(0, dtype=np.int64)
    missing = np.isnan(values)
    known = ~missing.all(axis=0)
    medians = np.full(values.shape[1], np.nan)
    medians[known] = 2 * np.nanmedian(0.5 * values[:, known], axis=0)
    # A column without any value has nothing to indicate.
    return medians, np.flatnonzero(missing.any(axis=0) & known)


def median(values: Array) -> Array:
    """Median along the first axis; values are halved before they are added, so that the sum does not overflow."""
    return 2 * np.median(0.5 * np.asarray(values, dtype=np.float64), axis=0)


def _has_gaps(values: Array) -> bool:
    """Whether a value is missing, without a copy: the minimum of values with NaN is NaN."""
    return bool(values.size and np.isnan(values.min()))


def read_numbers(column: Column, kind: str) -> Array:
    """Values (n,) of a column read as `kind`, NaN where they are missing; other values are an error."""
    is_time = kind == TIME
    if column.kind in KINDS and (column.kind == TIME) == is_time:
        values = column.numbers()
    else:
        cells = enumerate(column.objects())
        values = np.array([_number(column.name, kind, *cell) for cell in cells], dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ColumnError(column.name, "infinite", "is infinite", int(infinite[0]))
    if kind == TRUTH:
        _require_truths(column.name, values)
    return values


def _number(name: str, kind: str, row: int, value: Any) -> float:
    if value is None:
        return np.nan
    found = _convert(kind, value)
    if found is None:
        shown = repr(value) if isinstance(value, str | bytes) else str(value)
        problem = f"must hold {_PLURAL[kind]}, but holds {shown}"
        raise ColumnError(name, _CAUSES[kind], problem, row)
    return found


def _convert(kind: str, value: Any) -> float | None:
    """A present value as a number; None if it is not of this kind."""
    is_time = isinstance(value, TIME_TYPES)
    if kind == TIME or is_time:
        return to_days(value) if kind == TIME and is_time else None
    if isinstance(value, str | bytes):
        text = spell(value)
        return TRUTHS.get(text, parse_number(text)) if kind == TRUTH else parse_number(text)
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _require_truths(name: str, values: Array) -> None:
    wrong = np.flatnonzero(~(np.isnan(values) | (values == 0) | (values == 1)))
    if len(wrong):
        row = int(wrong[0])
        raise ColumnError(name, "not truths", f"must hold true or false, but holds {values[row]:g}", row)


def counts_rows(values: Array, fewest: int, share: float) -> bool:
    """Whether values are distinct whole numbers that fill at least this share of their range."""
    present = values[~np.isnan(values)]
    if len(present) < fewest or np.any(present != np.floor(present)):
        return False
    span = present.max() - present.min() + 1
    return len(present) >= share * span and len(np.unique(present)) == len(present)


def stack(columns: Iterable[Array], n_rows: int) -> Array:
    """Columns side by side, (n, k)."""
    found = list(columns)
    return np.column_stack(found) if found else np.zeros((n_rows, 0))
