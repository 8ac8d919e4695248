"""DATA with known targets, for a fitted model."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

from logikern.cli.models import has_label_sets, has_sequences, is_regression, tree_of
from logikern.cli.preprocessing import final_step
from logikern.cli.reading.inputs import MODEL_FILE, SVMLIGHT_LABEL, TARGET_OPTION, Inputs, read_inputs
from logikern.cli.reading.label_columns import dropped_note, known_label_sets, label_columns, missing_labels
from logikern.cli.reading.labels import known_labels, measurements, missing_targets
from logikern.cli.reading.sequences import (
    SequenceColumn,
    find_sequence_column,
    read_sequence_names,
    with_sequence,
)
from logikern.cli.reading.sources import STANDARD, Reading, format_of
from logikern.cli.session.messages import Messages
from logikern.model.persistence import read_notes
from logikern.structure.tree import as_labels

TARGET = "target"  # note in a model file


@dataclass(frozen=True)
class LabelledSource:
    """Where labelled rows are, and what to do with them."""

    model_file: str
    data: str
    reading: Reading
    target: str | None = None
    drop_missing_target: bool = False
    keep: tuple[str, ...] = ()  # further columns of DATA
    sequence: SequenceColumn | None = None


@dataclass(frozen=True)
class LabelledRows:
    """Inputs of a model and their labels: classes, nodes or numbers. Rows without a target are left out."""

    X: Any
    labels: np.ndarray
    rows: np.ndarray  # their positions in DATA
    table: pd.DataFrame  # DATA, with all its rows
    target: str | None  # name of the target; None for svmlight
    sequences: np.ndarray | None = None  # the sequence of each row, for models of sequences


def source_of(
    model: Any,
    model_file: str,
    data: str,
    reading: Reading,
    target: str | None,
    drop_missing_target: bool,
    sequence: str | None,
) -> LabelledSource:
    """Labelled rows for a model of any kind; of sequences, no row may be left out."""
    column = find_sequence_column(model_file, sequence, has_sequences(model))
    if column is not None and drop_missing_target:
        raise typer.BadParameter("`--drop-missing-target` would break up sequences: drop whole sequences instead.")
    return LabelledSource(model_file, data, reading, target, drop_missing_target, sequence=column)


def read_labelled(model: Any, source: LabelledSource, messages: Messages) -> LabelledRows:
    """Read DATA for a model, whose file may remember its target."""
    if has_label_sets(model):
        return _read_sets(model, source, messages)
    target = source.target or _remembered(source)
    origins = with_sequence(source.keep, source.sequence)
    if target:
        origins[target] = TARGET_OPTION if source.target else MODEL_FILE
    numeric = [target] if target and is_regression(model) else []
    inputs = read_inputs(model, source.data, source.reading, origins, numeric)
    for note in inputs.notes:
        messages.info(note)
    known = _label(model, inputs, target, source.drop_missing_target, messages)
    if source.sequence is None:
        return known
    return replace(known, sequences=read_sequence_names(known.table[source.sequence.name]))


def _read_sets(model: Any, source: LabelledSource, messages: Messages) -> LabelledRows:
    """Rows with known label sets, from a column for each label."""
    if source.target is not None:
        raise typer.BadParameter("the model has several labels, each with a column of its own: remove `--target`.")
    names = label_columns(final_step(model), read_notes(source.model_file))
    inputs = read_inputs(model, source.data, source.reading, dict.fromkeys(names, MODEL_FILE))
    for note in inputs.notes:
        messages.info(note)
    missing = missing_labels(inputs.table, names, source.drop_missing_target)
    if missing.any():
        messages.info(dropped_note(missing, of_labels=True))
    rows = np.flatnonzero(~missing)
    sets = known_label_sets(final_step(model), inputs.table[names].iloc[rows])
    return LabelledRows(inputs.take(rows), sets, rows, inputs.table, None)


def _remembered(source: LabelledSource) -> str | None:
    """The target of the fit; None for svmlight, which contains the labels."""
    is_named = source.reading.format is not None or source.data == STANDARD
    format = source.reading.format if is_named else format_of(Path(source.data))
    return None if format == "svmlight" else read_notes(source.model_file).get(TARGET)


def _label(model: Any, inputs: Inputs, target: str | None, drop: bool, messages: Messages) -> LabelledRows:
    column = inputs.table[target or _label_column(inputs)]
    missing = missing_targets(column, drop)
    if missing.any():
        messages.info(dropped_note(missing, of_labels=False))
    rows = np.flatnonzero(~missing)
    return LabelledRows(inputs.take(rows), _known(model, column.iloc[rows]), rows, inputs.table, target)


def _known(model: Any, column: pd.Series) -> np.ndarray:
    """The target as numbers, as classes of the model, or as nodes of its tree."""
    if is_regression(model):
        return measurements(column)
    tree = tree_of(model)
    return known_labels(column, model.classes_ if tree is None else as_labels(tree.labels))


def _label_column(inputs: Inputs) -> str:
    if SVMLIGHT_LABEL not in inputs.table.columns:
        raise typer.BadParameter("a table needs `--target COL`, the column to predict.")
    return SVMLIGHT_LABEL
