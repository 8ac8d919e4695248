"""Tables of any library as columns. Frames are read by narwhals, which is imported only for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.encoding.cells import without_missing
from logikern.encoding.complaints import ColumnError, NestedValueError
from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Array

# Content of a column by its type.
NUMBER, TRUTH, TIME, CATEGORY, OBJECT = "number", "truth", "time", "category", "object"
MICROSECONDS_PER_DAY = 24 * 60 * 60 * 10**6


@dataclass(frozen=True, eq=False)
class Column:
    """A column and its content by type; `source` is a series of narwhals or an array."""

    name: str
    kind: str
    source: Any

    def numbers(self) -> Array:
        """Values of a column of numbers, booleans or times, NaN where they are missing; times in days."""
        if isinstance(self.source, np.ndarray):
            return _array_numbers(self.source)
        return _series_numbers(self.source)

    def objects(self) -> list[Any]:
        """Values as objects, None where they are missing."""
        # `tolist` of an array gives nanoseconds as plain numbers.
        is_array = isinstance(self.source, np.ndarray)
        return without_missing(list(self.source) if is_array else self.source.to_list())


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas, polars, pyarrow or another library with named columns."""
    if isinstance(X, np.ndarray | list | tuple) or is_sparse(X):
        return False
    from narwhals import dependencies

    if dependencies.is_polars_lazyframe(X):
        raise TypeError("`X` is a LazyFrame, whose values are not known yet. Pass `X.collect()`.")
    return bool(dependencies.is_into_dataframe(X))


def is_plain(X: Any) -> bool:
    """Whether X is a sparse matrix or an array of numbers, which need no encoding."""
    return is_sparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")


def column_names(X: Any) -> tuple[str, ...] | None:
    """Distinct names of the columns of a frame, as text; None for arrays."""
    if not is_frame(X):
        return None
    columns = getattr(X, "column_names", None)  # pyarrow
    names = tuple(map(_name, X.columns if columns is None else columns))
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise ValueError(f"`X` has several columns called {repeated[0]!r}. Rename them, so that names are unique.")
    return names


def _name(label: Any) -> str:
    """The name of a column; labels with several levels are joined."""
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def read_columns(X: Any) -> Iterator[Column]:
    """The columns of a frame, or of an array with two dimensions."""
    names = column_names(X)
    if names is None:
        table = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        return _array_columns(table, [f"x{place}" for place in range(table.shape[1])])
    values = frame_values(X)
    return _frame_columns(X, names) if values is None else _array_columns(values, names)


def _array_columns(table: np.ndarray, names: Sequence[str]) -> Iterator[Column]:
    for place, name in enumerate(names):
        yield Column(name, _array_kind(table.dtype, name), table[:, place])


def _frame_columns(frame: Any, names: Sequence[str]) -> Iterator[Column]:
    import narwhals.stable.v2 as nw

    for name, series in zip(names, nw.from_native(frame, eager_only=True).iter_columns(), strict=True):
        yield Column(name, _series_kind(series.dtype, name), series)


def frame_values(frame: Any) -> Array | None:
    """Values (n, d) of a pandas or polars frame that holds only plain numbers; None for any other frame.

    Reading single columns takes 0.3 ms each, which adds up to seconds for thousands of columns.
    """
    kinds = list(getattr(frame, "dtypes", ()))
    if kinds and all(isinstance(kind, np.dtype) and kind.kind in "iuf" for kind in kinds):
        return np.asarray(frame.to_numpy(dtype=np.float64))
    if kinds and type(frame).__module__.startswith("polars") and all(kind.is_float() for kind in kinds):
        return np.asarray(frame.to_numpy(), dtype=np.float64)
    return None


def _array_kind(dtype: np.dtype[Any], name: str) -> str:
    if dtype.kind == "c":
        raise ColumnError(name, "complex", "holds complex numbers")
    return {"b": TRUTH, "i": NUMBER, "u": NUMBER, "f": NUMBER, "M": TIME, "m": TIME}.get(dtype.kind, OBJECT)


def _array_numbers(values: np.ndarray) -> Array:
    if values.dtype.kind in "Mm":
        unit = np.timedelta64(1, "us")
        spans = values - np.datetime64(0, "us") if values.dtype.kind == "M" else values
        return spans / (MICROSECONDS_PER_DAY * unit)
    return values.astype(np.float64)


def _series_kind(dtype: Any, name: str) -> str:
    """The kind of content of a column, from its narwhals type."""
    import narwhals.stable.v2 as nw

    if dtype.is_numeric():
        return NUMBER
    if dtype == nw.Boolean:
        return TRUTH
    if dtype in (nw.Datetime, nw.Date, nw.Duration):
        return TIME
    if dtype in (nw.Categorical, nw.Enum):
        return CATEGORY
    if dtype in (nw.List, nw.Array, nw.Struct):
        kind = "records" if dtype == nw.Struct else "lists"
        raise NestedValueError(name, "nested", f"holds {kind}, but must hold single values")
    return OBJECT


def _series_numbers(series: Any) -> Array:
    import narwhals.stable.v2 as nw

    if series.dtype == nw.Duration:
        return _floats(series.dt.total_microseconds()) / MICROSECONDS_PER_DAY
    if series.dtype in (nw.Datetime, nw.Date):
        moments = series.cast(nw.Datetime) if series.dtype == nw.Date else series
        return _floats(moments.dt.timestamp("us")) / MICROSECONDS_PER_DAY
    return _floats(series)


def _floats(series: Any) -> Array:
    import narwhals.stable.v2 as nw

    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
