"""CSV, TSV, Parquet and JSON lines as a pandas frame."""

import csv
import difflib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import typer

from logikern.cli.reading.cells import MISSING, name_list
from logikern.cli.reading.delimiters import comma_columns, find_separator, has_sure_comma
from logikern.cli.reading.sources import Reading, Source

# Attributes of a frame: names of the columns that pandas had as an index, and notes for the user.
INDEX, NOTES = "index", "notes"
SEPARATORS = {"csv": ",", "tsv": "\t"}


def read_table(
    source: Source,
    reading: Reading,
    as_text: Sequence[str] = (),
    missing: Sequence[str] = MISSING,
    named: Sequence[str] = (),
    tell: Callable[[str], None] = lambda sentence: None,
) -> pd.DataFrame:
    """The table in `source`; columns in `as_text` keep their spelling, such as "01".

    `missing` are the spellings of missing values in CSV and TSV. An index that pandas wrote to Parquet is dropped,
    except for the columns in `named`; `tell` gets sentences about what was done.
    """
    frame = _READERS[source.format](source, reading, as_text, missing)
    for note in frame.attrs.pop(NOTES, ()):
        tell(note)
    index = [name for name in frame.attrs.pop(INDEX, ()) if name not in named]
    if index:
        tell(
            f"dropped the index that pandas wrote: {name_list(index)}. To use it as an input, call `reset_index()` "
            "on the frame before you write it"
        )
    frame = frame.drop(columns=index)
    if frame.shape[0] == 0:
        raise ValueError(f"`{source.name}` has a header but no rows. It needs at least one row.")
    return frame


def require_columns(frame: pd.DataFrame, names: Iterable[str], source: Source, origin: str) -> None:
    """Reject names that the table does not have, and suggest similar ones; `origin` is the option that names them."""
    for name in names:
        if name in frame.columns:
            continue
        columns = [str(column) for column in frame.columns]
        near = similar_names(name, columns)
        hint = (
            f"Did you mean {' or '.join(f'`{own}`' for own in near)}?" if near else f"Columns: {name_list(columns)}."
        )
        raise ValueError(
            f"`{source.name}` has no column `{name}`, which is named by {origin}. {hint}{_separator_hint(columns)}"
        )


def similar_names(name: str, columns: Sequence[str]) -> list[str]:
    """Up to three names that may have been meant, most similar first; differences in case count little."""
    plain = {column.strip().lower(): column for column in reversed(columns)}
    return [plain[near] for near in difflib.get_close_matches(name.strip().lower(), plain, n=3, cutoff=0.6)]


def _separator_hint(columns: Sequence[str]) -> str:
    if len(columns) != 1:
        return ""
    for separator in (";", "\t", "|", ","):
        if separator in columns[0]:
            return f" The only column contains {separator!r}: pass `--separator {separator!r}`."
    return ""


def _read_delimited(source: Source, reading: Reading, as_text: Sequence[str], missing: Sequence[str]) -> pd.DataFrame:
    text, usual = source.text(reading.encoding), SEPARATORS[source.format]
    separator = (reading.separator or find_separator(text, usual)).replace("\\t", "\t")
    if len(separator) != 1:
        raise typer.BadParameter(f"`--separator` must be one character, but is {separator!r}.")
    header = _check_rows(text, separator, source)
    parse = partial(
        pd.read_csv,
        sep=separator,
        header=0,
        names=header,
        index_col=False,
        dtype={name: str for name in as_text if name in header},
        keep_default_na=False,
        na_values=list(missing),
        skipinitialspace=True,
        low_memory=False,  # one type per column, not one per chunk
    )
    frame = parse(io.StringIO(text), decimal=str(reading.decimal or "."))
    notes = []
    if reading.separator is None and separator != usual:
        notes.append(f"read with the separator {separator!r}; pass `--separator` to use another one")
    commas = comma_columns(frame, as_text) if reading.decimal is None else []
    if has_sure_comma(frame, commas):
        frame = parse(io.StringIO(text), decimal=",")
        these = "this column" if len(commas) == 1 else "these columns"
        notes.append(
            f"read ',' as the decimal mark in {name_list(commas)}; pass `--decimal .` to read {these} as text"
        )
    elif commas:
        notes.append(f"the values of {name_list(commas)} are text. If ',' is their decimal mark, pass `--decimal ,`")
    frame.attrs[NOTES] = tuple(notes)
    return frame


def _check_rows(text: str, separator: str, source: Source) -> list[str]:
    """Check that every row has the same number of fields, and return the column names."""
    # pandas would pad short rows and turn surplus fields into an index, without an error.
    csv.field_size_limit(2**31 - 1)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    header: list[str] = []
    try:
        for row in rows:
            if not header:
                header = row
            elif len(row) != len(header) and "".join(row).strip():  # blank lines are skipped
                raise ValueError(
                    f"`{source.name}` is ragged: line {rows.line_num} has {len(row)} fields, but the header "
                    f"has {len(header)}. Correct the line; a field that holds {separator!r} needs quotes."
                )
    except csv.Error as error:
        raise ValueError(
            f"`{source.name}` is not readable as {source.format} near line {rows.line_num}: {error}. "
            "Check the quotes."
        ) from None
    return _column_names(header, source)


def _column_names(header: Sequence[str], source: Source) -> list[str]:
    """Names of the columns; unnamed columns get the name that pandas uses."""
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(header)]
    refuse_duplicates(names, source)
    return names


def refuse_duplicates(names: Iterable[str], source: Source) -> None:
    """Reject duplicate column names, because a model finds its inputs by name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"`{source.name}` has several columns called {name_list(repeated)}. Rename them: "
            "a model finds its inputs by name."
        )


def _read_parquet(source: Source, reading: Reading, as_text: Sequence[str], missing: Sequence[str]) -> pd.DataFrame:
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(io.BytesIO(source.content))
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(
            f"`{source.name}` is not a readable Parquet file ({error}). Write it again, or pass another `--format`."
        ) from None
    refuse_duplicates(table.column_names, source)
    frame = table.replace_schema_metadata(None).to_pandas()
    frame.attrs[INDEX] = _index_columns(table.schema, frame.columns)
    return frame


def _index_columns(schema: Any, columns: Iterable[str]) -> tuple[str, ...]:
    """Columns that the metadata of pandas marks as index; a range index has no column."""
    try:
        described = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        listed = described.get("index_columns", ())
    except (ValueError, AttributeError):  # written by something else
        return ()
    return tuple(name for name in columns if name in listed)


def _read_json_lines(
    source: Source, reading: Reading, as_text: Sequence[str], missing: Sequence[str]
) -> pd.DataFrame:
    records = []
    for place, line in enumerate(source.text(reading.encoding).splitlines(), start=1):
        if line.strip():
            records.append(_json_record(line, place, source))
    # Objects first, because pandas would turn integers with missing values into floats.
    frame = pd.DataFrame.from_records(records, coerce_float=False).astype(object)
    return frame.apply(lambda column: column if column.name in as_text else column.infer_objects())


def _json_record(line: str, place: int, source: Source) -> dict[str, object]:
    try:
        record = json.loads(line, object_pairs_hook=lambda pairs: _unique_record(pairs, source))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"line {place} of `{source.name}` is not JSON: {error.msg} at column {error.colno}. "
            "JSON lines have one object per line."
        ) from None
    if not isinstance(record, dict):
        raise ValueError(
            f"line {place} of `{source.name}` is of type {type(record).__name__}, but JSON lines must have one "
            'object per line, for example {"width": 1.5, "colour": "red"}.'
        )
    return record


def _unique_record(pairs: list[tuple[str, object]], source: Source) -> dict[str, object]:
    refuse_duplicates((name for name, _ in pairs), source)
    return dict(pairs)


_READERS: dict[str, Callable[[Source, Reading, Sequence[str], Sequence[str]], pd.DataFrame]] = {
    "csv": _read_delimited,
    "tsv": _read_delimited,
    "jsonl": _read_json_lines,
    "parquet": _read_parquet,
}
