"""How much each column matters: the increase of the log loss when its values are shuffled."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.encoding.tables import is_frame
from logikern.numerics.outcome import Array, Indices


@dataclass(frozen=True)
class RelevancePolicy:
    """Limits of the computation."""

    rows: int = 1000  # a sample of this size gives the increase to about 0.01
    seconds: float = 20.0  # for all columns together


USUAL = RelevancePolicy()


@dataclass(frozen=True)
class Relevance:
    """Increase of the mean log loss without one column, and its standard error."""

    column: Any
    increase: float
    error: float


@dataclass(frozen=True)
class Relevances:
    """Columns by relevance, largest first, and the number of rows that were used."""

    columns: tuple[Relevance, ...]
    n_rows: int


def shuffle_columns(
    predict_log_proba: Callable[[Any], Array], X: Any, true: Indices, policy: RelevancePolicy = USUAL
) -> Relevances | None:
    """Shuffle one column at a time, and predict; None if X has no columns or the model is too slow.

    Breiman (2001), "Random forests", Section 10. If two columns carry the same information, shuffling one of them may
    change little, although the model uses both.
    """
    names = names_of_columns(X)
    if not names:
        return None
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(true))[: policy.rows])
    sample, own, places = take_rows(X, rows), true[rows], np.arange(len(rows))
    began = time.perf_counter()
    before = predict_log_proba(sample)[places, own]
    if (time.perf_counter() - began) * len(names) > policy.seconds:
        return None
    found = []
    for column, name in enumerate(names):
        after = predict_log_proba(_shuffle(sample, column, rng.permutation(len(rows))))[places, own]
        increase = before - after
        found.append(Relevance(name, float(increase.mean()), _standard_error(increase)))
    return Relevances(tuple(sorted(found, key=lambda one: -one.increase)), len(rows))


def take_rows(X: Any, rows: Indices) -> Any:
    """Some rows of a frame, an array or a sparse matrix."""
    if _has_positions(X):
        return X.iloc[rows]
    return _read(X)[rows.tolist()].to_native() if is_frame(X) else X[rows]


def list_cells(X: Any, rows: Indices, places: list[int]) -> list[list[Any]]:
    """Cells of a frame in some rows and columns."""
    if _has_positions(X):
        return [list(X.iloc[row, places]) for row in rows]
    return [list(row) for row in _read(X)[rows.tolist(), places].rows()]


def _has_positions(X: Any) -> bool:
    """Whether X is a pandas frame, whose columns may have any names."""
    return is_frame(X) and getattr(X, "iloc", None) is not None


def _read(X: Any) -> Any:
    import narwhals

    return narwhals.from_native(X, eager_only=True)


def names_of_columns(X: Any) -> list[Any]:
    """Names of the columns; their numbers for an array, and no names for anything else."""
    if is_frame(X):
        return list(X.columns if _has_positions(X) else _read(X).columns)
    is_table = isinstance(X, np.ndarray) and X.ndim == 2
    return [f"input {place}" for place in range(X.shape[1])] if is_table else []


def _shuffle(X: Any, column: int, order: Indices) -> Any:
    """A copy of X with one column in another order."""
    if _has_positions(X):
        frame = X.copy()
        frame.isetitem(column, X.iloc[order, column].array)
        return frame
    if is_frame(X):
        own = _read(X)[:, column]
        return _read(X).with_columns(own[order.tolist()]).to_native()
    copy = X.copy()
    copy[:, column] = X[order, column]
    return copy


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
