"""Folds as weightings: a held-out point has weight zero."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Indices


class Folds(NamedTuple):
    """Weights of the likelihood in each fold, and of the held-out losses."""

    kept: Array  # (F, n)
    held_out: Array  # (F, n)

    def at(self, points: slice) -> "Folds":
        """The folds of some points."""
        return Folds(self.kept[:, points], self.held_out[:, points])


def folds_from_splits(splits: Iterable[tuple[Indices, Indices]], weights: Array) -> Folds:
    """One fold per split (kept, held out) of the points; splits may repeat or leave out points."""
    pairs = list(splits)
    kept, held_out = np.zeros((len(pairs), len(weights))), np.zeros((len(pairs), len(weights)))
    for fold, (inside, outside) in enumerate(pairs):
        kept[fold, inside] = weights[inside]
        held_out[fold, outside] = weights[outside]
    return Folds(kept, held_out)
