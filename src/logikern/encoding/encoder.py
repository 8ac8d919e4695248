"""Encoders of tables: learned on training rows, they turn columns into inputs, with one-hot levels."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from logikern.encoding import numbers as number_columns
from logikern.encoding.complaints import Note
from logikern.encoding.levels import UNSEEN, Levels, count_levels, learn_levels
from logikern.encoding.numbers import KINDS, Numbers, counts_rows, learn_medians, median, read_numbers
from logikern.encoding.policy import DEFAULT_POLICY, EncodingPolicy
from logikern.encoding.roles import FROM_DTYPE, LEVELS, Role, assign_role, list_chosen, read_choices
from logikern.encoding.scaling import Scaling, Unscaled
from logikern.encoding.tables import NUMBER, TRUTH, Column, column_names, is_plain, read_columns
from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Array, Indices

IDENTIFIER = re.compile(
    r"^(id|ids|identifier|index|idx|row|key|pk|uuid|guid|unnamed: \d+|__index_level_\d+__"
    r"|.*[_ .-]id|.*[a-z]Id|id[_ .-].*"
    r"|(row|record|case|sample|serial|subject|person|patient|passenger|customer|client|user|member|account|order|item)"
    r"[_ .-]?(id|no|nr|num|number|name|names|key|index))$"
)
# Names of an index that pandas wrote: in Parquet, and in CSV as pandas, polars and pyarrow read it.
STORED_INDEX = re.compile(r"__index_level_\d+__")
UNNAMED_INDEX = ("Unnamed: 0", "")


@dataclass(frozen=True, eq=False)
class Encoder:
    """How columns of a table become inputs; learned on training rows, without their labels.

    Inputs are numbers (booleans as 0 and 1, times in days), then indicators of missing numbers, then levels.

    Parameters
    ----------
    n_columns : int
        Columns of the table, including those that are left out.
    names : tuple of str or None
        Their names; None for an array.
    numbers : Numbers
    levels : tuple of Levels
    notes : tuple of Note
        Columns that are left out or need attention.
    is_sparse : bool, default=False
        Whether encoded tables are sparse.
    scaling : Scaling
        The scaling that `transform` applies to encoded inputs.
    """

    n_columns: int
    names: tuple[str, ...] | None
    numbers: Numbers
    levels: tuple[Levels, ...]
    notes: tuple[Note, ...]
    is_sparse: bool = False
    scaling: Scaling = field(default_factory=Unscaled)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns; columns of an array are called x0, x1 and so on."""
        return self.names or tuple(f"x{place}" for place in range(self.n_columns))

    @property
    def columns(self) -> Indices:
        """The number of the column that each input belongs to, (n_inputs,)."""
        places = self.numbers.places
        levels = [np.full(own.n_inputs, own.place) for own in self.levels]
        return np.concatenate([places, places[self.numbers.gaps], *levels]).astype(np.int64)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs: `age`, `age is missing`, `colour=red`."""
        names, places = self.column_names, self.numbers.places
        found = [names[place] for place in places]
        found += [f"{names[place]} is missing" for place in places[self.numbers.gaps]]
        return tuple(found + [name for own in self.levels for name in own.input_names(names[own.place])])

    @property
    def is_level(self) -> Array:
        """Which inputs are 0 or 1: booleans, indicators and levels, (n_inputs,)."""
        truths = self.numbers.kinds == KINDS.index(TRUTH)
        return np.concatenate([truths, np.ones(self.n_inputs - len(truths), dtype=bool)])

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.numbers.n_inputs + sum(own.n_inputs for own in self.levels)

    @property
    def keeps_columns(self) -> bool:
        """Whether inputs are the columns of the table in their order, perhaps scaled, with nothing added."""
        same = len(self.numbers.places) == self.n_columns == self.n_inputs
        return same and not np.any(self.numbers.kinds)

    @property
    def dropped(self) -> tuple[Note, ...]:
        """Notes on columns that are left out."""
        return tuple(note for note in self.notes if note.drops)

    def transform(self, X: Any) -> Any:
        """Scaled inputs, (n_rows, n_inputs): float64, sparse if `is_sparse`; an array of numbers is not copied."""
        return self.scaling.transform(self.encode(X))

    def encode(self, X: Any) -> Any:
        """Inputs before scaling."""
        if is_plain(X) and not self.levels and len(self.numbers.places) == self.n_columns:
            return _fill_plain(self.numbers, X)
        X = X.toarray() if is_sparse(X) else X
        columns = list(read_columns(X))
        if len(columns) != self.n_columns:
            raise ValueError(f"`X` must have the {self.n_columns} columns seen during fit, but has {len(columns)}.")
        kinds = zip(self.numbers.places, self.numbers.kinds, strict=True)
        values = [read_numbers(columns[place], KINDS[kind]) for place, kind in kinds]
        filled = self.numbers.fill(number_columns.stack(values, len(X)))
        numbered = [own.number(columns[own.place].objects()) for own in self.levels]
        return _beside(filled, numbered, [own.n_inputs for own in self.levels], self.is_sparse)


def learn_encoder(X: Any, categorical_features: Any = FROM_DTYPE, policy: EncodingPolicy = DEFAULT_POLICY) -> Encoder:
    """Learn from training rows how to encode a table.

    Parameters
    ----------
    X : frame, array or sparse matrix of shape (n_rows, n_columns)
    categorical_features : "from_dtype", None, list of names or positions, or mask, default="from_dtype"
        Columns to treat as categories. "from_dtype" decides by type: text, categories and objects are categories,
        numbers and booleans are not. None allows numbers only.
    policy : EncodingPolicy

    Raises
    ------
    ColumnError
        If a column cannot be encoded.
    """
    _require_shape(X)
    if is_plain(X) and not list_chosen(categorical_features):
        return _plain_encoder(X, policy)
    if is_sparse(X):
        raise ValueError("`categorical_features` needs a table, but `X` is sparse. Pass an array or a frame.")
    names = column_names(X)
    columns = list(read_columns(X))
    choices = read_choices(categorical_features, [column.name for column in columns], names is not None)
    pairs = enumerate(zip(columns, choices, strict=True))
    return _assemble(names, [_learn_column(place, *pair, policy) for place, pair in pairs], policy)


def with_scaling(encoder: Encoder, scaling: Scaling) -> Encoder:
    """The same encoder with another scale of its inputs."""
    return replace(encoder, scaling=scaling)


def require_inputs(encoder: Encoder) -> None:
    """Reject a table without a column to learn from."""
    if not encoder.n_inputs:
        told = " ".join(note.tell(encoder.column_names[note.place]) for note in encoder.dropped[:3])
        raise ValueError(f"No column of `X` is left to learn from. {told}".rstrip())


def _require_shape(X: Any) -> None:
    shape = tuple(getattr(X, "shape", None) or np.shape(X))
    if len(shape) != 2:
        raise ValueError(f"`X` must be a table with rows and columns, but has {len(shape)} dimensions.")
    if not all(shape):
        raise ValueError(
            f"`X` must have at least one row and one column, but has {shape[0]} rows and {shape[1]} columns."
        )


class _Learned(NamedTuple):
    """The result for one column: numbers with their kind, median and gap, or levels, or nothing."""

    place: int
    kind: str | None
    median: float
    has_gap: bool
    levels: Levels | None
    notes: tuple[Note, ...]

    @property
    def is_dropped(self) -> bool:
        """Whether a note leaves the column out."""
        return any(note.drops for note in self.notes)


def _learn_column(place: int, column: Column, choice: bool | None, policy: EncodingPolicy) -> _Learned:
    if STORED_INDEX.fullmatch(column.name) and not choice:
        return _left_out(Note(place, "index"))
    role = assign_role(column, choice)
    if role.kind == LEVELS:
        return _learn_levels(place, column, role, policy)
    values = read_numbers(column, role.kind)
    present = values[~np.isnan(values)]
    has_gap = len(present) < len(values)
    if not len(present):
        return _left_out(Note(place, "empty"))
    # A missing number is informative, even if all other numbers are equal.
    if not has_gap and present.min() == present.max():
        return _Learned(place, role.kind, float(present[0]), False, None, (Note(place, "constant"),))
    share = 0.0 if IDENTIFIER.match(column.name) or IDENTIFIER.match(column.name.lower()) else policy.counted_share
    notes = [Note(place, "spelled", len(present))] if role.spelled else []
    if role.kind == NUMBER and counts_rows(values, policy.rows_to_judge, share):
        if column.name in UNNAMED_INDEX:
            return _left_out(Note(place, "index"))
        notes.append(Note(place, "counter", len(present)))
    return _Learned(place, role.kind, float(median(present)), has_gap, None, tuple(notes))


def _learn_levels(place: int, column: Column, role: Role, policy: EncodingPolicy) -> _Learned:
    counts, n_missing = count_levels(column.objects())
    if not counts:
        return _left_out(Note(place, "empty"))
    if len(counts) == 1 and not n_missing:
        return _left_out(Note(place, "constant"))
    n_present = counts.total()
    if not role.named and n_present >= policy.rows_to_judge and len(counts) > policy.distinct_share * n_present:
        return _left_out(Note(place, "identifier", len(counts)))
    levels = learn_levels(place, counts, n_missing, policy)
    notes = (Note(place, "pooled", len(counts)),) if len(counts) > policy.most_levels else ()
    return _Learned(place, None, 0.0, False, levels, notes)


def _left_out(note: Note) -> _Learned:
    return _Learned(note.place, None, 0.0, False, None, (note,))


def _assemble(names: tuple[str, ...] | None, learned: list[_Learned], policy: EncodingPolicy) -> Encoder:
    if all(own.is_dropped for own in learned) and any(own.kind for own in learned):
        # A table that holds only constant numbers is fitted like an array.
        learned = [own._replace(notes=(Note(own.place, "alone"),)) if own.kind else own for own in learned]
    learned = [_left_out(own.notes[0]) if own.is_dropped else own for own in learned]
    found = [own for own in learned if own.kind is not None]
    numbers = Numbers(
        np.array([own.place for own in found], dtype=np.int64),
        np.array([KINDS.index(own.kind) for own in found if own.kind is not None], dtype=np.int64),
        np.array([own.median for own in found]),
        np.flatnonzero([own.has_gap for own in found]),
    )
    levels = tuple(own.levels for own in learned if own.levels is not None)
    notes = tuple(note for own in learned for note in own.notes)
    encoder = Encoder(len(learned), names, numbers, levels, notes)
    n_filled = len(found) + len(levels)
    wide = encoder.n_inputs >= policy.sparse_width and n_filled <= policy.sparse_share * encoder.n_inputs
    return replace(encoder, is_sparse=wide)


def _plain_encoder(X: Any, policy: EncodingPolicy) -> Encoder:
    """An encoder that only imputes missing values, for an array of numbers."""
    places = np.arange(X.shape[1])
    if is_sparse(X):
        _refuse_sparse_gaps(X)
        medians, gaps = np.zeros(len(places)), places[:0]
    else:
        medians, gaps = learn_medians(X, policy.median_rows)
        if np.isnan(medians).all():
            raise ValueError("`X` must hold numbers, but every value is NaN.")
        medians = np.nan_to_num(medians)
    return Encoder(X.shape[1], None, Numbers(places, np.zeros_like(places), medians, gaps), (), ())


def _fill_plain(numbers: Numbers, X: Any) -> Any:
    if not is_sparse(X):
        return numbers.fill(X)
    _refuse_sparse_gaps(X)
    return numbers.fill(X.toarray()) if len(numbers.gaps) else X


def _refuse_sparse_gaps(X: Any) -> None:
    if np.isnan(X.data).any():
        raise ValueError(
            "Sparse `X` must not hold NaN. Pass a dense array or a frame, in which missing values are imputed."
        )


def _beside(filled: Array, numbered: Iterable[Indices], widths: list[int], as_sparse: bool) -> Any:
    """Numbers (n, k), followed by the one-hot levels of each column."""
    n_rows, start = filled.shape
    if not widths:
        return filled
    starts = np.cumsum([start, *widths])
    seen = [(np.flatnonzero(own != UNSEEN), own, begin) for own, begin in zip(numbered, starts, strict=False)]
    pairs = [(rows, begin + own[rows]) for rows, own, begin in seen]
    rows, places = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    if as_sparse:
        ones = sparse.csr_array((np.ones(len(rows)), (rows, places - start)), shape=(n_rows, sum(widths)))
        return sparse.hstack([sparse.csr_array(filled), ones], format="csr")
    inputs = np.zeros((n_rows, starts[-1]))
    inputs[:, :start] = filled
    inputs[rows, places] = 1.0
    return inputs
