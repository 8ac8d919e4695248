"""Missing values and unknown levels in a table."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.encoding.encoder import Encoder
from logikern.encoding.levels import Levels, count_levels
from logikern.encoding.numbers import KINDS, read_numbers
from logikern.encoding.tables import Column, read_columns


@dataclass(frozen=True)
class Unseen:
    """Levels of a column that were not in the training rows, and the number of rows that have them."""

    column: str
    names: tuple[str, ...]
    n_rows: int


@dataclass(frozen=True)
class Findings:
    """Counts of missing values, and unseen levels."""

    missing_numbers: int
    missing_levels: int  # in columns that had missing values in the training data, where these are a level
    unseen_gaps: int  # missing categories in all other columns
    unseen: tuple[Unseen, ...]


def inspect(encoder: Encoder, X: Any) -> Findings:
    """Count missing values and unseen levels in a table with the columns of the encoder."""
    columns = list(read_columns(X))
    kinds = zip(encoder.numbers.places, encoder.numbers.kinds, strict=True)
    gaps = [np.isnan(read_numbers(columns[place], KINDS[kind])).sum() for place, kind in kinds]
    found = [_inspect_levels(levels, columns[levels.place]) for levels in encoder.levels]
    missing = sum(n_missing for n_missing, _ in found)
    known = sum(n for (n, _), levels in zip(found, encoder.levels, strict=True) if levels.has_missing)
    return Findings(int(sum(gaps)), known, missing - known, tuple(unseen for _, unseen in found if unseen.n_rows))


def _inspect_levels(levels: Levels, column: Column) -> tuple[int, Unseen]:
    counts, n_missing = count_levels(column.objects())
    # Levels that share an input are not known by name.
    unseen = [] if levels.has_rest else sorted(name for name in counts if name not in levels.names)
    return n_missing, Unseen(column.name, tuple(unseen), sum(counts[name] for name in unseen))
