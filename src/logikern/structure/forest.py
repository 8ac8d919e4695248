"""Forests: order, depth, and passes up and down a tree."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from logikern.numerics.outcome import Array, Indices

ROOT = -1
# Above this number of nodes, passes over short rows go level by level: a step per node would cost more than the
# arithmetic. For 2000 nodes levels are 10 times faster at 16 points, and 2 times slower at 1024.
MOST_ONE_BY_ONE, LONG_ROW = 60, 512


class Level(NamedTuple):
    """Nodes of one depth, sorted by parent."""

    nodes: Indices  # (k,)
    parents: Indices  # (k,)
    heads: Indices  # the distinct parents
    starts: Indices  # where the children of each head begin in `nodes`


class Forest:
    """Nodes 0, 1, ..., each with at most one parent, which comes before it.

    Parameters
    ----------
    parents : sequence of int
        Parent of each node, `ROOT` for nodes without one.
    """

    def __init__(self, parents: Sequence[int] | Indices):
        self.parents: Indices = np.asarray(parents, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def links(self) -> list[tuple[int, int]]:
        """(node, parent) for each node with a parent, from the top down."""
        return [(node, parent) for node, parent in enumerate(self.parents.tolist()) if parent != ROOT]

    @cached_property
    def depths(self) -> Indices:
        """Length of the path to each node, 1 for nodes without a parent, (N,)."""
        depths = np.ones(len(self), dtype=np.intp)
        for node, parent in self.links:
            depths[node] = depths[parent] + 1
        return depths

    def path(self, node: int) -> list[int]:
        """Nodes from the top down to this one."""
        path = []
        while node != ROOT:
            path.append(int(node))
            node = self.parents[node]
        return path[::-1]

    def rise(self, values: Array, gains: Array | None = None) -> None:
        """Bottom up, add to each node its children's values times their gains, in place, (..., N, n)."""
        if len(self) <= MOST_ONE_BY_ONE or values.shape[-1] >= LONG_ROW:
            for node, parent in reversed(self.links):
                own = values[..., node, :]
                values[..., parent, :] += own if gains is None else gains[..., node, :] * own
            return
        for level in reversed(self._levels):
            own = values[..., level.nodes, :]
            if gains is not None:
                own *= gains[..., level.nodes, :]
            values[..., level.heads, :] += np.add.reduceat(own, level.starts, axis=-2)

    def fall(self, values: Array, gains: Array | None = None) -> None:
        """Top down, add to each node its parent's value times its own gain, in place, (..., N, n)."""
        if len(self) <= MOST_ONE_BY_ONE or values.shape[-1] >= LONG_ROW:
            for node, parent in self.links:
                own = values[..., parent, :]
                values[..., node, :] += own if gains is None else gains[..., node, :] * own
            return
        for level in self._levels:
            own = values[..., level.parents, :]
            if gains is not None:
                own *= gains[..., level.nodes, :]
            values[..., level.nodes, :] += own

    @cached_property
    def _levels(self) -> list[Level]:
        """All levels but the first, from the top down."""
        depths = range(2, int(self.depths.max(initial=1)) + 1)
        return [self._level(np.flatnonzero(self.depths == depth)) for depth in depths]

    def _level(self, nodes: Indices) -> Level:
        nodes = nodes[np.argsort(self.parents[nodes], kind="stable")]
        heads, starts = np.unique(self.parents[nodes], return_index=True)
        return Level(nodes, self.parents[nodes], heads, starts)


class ClassOrder(NamedTuple):
    """Classes sorted by path, so that the classes below any latent function are contiguous."""

    classes: Indices  # (C,)
    paths: list[list[int]]  # latent functions from the top down to each class, in this order
    below: dict[int, slice]  # from an inner latent function to the positions of the classes below it
    inner: list[list[int]]  # inner latent functions from the bottom up, one list per tree


class ClassForest:
    """A forest of latent functions in which each class function is the sum along a path.

    Parameters
    ----------
    parents : sequence of int
        Parent of each latent function, `ROOT` for functions without one.
    leaf_latents : integer array of shape (C,)
        The last latent function of each class.
    """

    def __init__(self, parents: Sequence[int] | Indices, leaf_latents: Indices):
        self.latents = Forest(parents)
        self.leaf_latents = leaf_latents

    @cached_property
    def inner(self) -> "InnerNodes":
        return InnerNodes(self.latents, self.leaf_latents)

    @cached_property
    def order(self) -> ClassOrder:
        paths = [self.latents.path(int(leaf)) for leaf in self.leaf_latents]
        classes = sorted(range(len(paths)), key=lambda index: paths[index])
        paths = [paths[index] for index in classes]
        below: dict[int, slice] = {}
        inner: dict[int, set[int]] = {}
        for place, path in enumerate(paths):
            inner.setdefault(path[0], set()).update(path[:-1])
            for number in path[:-1]:
                below[number] = slice(below[number].start if number in below else place, place + 1)
        trees = [sorted(own, reverse=True) for own in inner.values() if own]
        return ClassOrder(np.array(classes), paths, below, trees)


class InnerNodes(Forest):
    """The latent functions that have children: far fewer than the classes, which are the leaves.

    Attributes
    ----------
    numbers : list of int
        The latent function of each inner node.
    class_parents : integer array of shape (C,)
        The inner node that is the parent of each class, `len(self)` for classes without one.
    """

    def __init__(self, latents: Forest, leaf_latents: Indices):
        self.numbers: list[int] = sorted({parent for _, parent in latents.links})
        self._place = {number: place for place, number in enumerate(self.numbers)}
        super().__init__([self._place.get(int(latents.parents[number]), ROOT) for number in self.numbers])
        parents = latents.parents[leaf_latents].tolist()
        self.class_parents: Indices = np.array([self._place.get(parent, len(self)) for parent in parents], np.intp)

    def place(self, number: int) -> int:
        """The position of a latent function among the inner nodes."""
        return self._place[number]

    @cached_property
    def _classes(self) -> list[tuple[int, Indices | slice]]:
        """Each parent of classes with these classes, as a slice if they are contiguous."""
        found = ((node, np.flatnonzero(self.class_parents == node)) for node in range(len(self)))
        return [(node, _as_slice(classes)) for node, classes in found if classes.size]

    @cached_property
    def _sums(self) -> sparse.csr_array:
        """Children among the classes of each node, with a last row for classes without a parent."""
        n_classes = len(self.class_parents)
        ones = np.ones(n_classes, dtype=np.float32)
        return sparse.csr_array((ones, (self.class_parents, np.arange(n_classes))), shape=(len(self) + 1, n_classes))

    def collect(self, per_class: Array, weights: Array | None = None) -> Array:
        """Sum, or weighted sum, over the classes that are children of each node, (..., C, n) -> (..., nodes, n)."""
        shape = (*per_class.shape[:-2], len(self), per_class.shape[-1])
        if len(self) > MOST_ONE_BY_ONE:
            own = per_class if weights is None else per_class * weights
            parts = [(self._sums @ part)[:-1] for part in own.reshape(-1, *own.shape[-2:])]
            return np.stack(parts).reshape(shape)
        total = np.zeros(shape, dtype=per_class.dtype)
        for node, classes in self._classes:
            own, out = per_class[..., classes, :], total[..., node, :]
            if weights is None:
                np.add.reduce(own, axis=-2, out=out)
            else:
                np.einsum("...cn,...cn->...n", own, weights[..., classes, :], out=out)
        return total

    def hand_down(self, values: Array, per_class: Array, weights: Array | None = None) -> None:
        """Add to each class the value of its parent times its weight, in place."""
        if len(self) > MOST_ONE_BY_ONE:
            zeros = np.zeros((*values.shape[:-2], 1, values.shape[-1]), dtype=values.dtype)
            own = np.concatenate([values, zeros], axis=-2).take(self.class_parents, axis=-2)
            if weights is not None:
                own *= weights
            per_class += own
            return
        for node, classes in self._classes:
            own = values[..., node, None, :]
            per_class[..., classes, :] += own if weights is None else weights[..., classes, :] * own


def _as_slice(indices: Indices) -> Indices | slice:
    first, last = int(indices[0]), int(indices[-1])
    return slice(first, last + 1) if last - first == len(indices) - 1 else indices
