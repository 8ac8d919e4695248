"""The inner functions of a tree, apart from those of classes, of which there are many more."""

from functools import cached_property

import numpy as np

from logikern.numerics.outcome import Array, Indices


class Above:
    """The latent functions that have others below them, from the top down.

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

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Places of each and of the one above it, wherever there is one above, from the top down."""
        place = {number: index for index, number in enumerate(self.numbers)}
        return [(place[number], place[self._links[number]]) for number in self.numbers if number in self._links]

    @cached_property
    def leaves(self) -> list[tuple[int, Indices | slice]]:
        """Place of each that is right above classes, and these; a slice where they follow one another."""
        parents = np.array([self._links.get(int(leaf), -1) for leaf in self._leaf_latents])
        found = ((place, np.flatnonzero(parents == number)) for place, number in enumerate(self.numbers))
        return [(place, _as_slice(classes)) for place, classes in found if classes.size]

    def collect(self, per_class: Array, weights: Array | None = None) -> Array:
        """Sum, or weighted sum, over the classes right below each, (..., C, n) -> (..., functions, n)."""
        shape = (*per_class.shape[:-2], len(self.numbers), per_class.shape[-1])
        total = np.zeros(shape, dtype=per_class.dtype)
        for place, classes in self.leaves:
            own, out = per_class[..., classes, :], total[..., place, :]
            if weights is None:
                np.add.reduce(own, axis=-2, out=out)
            else:
                np.einsum("...cn,...cn->...n", own, weights[..., classes, :], out=out)
        return total


def _as_slice(indices: Indices) -> Indices | slice:
    first, last = int(indices[0]), int(indices[-1])
    return slice(first, last + 1) if last - first == len(indices) - 1 else indices
