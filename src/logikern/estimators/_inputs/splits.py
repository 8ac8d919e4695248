"""Splits of the points of a search, from `cv`.

If `cv` is a number, folds are drawn from the rows of the search. Given splits, and splits made by a splitter, refer
to all rows as passed to `fit`; they are then restricted to the rows of the search.
"""

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.utils import indexable
from sklearn.utils.multiclass import type_of_target

from logikern.estimators._inputs.data import TrainingData
from logikern.numerics.outcome import Array, Indices

Splits: TypeAlias = list[tuple[Indices, Indices]]


class GivenRows(NamedTuple):
    """The arguments of `fit`, for splitters to read."""

    X: Any
    y: Any
    groups: Any


def list_splits(cv: Any, given: GivenRows, data: TrainingData, seen: Indices) -> Any:
    """The pairs (kept, held out) of rows among `seen`; if `cv` is a number or None, it is returned unchanged.

    Splits are read once for all stages of a search, so that random splits do not change between stages.
    """
    if cv is None or isinstance(cv, int | np.integer):
        return cv
    places = np.full(data.n_rows, -1)
    places[seen] = seen
    pairs = (_rows(number, pair, data.n_rows) for number, pair in enumerate(_read(cv, given, data)))
    return _renumbered(pairs, places)


def split_points(
    cv: int | Splits, data: TrainingData, chosen: Indices, groups: Array | None, seed: int
) -> Iterable[tuple[Indices, Indices]]:
    """Pairs (kept, held out) of positions among the chosen points, stratified and shuffled if `cv` is a number."""
    if not isinstance(cv, int | np.integer):
        places = np.full(data.n_rows, -1)
        places[data.kept[chosen]] = np.arange(len(chosen))
        return _renumbered(cv, places)
    from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

    labels = np.zeros(len(chosen), dtype=int) if data.labels is None else data.labels[chosen]
    if groups is not None:
        return StratifiedGroupKFold(cv, shuffle=True, random_state=seed).split(labels, labels, groups)
    largest = int(np.bincount(labels).max())
    if largest < 2:
        return KFold(min(cv, len(labels)), shuffle=True, random_state=seed).split(labels)
    return StratifiedKFold(min(cv, largest), shuffle=True, random_state=seed).split(labels, labels)


def _read(cv: Any, given: GivenRows, data: TrainingData) -> Iterable[Any]:
    is_text = isinstance(cv, str | bytes | bytearray)  # text also has a method `split`
    if hasattr(cv, "split") and not is_text:
        if isinstance(given.X, Iterator):
            raise ValueError("A splitter as `cv` needs `X`, but `X` is an exhausted iterator. Pass a list.")
        y = given.y if data.row_labels is None or _is_understood(given.y) else data.row_labels
        X, y, groups = indexable(given.X, y, given.groups)
        return cv.split(X, y, groups=groups)
    if is_text or not isinstance(cv, Iterable):
        raise ValueError(
            f"`cv` must be a number of folds, a splitter or pairs of arrays of row numbers, but is {cv!r}."
        )
    return cv


def _is_understood(y: Any) -> bool:
    """Whether splitters of scikit-learn accept these labels: not distributions over classes, and not paths."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about many classes
        try:
            return type_of_target(y) in ("binary", "multiclass")
        except (TypeError, ValueError):
            return False


def _rows(number: int, pair: Any, n_rows: int) -> tuple[Indices, Indices]:
    """The row numbers of both sides of a split, which may be masks or negative numbers."""
    everything = np.arange(n_rows)
    try:
        kept, held_out = (everything[side] if len(side) else everything[:0] for side in map(np.asarray, pair))
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(
            f"Split {number} of `cv` must be a pair of index arrays or masks, one for the rows to keep and one for "
            f"the rows to hold out, but is invalid: {error}. Pass splits of the {n_rows} rows of `X`."
        ) from error
    return kept, held_out


def _renumbered(pairs: Iterable[tuple[Indices, Indices]], places: Indices) -> Splits:
    """Pairs with new numbers of their rows; rows without one (-1) and pairs with an empty side are left out."""
    numbered = (tuple(places[side] for side in pair) for pair in pairs)
    restricted = ((kept[kept >= 0], held_out[held_out >= 0]) for kept, held_out in numbered)
    return [(kept, held_out) for kept, held_out in restricted if len(kept) and len(held_out)]
