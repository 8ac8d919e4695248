"""DATA as inputs of a fitted model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import typer

from logikern.cli.preprocessing import CATEGORICAL, COLUMNS, final_step, roles_of
from logikern.cli.reading.cells import count, level, name_list
from logikern.cli.reading.columns import Roles, prepare
from logikern.cli.reading.sources import Reading, Source, open_source
from logikern.cli.reading.svmlight import read_svmlight, with_width
from logikern.cli.reading.tables import index_columns, read_table, require_columns

SVMLIGHT_LABEL = "label of svmlight"


@dataclass(frozen=True)
class Inputs:
    """Inputs of the model, the whole table (for svmlight, its labels), and notes for the user."""

    X: Any
    table: pd.DataFrame
    notes: tuple[str, ...]

    def take(self, rows: np.ndarray) -> Any:
        """Some rows of `X`."""
        return self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]


def read_inputs(
    model: Any, data: str, reading: Reading, others: Sequence[str] = (), option: str = "`--keep`"
) -> Inputs:
    """Read DATA for `model`; `others` are further columns, which `option` names."""
    source = open_source(data, reading.format)
    if source.format == "svmlight":
        if others:
            raise typer.BadParameter("svmlight has no column names: remove the options that name columns.")
        return _sparse_inputs(model, source, reading)
    roles = roles_of(model)
    as_text = [*others, *(roles.categorical + roles.text if roles else ())]
    table = read_table(source, reading, as_text)
    require_columns(table, others, source, option)
    if roles is not None:
        return _inputs_by_role(model, roles, table, source, others)
    return _inputs_as_given(model, table, source, others)


def wanted_columns(model: Any) -> list[str] | None:
    """Names of the columns in the fit; None if it had no names."""
    roles = roles_of(model)
    if roles is not None:
        return list(roles.used)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _inputs_by_role(model: Any, roles: Roles, table: pd.DataFrame, source: Source, others: Sequence[str]) -> Inputs:
    notes = _match_columns(list(roles.used), table, source, others)
    prepared = prepare(table[list(roles.used)], roles)
    notes += prepared.notes("the medians of the fit") + _unseen_levels(model, roles, prepared.frame)
    return Inputs(prepared.frame, table, tuple(notes))


def _inputs_as_given(model: Any, table: pd.DataFrame, source: Source, others: Sequence[str]) -> Inputs:
    """Inputs of a model fitted in Python: columns by name, or by position if it has no names."""
    names, notes = wanted_columns(model), []
    if names is None:
        apart = {*others, *index_columns(source)}
        names = [name for name in table.columns if name not in apart]
        wanted = int(model.n_features_in_)
        if len(names) != wanted:
            raise ValueError(
                f"the model needs {wanted} unnamed inputs, but `{source.name}` has {len(names)} columns "
                f"({name_list(names)}). Pass only the inputs, in the order of the fit."
            )
        frame = prepare(table[names], Roles(tuple(names))).frame
        return Inputs(frame.to_numpy(), table, ())
    notes = _match_columns(names, table, source, others)
    frame = table[names]
    if final_step(model) is model:
        frame = prepare(frame, Roles(tuple(names))).frame
    return Inputs(frame, table, tuple(notes))


def _sparse_inputs(model: Any, source: Source, reading: Reading) -> Inputs:
    names = wanted_columns(model)
    if names is not None:
        raise ValueError(
            f"the model needs the columns {name_list(names)}, but `{source.name}` is svmlight, which has no "
            "column names. Pass a table."
        )
    found, notes = read_svmlight(source, reading), []
    surplus = found.features.shape[1] - int(model.n_features_in_)
    if surplus > 0:
        notes.append(f"ignored the last {count(surplus, 'feature')}, which the model does not use")
    return Inputs(
        with_width(found.features, int(model.n_features_in_)),
        pd.DataFrame({SVMLIGHT_LABEL: found.labels}),
        tuple(notes),
    )


def _match_columns(names: Sequence[str], table: pd.DataFrame, source: Source, others: Sequence[str]) -> list[str]:
    """Reject missing columns; return a note on ignored ones."""
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise ValueError(
            f"`{source.name}` lacks {len(lacking)} of the {len(names)} columns that the model needs: "
            f"{name_list(lacking)}. It has {name_list(table.columns)}. Add or rename them."
        )
    surplus = [name for name in table.columns if name not in names and name not in others]
    return [f"ignored columns that the model does not use: {name_list(surplus)}"] if surplus else []


def _unseen_levels(model: Any, roles: Roles, frame: pd.DataFrame) -> list[str]:
    if not roles.categorical:
        return []
    encoder = model.named_steps[COLUMNS].named_transformers_[CATEGORICAL]
    notes = []
    for name, seen in zip(roles.categorical, encoder.categories_, strict=True):
        present = frame[name].dropna()
        unseen = present[~present.isin({level(value) for value in seen})]
        if len(unseen):
            shown = name_list(np.unique(unseen), 3)
            notes.append(
                f"column `{name}` has {count(unseen.nunique(), 'level')} unseen in the fit ({shown}), "
                f"in {count(len(unseen), 'row')}: predicted from the other columns"
            )
    return notes
