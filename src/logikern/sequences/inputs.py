"""Sequences and their labels, as users pass them: lists of sequences, or a table with groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import DictVectorizer
from sklearn.utils import check_array

from logikern.numerics.outcome import Array, Indices


@dataclass(frozen=True, eq=False)
class SequenceRows:
    """The rows of all sequences one after another; sequence s has the rows from offsets[s] to offsets[s + 1]."""

    rows: Any  # (n, d), array or CSR matrix
    offsets: Indices  # (S + 1,)
    order: Indices | None = None  # the row of the table of each row here; None for a list of sequences

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


def join_lengths(lengths: Any) -> Indices:
    """Offsets of sequences from their lengths."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)


def has_dicts(X: Any) -> bool:
    """Whether X is a list of lists of feature dicts."""
    first = X[0] if isinstance(X, Sequence) and len(X) else None
    return isinstance(first, Sequence) and bool(len(first)) and isinstance(first[0], Mapping)


def read_sequences(X: Any, groups: Any = None, vectorizer: DictVectorizer | None = None) -> SequenceRows:
    """Check sequences and put their rows one after another.

    Parameters
    ----------
    X : list of arrays or sparse matrices (length, inputs), list of lists of dicts, or a table with groups
    groups : array of shape (n,) or None
        The sequence of each row of a table.
    vectorizer : DictVectorizer or None
        A fitted vectorizer of feature dicts; None if X has numbers.
    """
    if groups is not None:
        return _read_table(X, groups)
    if sparse.issparse(X) or hasattr(X, "columns") or getattr(X, "ndim", 3) == 2:
        raise ValueError(
            "`X` must be a list with one array of shape (length, inputs) per sequence, but is a table. Pass `groups` "
            "with the sequence of each row, or [X] if the table is one sequence."
        )
    sequences = list(X)
    if not sequences:
        raise ValueError("`X` must have at least one sequence, but is empty.")
    lengths = [one.shape[0] if hasattr(one, "shape") and one.ndim else _length(one) for one in sequences]
    if 0 in lengths:
        raise ValueError(f"Sequence {lengths.index(0)} of `X` is empty. Leave out sequences without rows.")
    if vectorizer is not None:
        rows = vectorizer.transform([features for one in sequences for features in one])
    else:
        rows = _stack([_read_one(one, number) for number, one in enumerate(sequences)])
    return SequenceRows(check_array(rows, accept_sparse="csr", dtype=np.float64), join_lengths(lengths))


def _length(sequence: Any) -> int:
    try:
        return len(sequence)
    except TypeError:
        raise ValueError(f"`X` must be a list of sequences, but has the element {sequence!r}.") from None


def _read_one(sequence: Any, number: int) -> Any:
    """One sequence of numbers, with an error that names it."""
    if has_dicts([sequence]):
        raise ValueError(f"Sequence {number} of `X` has feature dicts, but the model was fitted to arrays.")
    if not sparse.issparse(sequence) and np.ndim(sequence) != 2:
        raise ValueError(
            f"Each sequence must have the shape (length, inputs), but sequence {number} of `X` has the shape "
            f"{np.shape(sequence)}. Pass one.reshape(-1, 1) if there is one input."
        )
    try:
        return check_array(sequence, accept_sparse="csr", dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"Sequence {number} of `X`: {error}") from None


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


def _read_table(X: Any, groups: Any) -> SequenceRows:
    rows, groups = check_array(X, accept_sparse="csr", dtype=np.float64), np.asarray(groups)
    if groups.shape != (rows.shape[0],):
        raise ValueError(
            f"`groups` must name the sequence of each row of `X`, which has {rows.shape[0]} rows, but has the shape "
            f"{groups.shape}."
        )
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[number]  # sequences in the order of their first rows
    order = np.argsort(rank, kind="stable")
    return SequenceRows(rows[order], join_lengths(np.bincount(rank)), order)


def read_labels(y: Any, sequences: SequenceRows) -> Array:
    """The labels of all rows, (n,), checked against the sequences."""
    if sequences.order is not None:
        labels = np.asarray(y)
        if labels.shape != sequences.order.shape:
            raise ValueError(
                f"`y` must have a label for each of the {len(sequences.order)} rows of `X`, but has the shape "
                f"{labels.shape}."
            )
        return labels[sequences.order]
    each, lengths = [np.asarray(one) for one in y], np.diff(sequences.offsets)
    if len(each) != len(lengths):
        raise ValueError(f"`y` must have labels for {len(lengths)} sequences, but has them for {len(each)}.")
    for number, (one, length) in enumerate(zip(each, lengths, strict=True)):
        if one.shape != (length,):
            raise ValueError(
                f"Sequence {number} has {length} rows in `X`, but its labels in `y` have the shape {one.shape}."
            )
    return np.concatenate(each)
