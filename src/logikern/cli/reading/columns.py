"""The role of each column: numeric, categorical, text, or left out."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from logikern.cli.reading.cells import count, name_list
from logikern.encoding.complaints import ColumnError
from logikern.encoding.encoder import Encoder, learn_encoder
from logikern.encoding.inspection import Findings
from logikern.encoding.roles import FROM_DTYPE, assign_role
from logikern.encoding.tables import read_columns

# Cause of an error -> what a user of the command line can do about it.
ADVICE = {
    "nested": "Every value must be a string or a number: split it into columns, or pass `--ignore {quoted}`.",
    "complex": "Split it into two columns, or pass `--ignore {quoted}`.",
    "mixed": "Correct the values, or pass `--categorical {quoted}` or `--ignore {quoted}`.",
    "mixed dates": "Correct the values, or pass `--categorical {quoted}` or `--ignore {quoted}`.",
    "written dates": "Convert them to numbers (season, weekday, age), pass `--ignore {quoted}`, or pass "
    "`--categorical {quoted}` if dates recur.",
    "infinite": "Correct the values, or leave them empty, so that they are imputed.",
}
# Cause of a note -> a warning.
WARNINGS = {
    "identifier": "dropped column `{column}`, which looks like an identifier: almost all of its {count} "
    "values are distinct. To use it, pass `--text {quoted}` (prose) or `--categorical {quoted}` (categories). To "
    "drop it without this warning, pass `--ignore {quoted}`.",
    "index": "dropped column `{column}`, which looks like the index of a pandas frame. Rename it to use it.",
    "counter": "column `{column}` looks like an identifier: all of its {count} values are distinct. Pass "
    "`--ignore {quoted}` if it does not help to predict the target.",
    "spelled": "column `{column}` holds numbers stored as text; they are used as numbers. Pass "
    "`--categorical {quoted}` if they are categories.",
    "pooled": "column `{column}` has {count} levels. The most frequent ones become one input each, and the others "
    "share one. If the column holds prose, pass `--text {quoted}`; if it does not help to predict the target, pass "
    "`--ignore {quoted}`.",
}
IDENTIFIERS = ("identifier", "index")  # causes of notes on columns that are dropped because they name rows


@dataclass(frozen=True)
class Roles:
    """Columns by their role; `constant` columns and `identifiers` are dropped."""

    numeric: tuple[str, ...]
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    @property
    def dropped(self) -> tuple[str, ...]:
        return self.constant + self.identifiers


def learn_columns(frame: pd.DataFrame, categorical: Sequence[str], text: Sequence[str]) -> Encoder | None:
    """The encoder of all columns except text; None if there are no others."""
    others = [name for name in frame.columns if name not in text]
    return learn_encoder(frame[others], list(categorical) or FROM_DTYPE) if others else None


def assign_roles(encoder: Encoder | None, text: Sequence[str] = ()) -> Roles:
    """The roles of all columns, from an encoder and from the names of text columns."""
    if encoder is None:
        return Roles((), (), tuple(text))
    names = encoder.column_names
    truths = {encoder.columns[place] for place in np.flatnonzero(encoder.is_level[: len(encoder.numbers.places)])}
    levels = {own.place for own in encoder.levels} | truths
    by_cause = {note.place: note.cause for note in encoder.notes if note.drops or note.cause == "alone"}
    return Roles(
        tuple(names[place] for place in encoder.numbers.places if place not in levels | by_cause.keys()),
        tuple(names[place] for place in sorted(levels - by_cause.keys())),
        tuple(text),
        tuple(names[place] for place, cause in by_cause.items() if cause not in IDENTIFIERS),
        tuple(names[place] for place, cause in by_cause.items() if cause in IDENTIFIERS),
    )


def require_inputs(roles: Roles) -> None:
    """Reject a table without anything to learn from."""
    if not roles.numeric + roles.categorical + roles.text:
        names = name_list(roles.dropped)
        others = (
            f"all columns are empty, are constant or look like identifiers ({names})"
            if names
            else "the table has no columns"
        )
        raise ValueError(
            f"no column is left to learn from: apart from the target and ignored columns, {others}. Add other "
            "columns, or pass `--categorical COL` to keep a column that looks like an identifier."
        )


def prepare_text(frame: pd.DataFrame, text: Sequence[str]) -> tuple[pd.DataFrame, int]:
    """The frame with missing text as empty text, and how often it was missing."""
    columns = {name: frame[name].astype(object).where(frame[name].notna(), "").astype(str) for name in text}
    return frame.assign(**columns), int(sum(frame[name].isna().sum() for name in text))


def suspicions(encoder: Encoder | None) -> list[str]:
    """Warnings about identifiers, numbers as text, and categories with very many levels."""
    if encoder is None:
        return []
    told = [(WARNINGS.get(note.cause), encoder.column_names[note.place], note.count) for note in encoder.notes]
    return [_advise(text, column, count=number) for text, column, number in told if text is not None]


def refuse_nested(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Reject columns that hold lists or records."""
    for column in read_columns(frame[list(names)]):
        assign_role(column, choice=True)


def gap_notes(findings: Findings | None, missing_text: int, medians: str) -> list[str]:
    """Sentences that say how missing values are treated."""
    found = Findings(0, 0, 0, ()) if findings is None else findings
    told = {
        f"imputed {count(found.missing_numbers, 'missing number')} with {medians}": found.missing_numbers,
        f"treated {count(found.missing_levels, 'missing category')} as a separate level": found.missing_levels,
        f"treated {count(found.unseen_gaps, 'missing category')} as unseen, because their columns had no missing "
        "values in the training data": found.unseen_gaps,
        f"treated {count(missing_text, 'missing text')} as empty": missing_text,
    }
    return [note for note, number in told.items() if number]


def unseen_notes(findings: Findings) -> list[str]:
    """Sentences about levels that a model does not know."""
    return [
        f"column `{unseen.column}` has {count(len(unseen.names), 'level')} unseen in the training data "
        f"({name_list(unseen.names, 3)}), in {count(unseen.n_rows, 'row')}: "
        "these rows are predicted from the other columns"
        for unseen in findings.unseen
    ]


def complain(error: ColumnError) -> str:
    """The error about a column in the words of the command line, with rows counted from 1."""
    advice = _advise(ADVICE.get(error.cause, "Correct the values."), error.column)
    return f"column {error.describe(first=1)}. {advice}"


def _advise(text: str, column: str, **values: int) -> str:
    """Advice about a column; `{quoted}` is its name as a shell reads it."""
    return text.format(column=column, quoted=shlex.quote(column), **values)
