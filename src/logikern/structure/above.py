"""The inner functions of a tree, apart from those of classes, of which there are many more."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from logikern.numerics.outcome import Array, Indices

NOBODY = -1
# Functions that are gone through one by one.
MOST_ONE_BY_ONE = 60


class Level(NamedTuple):
    """Functions of the same depth, in the order of those above them.

    Attributes
    ----------
    places : integer array of shape (k,)
    uppers : integer array of shape (k,)
        Places of those above them.
    heads : integer array
        The uppers, each once.
    starts : integer array
        Where the functions below each head begin.
    """

    places: Indices
    uppers: Indices
    heads: Indices
    starts: Indices


class Above:
    """The latent functions that have others below them, from the top down; what runs along a tree goes one by one.

    Parameters
    ----------
    links : list of pairs
        Of a latent function and the one above it.
    leaf_latents : integer array of shape (C,)

    Attributes
    ----------
    numbers : list of int
        Which latent functions they are; a *place* is one in this list.
    """

    def __init__(self, links: list[tuple[int, int]], leaf_latents: Indices):
        self._links = dict(links)
        self._leaf_latents = leaf_latents
        self.numbers: list[int] = sorted(set(self._links.values()))
        self._place = {number: place for place, number in enumerate(self.numbers)}

    def place(self, number: int) -> int:
        """That of a latent function."""
        return self._place[number]

    @cached_property
    def uppers(self) -> Indices:
        """Place of the function above each, (functions,); -1 where there is none."""
        found = [self._place[self._links[number]] if number in self._links else NOBODY for number in self.numbers]
        return np.array(found, dtype=np.intp)

    @cached_property
    def place_of_class(self) -> Indices:
        """Place of the function right above each class, the number of functions where there is none, (C,)."""
        uppers = [self._links.get(int(leaf), NOBODY) for leaf in self._leaf_latents]
        return np.array([self._place.get(upper, len(self.numbers)) for upper in uppers], dtype=np.intp)

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        """Places of each and of the one above it, wherever there is one above, from the top down."""
        return [(place, int(upper)) for place, upper in enumerate(self.uppers) if upper != NOBODY]

    @cached_property
    def _classes(self) -> list[tuple[int, Indices | slice]]:
        """Place of each that is right above classes, and these; a slice where they follow one another."""
        found = ((place, np.flatnonzero(self.place_of_class == place)) for place in range(len(self.numbers)))
        return [(place, _as_slice(classes)) for place, classes in found if classes.size]

    def collect(self, per_class: Array, weights: Array | None = None) -> Array:
        """Sum, or weighted sum, over the classes right below each, (..., C, n) -> (..., functions, n)."""
        shape = (*per_class.shape[:-2], len(self.numbers), per_class.shape[-1])
        total = np.zeros(shape, dtype=per_class.dtype)
        for place, classes in self._classes:
            own, out = per_class[..., classes, :], total[..., place, :]
            if weights is None:
                np.add.reduce(own, axis=-2, out=out)
            else:
                np.einsum("...cn,...cn->...n", own, weights[..., classes, :], out=out)
        return total

    def rise(self, functions: Array, gains: Array | None = None) -> None:
        """Add to each what those below it have, times their gains, from the bottom up and in place."""
        for place, upper in reversed(self._pairs):
            own = functions[..., place, :]
            functions[..., upper, :] += own if gains is None else gains[..., place, :] * own

    def fall(self, functions: Array, gains: Array | None = None) -> None:
        """Add to each what the one above it has, times its own gain, from the top down and in place."""
        for place, upper in self._pairs:
            own = functions[..., upper, :]
            functions[..., place, :] += own if gains is None else gains[..., place, :] * own

    def hand_down(self, functions: Array, per_class: Array, weights: Array | None = None) -> None:
        """Add to each class what the function right above it has, times its weight, in place."""
        for place, classes in self._classes:
            own = functions[..., place, None, :]
            per_class[..., classes, :] += own if weights is None else weights[..., classes, :] * own


class ManyAbove(Above):
    """The same for hundreds of functions, level by level: a step for each would take longer than what it does."""

    @cached_property
    def _levels(self) -> list[Level]:
        """From the top down, without the first level, which has nothing above it."""
        depths: list[int] = []
        for upper in self.uppers:
            depths.append(0 if upper == NOBODY else depths[upper] + 1)
        depth_of = np.array(depths)
        return [_level(np.flatnonzero(depth_of == depth), self.uppers) for depth in range(1, max(depths) + 1)]

    @cached_property
    def _sums(self) -> sparse.csr_array:
        """Which classes are right below each function, with a last row for those below none."""
        n_classes = len(self._leaf_latents)
        ones = np.ones(n_classes, dtype=np.float32)
        places = (self.place_of_class, np.arange(n_classes))
        return sparse.csr_array((ones, places), shape=(len(self.numbers) + 1, n_classes))

    def collect(self, per_class: Array, weights: Array | None = None) -> Array:
        own = per_class if weights is None else per_class * weights
        parts = [(self._sums @ part)[:-1] for part in own.reshape(-1, *own.shape[-2:])]
        return np.stack(parts).reshape(*own.shape[:-2], len(self.numbers), own.shape[-1])

    def rise(self, functions: Array, gains: Array | None = None) -> None:
        for level in reversed(self._levels):
            own = functions[..., level.places, :]
            if gains is not None:
                own *= gains[..., level.places, :]
            functions[..., level.heads, :] += np.add.reduceat(own, level.starts, axis=-2)

    def fall(self, functions: Array, gains: Array | None = None) -> None:
        for level in self._levels:
            own = functions[..., level.uppers, :]
            if gains is not None:
                own *= gains[..., level.places, :]
            functions[..., level.places, :] += own

    def hand_down(self, functions: Array, per_class: Array, weights: Array | None = None) -> None:
        nothing = np.zeros((*functions.shape[:-2], 1, functions.shape[-1]), dtype=functions.dtype)
        own = np.concatenate([functions, nothing], axis=-2).take(self.place_of_class, axis=-2)
        if weights is not None:
            own *= weights
        per_class += own


def above_of(links: list[tuple[int, int]], leaf_latents: Indices) -> Above:
    """One by one where there are few, level by level where there are many."""
    few = Above(links, leaf_latents)
    return few if len(few.numbers) <= MOST_ONE_BY_ONE else ManyAbove(links, leaf_latents)


def _as_slice(indices: Indices) -> Indices | slice:
    first, last = int(indices[0]), int(indices[-1])
    return slice(first, last + 1) if last - first == len(indices) - 1 else indices


def _level(places: Indices, upper_of: Indices) -> Level:
    places = places[np.argsort(upper_of[places], kind="stable")]
    heads, starts = np.unique(upper_of[places], return_index=True)
    return Level(places, upper_of[places], heads, starts)
