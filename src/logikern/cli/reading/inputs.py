"""DATA as inputs of a fitted model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import typer

from logikern.cli.preprocessing import encoder_of, roles_of
from logikern.cli.reading.cells import count, name_list
from logikern.cli.reading.columns import Roles, gap_notes, prepare_text, unseen_notes
from logikern.cli.reading.sources import Reading, Source, open_source
from logikern.cli.reading.svmlight import read_svmlight, with_width
from logikern.cli.reading.tables import read_table, require_columns, similar_names
from logikern.encoding.encoder import Encoder
from logikern.encoding.inspection import inspect

SVMLIGHT_LABEL = "svmlight label"
# What may name a column besides the inputs, for error messages.
KEEP, TARGET_OPTION, MODEL_FILE = "`--keep`", "`--target`", "the model file"


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
    model: Any,
    data: str,
    reading: Reading,
    origins: Mapping[str, str],
    numeric: Sequence[str] = (),
) -> Inputs:
    """Read DATA for `model`.

    `origins` has additional columns, each with what names it: an option or the model file. They keep their spelling,
    except for the `numeric` ones.
    """
    source, others = open_source(data, reading.format), list(origins)
    if source.format == "svmlight":
        _refuse_names(origins, source)
        return _sparse_inputs(model, source, reading)
    roles, encoder = roles_of(model), encoder_of(model)
    levels = () if encoder is None else [encoder.column_names[own.place] for own in encoder.levels]
    as_text = [*(name for name in others if name not in numeric), *levels, *(roles.text if roles else ())]
    notes: list[str] = []
    named = [*others, *(wanted_columns(model) or ())]
    table = read_table(source, reading, as_text, named=named, tell=notes.append)
    for name, origin in origins.items():
        require_columns(table, [name], source, origin)
    if roles is not None:
        found = _inputs_by_role(encoder, roles, table, source, others)
    else:
        found = _inputs_as_given(model, table, source, others)
    return replace(found, notes=(*notes, *found.notes))


def wanted_columns(model: Any) -> list[str] | None:
    """Names of the columns that the model needs; None if it has no names."""
    roles = roles_of(model)
    if roles is not None:
        return [*roles.numeric, *roles.categorical, *roles.text]
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _inputs_by_role(
    encoder: Encoder | None, roles: Roles, table: pd.DataFrame, source: Source, others: Sequence[str]
) -> Inputs:
    needed = [*roles.numeric, *roles.categorical, *roles.text]
    notes = _match_columns(needed, table, source, [*others, *roles.dropped])
    # Columns that the encoder leaves out may be missing here, but not for the classifier.
    names = [*(() if encoder is None else encoder.column_names), *roles.text]
    absent = {name: np.nan for name in names if name not in table.columns}
    frame, missing_text = prepare_text(table.assign(**absent)[names], roles.text)
    findings = None if encoder is None else inspect(encoder, frame[list(encoder.column_names)])
    notes += gap_notes(findings, missing_text, "the medians of the training data")
    notes += [] if findings is None else unseen_notes(findings)
    return Inputs(frame, table, tuple(notes))


def _inputs_as_given(model: Any, table: pd.DataFrame, source: Source, others: Sequence[str]) -> Inputs:
    """Inputs of a model fitted in Python: columns by name, or by position if it has no names."""
    names = wanted_columns(model)
    if names is not None:
        notes = _match_columns(names, table, source, others)
        return Inputs(table[names], table, tuple(notes))
    names = [name for name in table.columns if name not in others]
    wanted = int(model.n_features_in_)
    if len(names) != wanted:
        raise ValueError(
            f"the model needs {wanted} unnamed inputs, but `{source.name}` has {len(names)} columns "
            f"({name_list(names)}). Pass only the inputs, in the same order as in the fit."
        )
    # An array of objects keeps the type of each column.
    is_plain = all(pd.api.types.is_numeric_dtype(table[name].dtype) for name in names)
    return Inputs(table[names].to_numpy(dtype=np.float64 if is_plain else object), table, ())


def _refuse_names(origins: Mapping[str, str], source: Source) -> None:
    """Reject named columns for svmlight: some options can be removed, but other columns need a table."""
    needed = [name for name, origin in origins.items() if origin not in (KEEP, TARGET_OPTION)]
    if needed:
        raise _needs_columns(needed, source)
    if origins:
        options = " and ".join(dict.fromkeys(origins.values()))
        raise typer.BadParameter(f"svmlight has no column names: remove {options}.")


def _needs_columns(names: Sequence[str], source: Source) -> ValueError:
    needed = f"the column{'s' if len(names) > 1 else ''} {name_list(names)}"
    return ValueError(
        f"the model needs {needed}, but `{source.name}` is svmlight, which has no column names. Pass a table."
    )


def _sparse_inputs(model: Any, source: Source, reading: Reading) -> Inputs:
    names = wanted_columns(model)
    if names is not None:
        raise _needs_columns(names, source)
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
        unused = [str(name) for name in table.columns if name not in names]
        near = similar_names(lacking[0], unused)
        raise ValueError(
            f"`{source.name}` lacks {len(lacking)} of the {len(names)} columns that the model needs: "
            f"{name_list(lacking)}. It has {name_list(table.columns)}. Add or rename them."
            + (f" Is `{near[0]}` meant to be `{lacking[0]}`?" if near else "")
        )
    surplus = [name for name in table.columns if name not in names and name not in others]
    return [f"ignored columns that the model does not use: {name_list(surplus)}"] if surplus else []
