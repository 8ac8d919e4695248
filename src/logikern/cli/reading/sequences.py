"""The column with the identifiers of sequences, in a training table and for a fitted model."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import typer

from logikern.cli.reading.cells import levels, row_names
from logikern.cli.reading.inputs import KEEP, MODEL_FILE
from logikern.model.persistence import read_notes

SEQUENCE = "sequence"  # note in a model file


class SequenceColumn(NamedTuple):
    """The column with the identifiers of sequences, and what names it: an option or the model file."""

    name: str
    origin: str


def read_sequence_names(column: pd.Series) -> np.ndarray:
    """The name of the sequence of each row, as text; a missing name is an error."""
    missing = np.flatnonzero(column.isna().to_numpy(dtype=bool))
    if len(missing):
        raise ValueError(
            f"every row must belong to a sequence, but `{column.name}` is missing in {row_names(missing)}. Fill it "
            "in, or drop these rows."
        )
    return levels(column).astype(str)


def require_several(names: np.ndarray) -> None:
    """Reject a single sequence, which a search could not hold out."""
    if len(np.unique(names)) < 2:
        raise ValueError(
            f"there is only one sequence, {str(names[0])!r}, but the search holds out whole sequences. Name another "
            "column in `--sequence`, or pass `--fixed`."
        )


def find_sequence_column(model_file: str, given: str | None, labels_sequences: bool) -> SequenceColumn | None:
    """The column with the identifiers of sequences: from `--sequence`, or as in the fit; None without sequences."""
    if not labels_sequences:
        if given is not None:
            raise typer.BadParameter(
                f"`--sequence` needs a sequence model, but `{model_file}` classifies rows independently: remove "
                "`--sequence`."
            )
        return None
    if given:
        return SequenceColumn(given, "`--sequence`")
    noted = read_notes(model_file).get(SEQUENCE)
    if noted is None:
        raise typer.BadParameter(
            f"`{model_file}` labels sequences: pass `--sequence COL`, the column with the identifier of each row's "
            "sequence."
        )
    return SequenceColumn(noted, MODEL_FILE)


def with_sequence(keep: Sequence[str], column: SequenceColumn | None) -> dict[str, str]:
    """The columns besides the inputs, each with what names it."""
    return dict.fromkeys(keep, KEEP) | ({} if column is None else {column.name: column.origin})
