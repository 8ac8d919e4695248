"""The role of each column: numeric, categorical, text or constant."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from logikern.cli.reading.cells import POLICY, count, levels, name_list, not_numbers, numbers, row_names

IDENTIFIER = re.compile(
    r"^(id|ids|identifier|index|idx|row|key|pk|uuid|guid|unnamed: \d+|__index_level_\d+__"
    r"|.*[_ .-]id|.*[a-z]Id|id[_ .-].*"
    r"|(row|record|case|sample|serial|subject|person|patient|passenger|customer|client|user|member|account|order|item)"
    r"[_ .-]?(id|no|nr|num|number|name|names|key|index))$"
)
DATE = re.compile(r"^\d{4}-\d{1,2}-\d{1,2}([T ].*)?$|^\d{1,2}[./]\d{1,2}[./]\d{2,4}( .*)?$")


@dataclass(frozen=True)
class Roles:
    """Columns by their treatment; `constant` ones are dropped."""

    numeric: tuple[str, ...]
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[str, ...]:
        return self.numeric + self.categorical + self.text


@dataclass(frozen=True)
class Prepared:
    """Columns as inputs of the pipeline, and the number of missing values."""

    frame: pd.DataFrame
    missing_numeric: int
    missing_categorical: int
    missing_text: int

    def notes(self, medians: str) -> list[str]:
        """What was done about missing values, in sentences."""
        found = {
            f"imputed {count(self.missing_numeric, 'missing number')} by {medians}": self.missing_numeric,
            f"took {count(self.missing_categorical, 'missing category')} as a level": self.missing_categorical,
            f"took {count(self.missing_text, 'missing text')} as empty": self.missing_text,
        }
        return [note for note, number in found.items() if number]


def assign_roles(frame: pd.DataFrame, categorical: Sequence[str], text: Sequence[str]) -> Roles:
    """A role for every column of `frame`: as chosen, or by its values."""
    kinds = {}
    for name in frame.columns:
        values = frame[name]
        _refuse_nested(values)
        if name in text:
            kinds[name] = "text" if values.notna().any() else "constant"
        elif name in categorical:
            kinds[name] = _unless_constant("categorical", values)
        else:
            kinds[name] = _unless_constant(_kind(values), values)
    _refuse_dates([name for name, kind in kinds.items() if kind == "date"])
    by_kind = {
        kind: tuple(name for name, own in kinds.items() if own == kind)
        for kind in ("numeric", "categorical", "text", "constant")
    }
    roles = Roles(**by_kind)
    if not roles.used:
        raise ValueError(
            "no column is left to learn from: besides the target and ignored columns there are only "
            f"{len(roles.constant)} constant ones ({name_list(roles.constant) or '-'})."
        )
    return roles


def prepare(frame: pd.DataFrame, roles: Roles) -> Prepared:
    """Numbers as float64, categories by their spelling, missing text as empty."""
    columns: dict[str, np.ndarray] = {}
    for name in roles.numeric:
        columns[name] = _checked_numbers(frame[name])
    for name in roles.categorical:
        columns[name] = levels(frame[name])
    for name in roles.text:
        columns[name] = frame[name].astype(object).where(frame[name].notna(), "").astype(str).to_numpy(object)
    ready = pd.DataFrame({name: pd.Series(values, dtype=values.dtype) for name, values in columns.items()})
    return Prepared(
        ready,
        int(ready[list(roles.numeric)].isna().to_numpy().sum()),
        int(ready[list(roles.categorical)].isna().to_numpy().sum()),
        int(sum(frame[name].isna().sum() for name in roles.text)),
    )


def suspicions(frame: pd.DataFrame, roles: Roles) -> list[str]:
    """Warnings about identifiers and categories with very many levels."""
    found = []
    for name in roles.numeric + roles.categorical:
        values = frame[name].dropna()
        distinct = values.nunique()
        every_differs = distinct == len(values) >= POLICY.rows_to_judge
        if every_differs and (name in roles.categorical or _counts_rows(name, values)):
            found.append(
                f"column `{name}` looks like an identifier: its {distinct} values all differ. "
                f"Pass `--ignore {name}` if it does not help to predict the class."
                + (f" If it holds prose, pass `--text {name}`." if name in roles.categorical else "")
            )
        elif name in roles.categorical and distinct > POLICY.many_levels:
            found.append(
                f"column `{name}` has {distinct} levels, each of which becomes one input. "
                f"Pass `--ignore {name}`, or `--text {name}` if it holds prose."
            )
    return found


def _kind(values: pd.Series) -> str:
    dtype = values.dtype
    if pd.api.types.is_bool_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype):
        return "categorical"
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        return "date"
    if pd.api.types.is_numeric_dtype(dtype):
        return "numeric"
    return _kind_of_objects(values)


def _kind_of_objects(values: pd.Series) -> str:
    present = values.dropna()
    spelled = present.astype(str)
    if len(present) and spelled.str.match(DATE).all():
        return "date"
    booleans = spelled.str.lower().isin(("true", "false")).to_numpy(dtype=bool)
    wrong = np.union1d(not_numbers(present), np.flatnonzero(booleans))
    if len(wrong) == 0:
        return "numeric"
    if 2 * len(wrong) < len(present):
        first = int(np.flatnonzero(values.notna().to_numpy(dtype=bool))[wrong[0]])
        raise ValueError(
            f"column `{values.name}` mixes types: most values are numbers, but {len(wrong)} are not, the "
            f"first being {str(values.iloc[first])!r} in row {first + 1}. Correct it, or pass "
            f"`--categorical {values.name}` or `--ignore {values.name}`."
        )
    return "categorical"


def _unless_constant(kind: str, values: pd.Series) -> str:
    distinct = values.nunique(dropna=True)
    # A missing value is a level of a category, but a missing number is imputed.
    varies = distinct > 1 or (kind == "categorical" and distinct == 1 and values.isna().any())
    return kind if varies else "constant"


def _checked_numbers(values: pd.Series) -> np.ndarray:
    wrong = not_numbers(values)
    if len(wrong):
        raise ValueError(
            f"column `{values.name}` must hold numbers, but {row_names(wrong)} "
            f"hold{'s' if len(wrong) == 1 else ''} {str(values.iloc[wrong[0]])!r}. Correct the values."
        )
    found = numbers(values)
    infinite = np.flatnonzero(np.isinf(found))
    if len(infinite):
        raise ValueError(
            f"column `{values.name}` is infinite in {row_names(infinite)}. Correct these values, or leave them "
            "empty, so that they are imputed."
        )
    return found


def _refuse_nested(values: pd.Series) -> None:
    if values.dtype != object:
        return
    for place, value in enumerate(values):
        if isinstance(value, list | dict | tuple | set | np.ndarray):
            kind = "record" if isinstance(value, dict) else "list"
            raise ValueError(
                f"column `{values.name}` holds a {kind} in row {place + 1}, but must hold single values. "
                f"Split it into columns, or pass `--ignore {values.name}`."
            )


def _refuse_dates(names: Sequence[str]) -> None:
    if names:
        plural = "columns" if len(names) > 1 else "column"
        raise ValueError(
            f"{plural} {name_list(names)} hold{'' if len(names) > 1 else 's'} dates or durations, which are not "
            "supported. Convert them to numbers (season, weekday, age), "
            f"pass `--ignore {names[0]}`, or pass `--categorical {names[0]}` if dates recur."
        )


def _counts_rows(name: str, values: pd.Series) -> bool:
    """Whether different values are integers that number the rows in any order, or are named like identifiers."""
    found = numbers(values)
    if not np.array_equal(found, np.floor(found)):
        return False
    is_named = bool(IDENTIFIER.match(str(name)) or IDENTIFIER.match(str(name).lower()))
    return is_named or float(np.ptp(found)) == len(found) - 1
