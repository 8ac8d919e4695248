"""Classes as the leaves of a tree: each class function is the sum of those along its path."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.structure.above import Above
from logikern.structure.base import Mixing
from logikern.structure.class_order import ClassOrder

ROOT = -1
# Points that are mixed at a time: the rows of all nodes for them stay in the cache.
TILE_POINTS = 1024


@dataclass(frozen=True, eq=False)
class Tree(Mixing):
    """A rooted tree over labels, its root left out; the ANOVA prior of Seeger (2008), sec. 3.

    Every node has a latent function of its own, and the function of a class is the sum over the path from
    the root to its leaf, so that classes are alike as far as their paths agree. A node without siblings
    says nothing that its parent does not say: it shares the function of its parent, or has none where that is
    the root.

    Make one with `read_tree`, from whatever describes a hierarchy; one that is made by hand is checked.

    Parameters
    ----------
    labels : tuple
        Of all nodes but the root, parents before their children, no two alike.
    parents : tuple of int
        Place of each node's parent in `labels`; -1 for children of the root.
    """

    labels: tuple[Any, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        # A list or an array will do as well.
        object.__setattr__(self, "labels", tuple(self.labels))
        parents = getattr(self.parents, "tolist", lambda: self.parents)()
        object.__setattr__(self, "parents", tuple(parents))
        if len(self.labels) != len(self.parents):
            raise ValueError(
                f"A `Tree` has one parent for each label, but {len(self.labels)} labels and {len(self.parents)} "
                "parents were given. Make it with `read_tree`."
            )
        for node, parent in enumerate(self.parents):
            if not (isinstance(parent, int) and ROOT <= parent < node):
                raise ValueError(
                    f"`parents` of a `Tree` are places of labels that come before, or -1 at the top, but that of "
                    f"{self.labels[node]!r} at {node} is {parent!r}. Make it with `read_tree`, which sorts them."
                )
        if len(self.place) < len(self.labels):
            twice = next(label for node, label in enumerate(self.labels) if self.place[label] != node)
            raise ValueError(f"`labels` of a `Tree` are all different, but {twice!r} occurs twice. Use paths.")
        if len(self.leaves) < 2:
            raise ValueError(
                f"A `Tree` has two leaves at least, or there is nothing to tell apart, but this one has "
                f"{len(self.leaves)}. Add some, or leave the tree out."
            )

    def __getstate__(self) -> dict[str, Any]:
        """What is kept in a file: not what can be computed again."""
        return {"labels": self.labels, "parents": self.parents}

    @cached_property
    def place(self) -> dict[Any, int]:
        """Where each label stands."""
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def n_children(self) -> Indices:
        """Of every node, (N,)."""
        return np.bincount([parent for parent in self.parents if parent != ROOT], minlength=len(self.labels))

    @cached_property
    def depths(self) -> Indices:
        """Steps from the root, (N,)."""
        depths = np.empty(len(self.labels), dtype=np.intp)
        for node, parent in enumerate(self.parents):
            depths[node] = 1 if parent == ROOT else depths[parent] + 1
        return depths

    @cached_property
    def leaves(self) -> Indices:
        """Nodes without children, (C,), in the order of their labels where these can be put in order."""
        found = np.flatnonzero(self.n_children == 0).tolist()
        with contextlib.suppress(TypeError):
            found = sorted(found, key=lambda node: self.labels[node])
        return np.array(found, dtype=np.intp)

    @cached_property
    def classes(self) -> Array:
        """Labels of the leaves, (C,)."""
        return as_labels([self.labels[node] for node in self.leaves])

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return len(self.leaves)

    def path(self, node: int) -> list[int]:
        """Nodes from the top down to this one."""
        path = []
        while node != ROOT:
            path.append(node)
            node = self.parents[node]
        return path[::-1]

    # --- latent functions: one per node that has siblings ---

    @cached_property
    def latent_of(self) -> Indices:
        """Number of the latent function that each node adds or shares, (N,); -1 where it is the root's."""
        n_top = self.parents.count(ROOT)
        latent_of, n_latent = np.empty(len(self.labels), dtype=np.intp), 0
        for node, parent in enumerate(self.parents):
            if (n_top if parent == ROOT else self.n_children[parent]) > 1:
                latent_of[node] = n_latent
                n_latent += 1
            else:
                latent_of[node] = ROOT if parent == ROOT else latent_of[parent]
        return latent_of

    @cached_property
    def branches(self) -> Indices:
        """The nodes that have latent functions of their own, (P,)."""
        _, first = np.unique(self.latent_of, return_index=True)
        return first[1:] if (self.latent_of == ROOT).any() else first

    @property
    def n_latent(self) -> int:  # type: ignore[override]
        return len(self.branches)

    @cached_property
    def leaf_latents(self) -> Indices:
        """The last latent function of each class, (C,)."""
        return self.latent_of[self.leaves]

    @cached_property
    def links(self) -> list[tuple[int, int]]:
        """(latent function, the one above it) wherever there is one above, from the top down."""
        above = [self.parents[node] for node in self.branches]
        pairs = ((number, self.latent_of[node]) for number, node in enumerate(above) if node != ROOT)
        return [(number, int(upper)) for number, upper in pairs if upper != ROOT]

    @cached_property
    def above(self) -> Above:
        return super().above

    @cached_property
    def order(self) -> ClassOrder:
        return super().order

    @cached_property
    def latent_depths(self) -> Indices:
        """How many latent functions lie on the way to each one, itself included, (P,)."""
        depths = np.ones(self.n_latent, dtype=np.intp)
        for number, upper in self.links:
            depths[number] = depths[upper] + 1
        return depths

    def forward(self, latent: Array) -> Array:
        total = latent.copy()
        for number, upper in self.links:
            total[..., number, :] += total[..., upper, :]
        return total[..., self.leaf_latents, :]

    def adjoint(self, per_class: Array) -> Array:
        total = np.zeros((*per_class.shape[:-2], self.n_latent, per_class.shape[-1]), dtype=per_class.dtype)
        total[..., self.leaf_latents, :] = per_class
        for number, upper in reversed(self.links):
            total[..., upper, :] += total[..., number, :]
        return total

    def forward_diagonal(self, latent_diagonal: Array) -> Array:
        return self.forward(latent_diagonal)

    def couple(self, per_class: Array, variances: Array, out: Array | None = None) -> Array:
        result = np.empty_like(per_class) if out is None else out
        scale, above = variances.astype(per_class.dtype)[:, None], self.above

        def couple_some(points: slice) -> None:
            inner = above.collect(per_class[..., points])
            np.multiply(per_class[..., points], scale[self.leaf_latents], out=result[..., points])
            above.rise(inner)
            inner *= scale[above.numbers]
            above.fall(inner)
            above.hand_down(inner, result[..., points])

        for_each(couple_some, tiles(per_class.shape[-1]))
        return result

    def couple_gradient(self, left: Array, right: Array) -> Array:
        def contract(points: slice) -> Array:
            return np.einsum("bpn,bpn->p", self.adjoint(left[..., points]), self.adjoint(right[..., points]))

        return np.sum(for_each(contract, tiles(left.shape[-1])), axis=0)

    # --- sums over subtrees ---

    def node_sums(self, per_class: Array) -> Array:
        """Of every node the sum over the leaves below it, (..., C, n) -> (..., N, n)."""
        total = np.zeros((*per_class.shape[:-2], len(self.labels), per_class.shape[-1]), dtype=per_class.dtype)
        total[..., self.leaves, :] = per_class
        for node in range(len(self.labels) - 1, -1, -1):
            if (parent := self.parents[node]) != ROOT:
                total[..., parent, :] += total[..., node, :]
        return total

    def leaf_sums(self, per_node: Array) -> Array:
        """Of every leaf the sum over its path, (..., N, n) -> (..., C, n): the transposed map."""
        total = per_node.copy()
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                total[..., node, :] += total[..., parent, :]
        return total[..., self.leaves, :]


def tiles(n_points: int) -> list[slice]:
    """The points in pieces."""
    return [slice(start, start + TILE_POINTS) for start in range(0, n_points, TILE_POINTS)]


def as_labels(labels: Sequence[Any] | Iterable[Any]) -> Array:
    """One-dimensional array of labels; a tuple is a label, not a row."""
    found = [tuple(label) if isinstance(label, list) else label for label in labels]
    if not any(isinstance(label, tuple) for label in found):
        result = np.asarray(found)
        # Of mixed labels numpy makes one type, such as text of numbers among names.
        if result.tolist() == found:
            return result
    result = np.empty(len(found), dtype=object)
    for number, label in enumerate(found):
        result[number] = label
    return result
