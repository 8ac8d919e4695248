"""What `cv` holds out of the points of a search."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from logikern.estimators._validation import TrainingData
from logikern.numerics.outcome import Array, Indices


def split_points(
    cv: Any, data: TrainingData, chosen: Indices, labels: Indices, groups: Array | None, seed: int
) -> Iterable[tuple[Indices, Indices]]:
    """Pairs (kept, held out) of places among the chosen points, stratified and shuffled where `cv` is a number."""
    if not isinstance(cv, int | np.integer):
        if not is_splitter(cv):
            return _restricted(cv, data, chosen)
        return check_cv(cv, labels, classifier=True).split(np.zeros((len(labels), 1)), labels, groups)
    if groups is not None:
        return StratifiedGroupKFold(cv, shuffle=True, random_state=seed).split(labels, labels, groups)
    largest = int(np.bincount(labels).max())
    if largest < 2:
        return KFold(min(cv, len(labels)), shuffle=True, random_state=seed).split(labels)
    return StratifiedKFold(min(cv, largest), shuffle=True, random_state=seed).split(labels, labels)


def is_splitter(cv: Any) -> bool:
    """Whether `cv` makes splits, rather than being splits."""
    return not isinstance(cv, Iterable) or hasattr(cv, "split")


def _restricted(splits: Iterable, data: TrainingData, chosen: Indices) -> list[tuple[Indices, Indices]]:
    """Splits of the rows given, as splits of the chosen ones among those that carry weight."""
    place = np.full(data.n_rows, -1)
    place[data.kept[chosen]] = np.arange(len(chosen))
    pairs = []
    for number, (inside, outside) in enumerate(splits):
        _check_places(number, inside, outside, data.n_rows)
        sides = [place[np.arange(data.n_rows)[side]] for side in (inside, outside)]
        kept, held_out = (side[side >= 0] for side in sides)
        if len(kept) and len(held_out):
            pairs.append((kept, held_out))
    return pairs


def _check_places(number: int, inside: Any, outside: Any, n_rows: int) -> None:
    for side in (np.asarray(inside), np.asarray(outside)):
        if side.dtype.kind in "iu" and side.size and (side.max() >= n_rows or side.min() < -n_rows):
            raise ValueError(
                f"Split {number} of `cv` names row {side[np.argmax(np.abs(side))]}, but there are {n_rows} rows. "
                "Pass splits of the rows that are fitted."
            )
