"""Levels of a category: one input for each frequent level."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.encoding.cells import spell_all
from logikern.encoding.policy import EncodingPolicy
from logikern.numerics.outcome import Indices

UNSEEN = -1


@dataclass(frozen=True)
class Levels:
    """The levels of a column that have an input."""

    place: int  # the column
    names: tuple[str, ...]  # spellings of the levels, sorted
    has_missing: bool  # whether a missing value is a level
    has_rest: bool  # whether all other values share a level

    @property
    def n_inputs(self) -> int:
        """Number of inputs: named levels, the missing value, the rest."""
        return len(self.names) + self.has_missing + self.has_rest

    def input_names(self, column: str) -> list[str]:
        """Names of the inputs: `colour=red`, `colour is missing`, `colour=(other levels)`."""
        missing = [f"{column} is missing"] if self.has_missing else []
        rest = [f"{column}=(other levels)"] if self.has_rest else []
        return [f"{column}={name}" for name in self.names] + missing + rest

    def number(self, values: Sequence[Any]) -> Indices:
        """The number of the level of each value, (n,); `UNSEEN` if the level has no input."""
        rest = self.n_inputs - 1 if self.has_rest else UNSEEN
        numbers: dict[str | None, int] = {name: number for number, name in enumerate(self.names)}
        if self.has_missing:
            numbers[None] = len(self.names)
        return np.array([numbers.get(name, rest) for name in spell_all(values)], dtype=np.int64)


def learn_levels(place: int, counts: Counter[str], n_missing: int, policy: EncodingPolicy) -> Levels:
    """The most frequent levels, by the counts of their spellings."""
    n_rows = counts.total() + n_missing
    fewest = 2 if n_rows >= policy.many_rows else 1
    frequent = [name for name, count in counts.items() if count >= fewest]
    # Levels of equal frequency are sorted by name, so the order of the rows does not matter.
    ranked = sorted(frequent, key=lambda name: (-counts[name], name))
    kept = ranked[: policy.most_levels]
    if len(kept) < len(ranked):
        # Equally frequent levels are kept or pooled together, so names do not matter either, unless all are equal.
        cut = counts[ranked[len(kept)]]
        kept = [name for name in kept if counts[name] > cut] or kept
    return Levels(place, tuple(sorted(kept)), n_missing > 0, len(kept) < len(counts))


def count_levels(values: Sequence[Any]) -> tuple[Counter[str], int]:
    """How often each spelling occurs, and the number of missing values."""
    counts = Counter(spell_all(values))
    n_missing = counts.pop(None, 0)
    return Counter({name: count for name, count in counts.items() if name is not None}), n_missing
