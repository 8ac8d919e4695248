"""DATA as a training set: inputs, labels, weights and the roles of the columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import typer

from logikern.cli.options import Columns
from logikern.cli.reading.cells import POLICY, count, levels, name_list, not_numbers, numbers, row_names
from logikern.cli.reading.columns import (
    Roles,
    assign_roles,
    gap_notes,
    learn_columns,
    prepare_text,
    refuse_nested,
    require_inputs,
    suspicions,
)
from logikern.cli.reading.hierarchy import Labelled, read_labels
from logikern.cli.reading.label_columns import (
    LabelledSets,
    dropped_note,
    missing_labels,
    read_label_sets,
    refuse_both,
)
from logikern.cli.reading.labels import measurements
from logikern.cli.reading.sequences import read_sequence_names
from logikern.cli.reading.sources import Reading, Source, open_source
from logikern.cli.reading.svmlight import read_svmlight
from logikern.cli.reading.tables import read_table, require_columns
from logikern.cli.session.messages import Messages
from logikern.encoding.inspection import inspect
from logikern.structure.tree import Tree

WORD = r"\b\w\w+\b"  # what tf-idf counts


@dataclass(frozen=True)
class TrainingSet:
    """X: a frame (roles given) or sparse rows; labels, weights, groups: (n_points,)."""

    X: Any
    labels: np.ndarray
    weights: np.ndarray | None
    roles: Roles | None
    kernel: str | None  # the default for such data, None for the estimator's own
    groups: np.ndarray | None = None
    tree: Tree | None = None  # labels are nodes of it
    is_numeric: bool = False  # labels are numbers to predict
    categorical: tuple[str, ...] = ()  # columns that are categories by the user's choice
    has_sequences: bool = False  # groups are sequences, whose rows are labelled together

    @property
    def sequences(self) -> np.ndarray | None:
        """The sequence of each row; None for single rows."""
        return self.groups if self.has_sequences else None

    label_names: tuple[Any, ...] = ()  # names of the columns of labels (n_points, L), if rows have several labels

    @property
    def targets(self) -> Any:
        """Labels as the estimator expects them."""
        if not self.label_names:
            return self.labels
        return pd.DataFrame(self.labels, columns=pd.Index(self.label_names, tupleize_cols=False))

    def take(self, rows: np.ndarray) -> "TrainingSet":
        """Some of the rows."""
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, X=X, labels=self.labels[rows], weights=weights, groups=groups)


def read_training_set(data: str, reading: Reading, columns: Columns, messages: Messages) -> TrainingSet:
    """Read and check DATA, and report what was found and done."""
    source = open_source(data, reading.format)
    if source.format == "svmlight":
        return _sparse_training_set(source, reading, columns, messages)
    return _table_training_set(source, reading, columns, messages)


def _table_training_set(source: Source, reading: Reading, columns: Columns, messages: Messages) -> TrainingSet:
    if columns.target is None and not columns.label:
        raise typer.BadParameter(
            "a table needs `--target COL`, the column to predict, or `--label COL` for each of several labels."
        )
    refuse_both(columns.target, columns.label)
    _refuse_double_roles(columns)
    targets = columns.label or _present(columns.target)
    spelled = [] if columns.regression else targets
    as_text = [*spelled, *_present(columns.groups, columns.sequence), *columns.text, *columns.categorical]
    table = read_table(source, reading, as_text, named=_named(columns), tell=messages.info)
    _require_named(table, columns, source)
    missing = missing_labels(table, targets, columns.drop_missing_target)
    apart = {*targets, columns.weight, columns.groups, columns.sequence, *columns.ignore}
    sequences = None if columns.sequence is None else read_sequence_names(table[columns.sequence])
    inputs = table[[name for name in table.columns if name not in apart]]
    shape = f"{count(len(table), 'row')} and {count(table.shape[1], 'column')}"
    messages.info(f"read {shape} from {source.name}")
    refuse_nested(inputs, columns.text)
    encoder = learn_columns(inputs, columns.categorical, columns.text)
    roles = assign_roles(encoder, [name for name in columns.text if inputs[name].notna().any()])
    require_inputs(roles)
    _refuse_numbers(inputs, roles.text)
    prepared, missing_text = prepare_text(inputs, roles.text)
    _refuse_wordless(prepared, roles.text)
    findings = None if encoder is None else inspect(encoder, inputs[list(encoder.column_names)])
    empty_text = [name for name in columns.text if name not in roles.text]
    _report(roles, empty_text, dropped_note(missing, bool(columns.label)), messages)
    for note in gap_notes(findings, missing_text, "column medians"):
        messages.info(note)
    for suspicion in suspicions(encoder):
        messages.warn(suspicion)
    used = [name for name in inputs.columns if name in roles.numeric + roles.categorical + roles.text]
    kept = np.flatnonzero(~missing)
    known = _read_targets(table[targets].iloc[kept], columns, reading, messages)
    return TrainingSet(
        prepared[used].iloc[kept],
        known.indicator if isinstance(known, LabelledSets) else known.labels,
        None if columns.weight is None else _weights(table[columns.weight].iloc[kept]),
        roles,
        "linear" if roles.text else None,
        sequences if columns.groups is None else _groups(table[columns.groups].iloc[kept]),
        known.tree,
        columns.regression,
        tuple(name for name in columns.categorical if name in used),
        has_sequences=sequences is not None,
        label_names=known.names if isinstance(known, LabelledSets) else (),
    )


def _read_targets(
    table: pd.DataFrame, columns: Columns, reading: Reading, messages: Messages
) -> Labelled | LabelledSets:
    """Classes from one column, or label sets from several."""
    if columns.label:
        return read_label_sets(table, columns.hierarchy, reading.encoding, messages)
    return _read_target(table.iloc[:, 0], columns, reading, messages)


def _sparse_training_set(source: Source, reading: Reading, columns: Columns, messages: Messages) -> TrainingSet:
    if _named(columns):
        raise typer.BadParameter("svmlight has no column names: remove the options that name columns.")
    found = read_svmlight(source, reading)
    n_points, n_features = found.features.shape
    density = found.features.nnz / max(n_points * n_features, 1)
    if found.features.nnz == 0:
        raise ValueError(f"`{source.name}` has only zeros as features, so there is nothing to learn from.")
    shape = f"{n_points} rows and {n_features} features ({density:.1%} not zero)"
    messages.info(f"read {shape} from {source.name}")
    kernel = "linear" if n_features > POLICY.wide and density < POLICY.sparse else None
    known = _read_target(pd.Series(found.labels, name="label"), columns, reading, messages)
    return TrainingSet(found.features, known.labels, None, None, kernel, None, known.tree, columns.regression)


def _read_target(target: pd.Series, columns: Columns, reading: Reading, messages: Messages) -> Labelled:
    """The target as classes, as nodes of a tree, or as numbers."""
    if not columns.regression:
        return read_labels(target, columns.hierarchy, reading.encoding, messages)
    values = measurements(target)
    if (values == values[0]).all():
        raise ValueError(f"the target `{target.name}` is {values[0]:g} in every row. Name another column.")
    return Labelled(values, None)


def _require_named(table: pd.DataFrame, columns: Columns, source: Source) -> None:
    for option, names in {
        "`--target`": _present(columns.target),
        "`--label`": columns.label,
        "`--weight`": _present(columns.weight),
        "`--groups`": _present(columns.groups),
        "`--sequence`": _present(columns.sequence),
        "`--text`": columns.text,
        "`--categorical`": columns.categorical,
        "`--ignore`": columns.ignore,
    }.items():
        require_columns(table, names, source, option)


def _present(*names: str | None) -> list[str]:
    return [name for name in names if name is not None]


def _named(columns: Columns) -> list[str]:
    single = _present(columns.target, columns.weight, columns.groups, columns.sequence)
    return [*single, *columns.label, *columns.text, *columns.categorical, *columns.ignore]


def _refuse_double_roles(columns: Columns) -> None:
    named = _named(columns)
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise typer.BadParameter(
            f"the columns {name_list(twice)} have two roles each. Name every column in one option only."
        )


def _refuse_numbers(inputs: pd.DataFrame, text: Sequence[str]) -> None:
    for name in text:
        if not len(not_numbers(inputs[name])):
            raise ValueError(
                f"column `{name}` holds numbers, not text. Remove `--text {name}`, or pass `--categorical {name}` "
                "if they are categories."
            )


def _refuse_wordless(frame: pd.DataFrame, text: Sequence[str]) -> None:
    for name in text:
        if not frame[name].str.contains(WORD).any():
            raise ValueError(
                f"column `{name}` has no words of two letters or more, so there is no text to learn from. "
                f"Remove `--text {name}`."
            )


def _report(roles: Roles, empty_text: Sequence[str], dropped: str, messages: Messages) -> None:
    counts = {"numeric": roles.numeric, "categorical": roles.categorical, "text": roles.text}
    messages.info("inputs: " + ", ".join(f"{len(names)} {kind}" for kind, names in counts.items() if names))
    if dropped:
        messages.info(dropped)
    constant = [*roles.constant, *empty_text]
    if constant:
        messages.info(f"dropped {count(len(constant), 'constant column')}: {name_list(constant)}")


def _groups(column: pd.Series) -> np.ndarray:
    missing = np.flatnonzero(column.isna().to_numpy(dtype=bool))
    if len(missing):
        raise ValueError(
            f"every row needs a group, but `{column.name}` is missing in {row_names(column.index[missing])}. "
            "Fill it in; give each row without a group a unique name."
        )
    spelled = levels(column).astype(str)
    if len(np.unique(spelled)) < 2:
        raise ValueError(
            f"`{column.name}` has only one group, {str(spelled[0])!r}, but needs at least two. "
            "Name another column, or remove `--groups`."
        )
    return spelled


def _weights(column: pd.Series) -> np.ndarray:
    values = numbers(column)
    wrong = np.union1d(not_numbers(column), np.flatnonzero(~(values >= 0) | np.isinf(values)))
    if len(wrong):
        raise ValueError(
            f"weights must be finite and non-negative, but `{column.name}` holds "
            f"{str(column.iloc[wrong[0]])!r} in {row_names(column.index[wrong])}. Correct them."
        )
    if not values.any():
        raise ValueError(f"every weight in `{column.name}` is zero, but at least one must be positive.")
    return values
