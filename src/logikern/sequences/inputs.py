"""Sequences and their labels, as users pass them: lists of sequences, or a table with groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from logikern.encoding.tables import column_names, is_frame
from logikern.estimators._inputs.labels import missing_rows
from logikern.estimators._inputs.weights import sample_weights
from logikern.numerics.outcome import Array, Indices


@dataclass(frozen=True, eq=False)
class SequenceRows:
    """The rows of all sequences one after another; sequence s has the rows from offsets[s] to offsets[s + 1]."""

    rows: Any  # (n, d), array or CSR matrix
    offsets: Indices  # (S + 1,)
    order: Indices | None = None  # for each row here, its row in the table; None for a list of sequences

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    def give_back(self, values: Array) -> Any:
        """Values (n, ...) in the form of the input: a list with an array per sequence, or rows of a table."""
        if self.order is None:
            return np.split(values, self.offsets[1:-1])
        table = np.empty_like(values)
        table[self.order] = values
        return table

    def rows_of(self, chosen: Indices) -> Indices:
        """The rows of some sequences."""
        return np.concatenate([np.arange(self.offsets[one], self.offsets[one + 1]) for one in chosen])

    def take(self, chosen: Indices) -> "SequenceRows":
        """Some sequences, as a list."""
        return SequenceRows(self.rows[self.rows_of(chosen)], join_lengths(np.diff(self.offsets)[chosen]))

    def spread(self, values: Array) -> Array:
        """Repeat the value of each sequence, (S,), for all of its rows, (n,)."""
        return np.repeat(values, np.diff(self.offsets))

    def locate(self, row: int) -> str:
        """The name of a row for messages."""
        if self.order is not None:
            return f"row {self.order[row]}"
        number = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return f"sequence {number} at position {row - self.offsets[number]}"


@dataclass(frozen=True, eq=False)
class GivenSequences:
    """Sequences before their rows are encoded."""

    rows: Any  # (n, d): array, CSR matrix or frame, in the order in which they were given; or a list of feature dicts
    offsets: Indices  # (S + 1,)
    order: Indices | None  # as in `SequenceRows`

    @property
    def has_dicts(self) -> bool:
        return isinstance(self.rows, list)

    def encoded(self, inputs: Any) -> SequenceRows:
        """The sequences with the inputs (n, d) of their rows."""
        return SequenceRows(inputs if self.order is None else inputs[self.order], self.offsets, self.order)


def join_lengths(lengths: Any) -> Indices:
    """Offsets of sequences from their lengths."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)


def read_sequences(X: Any, groups: Any = None) -> GivenSequences:
    """Check sequences and put their rows one after another.

    Parameters
    ----------
    X : list of arrays, sparse matrices or frames (length, inputs), list of lists of dicts, or a table with groups
    groups : array of shape (n,) or None
        The sequence of each row of a table.
    """
    if groups is not None:
        return _read_table(X, groups)
    if sparse.issparse(X) or hasattr(X, "columns") or getattr(X, "ndim", 3) == 2:
        raise ValueError(
            "`X` must be a list with one array of shape (length, inputs) per sequence, but is a table. Pass `groups` "
            "with the sequence of each row, or [X] if the table is one sequence."
        )
    sequences = _as_list(X)
    if not sequences:
        raise ValueError("`X` must have at least one sequence, but is empty.")
    lengths = [one.shape[0] if hasattr(one, "shape") and len(one.shape) else _length(one) for one in sequences]
    if 0 in lengths:
        raise ValueError(f"Sequence {lengths.index(0)} of `X` is empty. Leave out sequences without rows.")
    return GivenSequences(_join(sequences), join_lengths(lengths), None)


def _as_list(X: Any) -> list[Any]:
    if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__iter__") or getattr(X, "ndim", 1) == 0:
        raise ValueError(f"`X` must be a list of sequences, but is of type {type(X).__name__}.")
    return list(X)


def _length(sequence: Any) -> int:
    if isinstance(sequence, str | bytes | Mapping) or not hasattr(sequence, "__len__"):
        raise ValueError(f"`X` must be a list of sequences, but has the element {sequence!r}.")
    return len(sequence)


def _join(sequences: list[Any]) -> Any:
    """The rows of all sequences: an array, a sparse matrix, a frame, or a list of dicts."""
    if _has_dicts(sequences[0]):
        return [features for number, one in enumerate(sequences) for features in _read_dicts(one, number)]
    if is_frame(sequences[0]):
        return _join_frames(sequences)
    return _stack([_read_one(one, number) for number, one in enumerate(sequences)])


def _has_dicts(sequence: Any) -> bool:
    return isinstance(sequence, Sequence) and bool(len(sequence)) and isinstance(sequence[0], Mapping)


def _read_dicts(sequence: Any, number: int) -> Any:
    if not (isinstance(sequence, Sequence) and all(isinstance(one, Mapping) for one in sequence)):
        raise ValueError(
            f"Sequence 0 of `X` has feature dicts, but sequence {number} does not. Pass a dict for each "
            "position of every sequence."
        )
    return sequence


def _join_frames(frames: list[Any]) -> Any:
    import narwhals.stable.v2 as nw

    names = column_names(frames[0])
    for number, one in enumerate(frames):
        if not is_frame(one) or column_names(one) != names:
            came = f"has {list(column_names(one) or ())}" if is_frame(one) else f"is of type {type(one).__name__}"
            raise ValueError(
                f"All sequences must be frames with the columns {list(names or ())}, but sequence {number} of `X` "
                f"{came}."
            )
    return nw.concat([nw.from_native(one, eager_only=True) for one in frames]).to_native()


def _read_one(sequence: Any, number: int) -> Any:
    """Check one sequence of numbers; error messages give its number."""
    if _has_dicts(sequence) or is_frame(sequence):
        raise ValueError(f"Sequence 0 of `X` is an array, but sequence {number} is not. Pass sequences of one kind.")
    try:
        n_axes = 2 if sparse.issparse(sequence) else np.ndim(sequence)
    except ValueError:  # rows of different lengths
        raise ValueError(f"Rows of sequence {number} of `X` have different numbers of inputs.") from None
    if n_axes != 2:
        raise ValueError(
            f"Each sequence must have the shape (length, inputs), but sequence {number} of `X` has the shape "
            f"{np.shape(sequence)}. If there is one input, pass `sequence.reshape(-1, 1)`."
        )
    try:
        return check_array(sequence, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
    except (ValueError, TypeError) as error:
        advice = " Pass a frame if inputs are text." if "could not convert" in str(error) else ""
        raise ValueError(f"Sequence {number} of `X`: {str(error).rstrip('.')}.{advice}") from None


def _stack(sequences: list[Any]) -> Any:
    widths = [one.shape[1] for one in sequences]
    odd = next((number for number, width in enumerate(widths) if width != widths[0]), None)
    if odd is not None:
        raise ValueError(
            f"All sequences must have the same inputs, but sequence {odd} of `X` has {widths[odd]} inputs and "
            f"sequence 0 has {widths[0]}."
        )
    if any(sparse.issparse(one) for one in sequences):
        return sparse.vstack(sequences, format="csr")
    return np.concatenate(sequences)


def _read_table(X: Any, groups: Any) -> GivenSequences:
    rows = X if hasattr(X, "shape") else _as_array(X)
    names, shape = np.asarray(groups), tuple(rows.shape)
    if len(shape) != 2:
        raise ValueError(f"With `groups`, `X` must be a table (rows, inputs), but has the shape {shape}.")
    if names.shape != shape[:1]:
        raise ValueError(
            f"`groups` must name the sequence of each of the {shape[0]} rows of `X`, but has the shape {names.shape}."
        )
    missing = missing_rows(groups)
    if len(missing):
        raise ValueError(f"`groups` must name the sequence of every row, but is missing in row {missing[0]}.")
    number: dict[Any, int] = {}  # sequences in the order of their first rows
    rank = np.array([number.setdefault(name, len(number)) for name in names.tolist()], dtype=np.intp)
    return GivenSequences(rows, join_lengths(np.bincount(rank)), np.argsort(rank, kind="stable"))


def _as_array(X: Any) -> Array:
    """Convert a list of rows to an array; its dtype is object if there is text, so that numbers remain numbers."""
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError("With `groups`, `X` must be a table, but its rows have different lengths.") from None
    return np.array(X, dtype=object) if array.dtype.kind in "US" else array


def read_weights(sample_weight: Any, sequences: SequenceRows) -> Array:
    """The weight of each sequence, (S,), from weights of sequences or of the rows of a table."""
    if sequences.order is None:
        return sample_weights(sequences.n_sequences, sample_weight, unit="sequence")
    each = sample_weights(len(sequences.order), sample_weight)[sequences.order]
    weights = each[sequences.offsets[:-1]]
    wrong = np.flatnonzero(sequences.spread(weights) != each)
    if len(wrong):
        raise ValueError(
            f"`sample_weight` must be the same for all rows of a sequence, but {sequences.locate(wrong[0])} has "
            "a different weight from the first row of its sequence."
        )
    return weights


def read_labels(y: Any, sequences: SequenceRows) -> Array:
    """The labels of all rows, (n,), checked against the sequences."""
    labels = _table_labels(y, sequences.order) if sequences.order is not None else _listed_labels(y, sequences)
    missing = missing_rows(labels)
    if len(missing):
        raise ValueError(
            f"`y` must have a label for every position, but it is None, NaN or NA in {sequences.locate(missing[0])}. "
            "Leave out sequences with unknown labels."
        )
    return labels


def _table_labels(y: Any, order: Indices) -> Array:
    labels = np.asarray(y)
    if labels.shape != order.shape:
        raise ValueError(
            f"`y` must have a label for each of the {len(order)} rows of `X`, but has the shape {labels.shape}."
        )
    return labels[order]


def _listed_labels(y: Any, sequences: SequenceRows) -> Array:
    if isinstance(y, str | bytes | Mapping) or not hasattr(y, "__iter__"):
        raise ValueError(f"`y` must be a list with the labels of each sequence, but is of type {type(y).__name__}.")
    each, lengths = [np.asarray(one) for one in y], np.diff(sequences.offsets)
    if len(each) != len(lengths):
        raise ValueError(f"`y` must have labels for {len(lengths)} sequences, but has labels for {len(each)}.")
    for number, (one, length) in enumerate(zip(each, lengths, strict=True)):
        if one.shape != (length,):
            raise ValueError(
                f"Sequence {number} has {length} rows in `X`, but its labels in `y` have the shape {one.shape}."
            )
    kinds = {"text" if one.dtype.kind in "US" else "numbers" for one in each if one.dtype.kind != "O"}
    if len(kinds) > 1:
        raise ValueError("`y` must hold labels of one kind, but mixes text and numbers. Use text for all labels.")
    return np.concatenate(each)
