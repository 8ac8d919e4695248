"""Classes as the leaves of a tree: each class function is the sum of the latent functions along its path."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array, Indices, Mask
from logikern.numerics.parallel import for_each
from logikern.structure.forest import ROOT, ClassForest, Forest
from logikern.structure.mixing import Mixing, tiles


@dataclass(frozen=True, eq=False)
class Tree(Mixing):
    """A rooted tree whose nodes, except the root, have labels; it defines the ANOVA prior of Seeger (2008), sec. 3.

    Every node with siblings has a latent function. The function of a class is the sum of the latent functions on the
    path from the root to its leaf, so classes that share more of their paths are more alike. A node without siblings
    shares the function of its parent; if it is a child of the root, it has no function.

    Build a tree with `read_tree`. Most methods are used by the solvers: B is the matrix, of shape (C, P), that maps
    the P latent functions to the functions of the C classes; N is the number of nodes, and n the number of points.

    Parameters
    ----------
    labels : tuple
        Distinct labels of all nodes except the root, with parents before their children.
    parents : tuple of int
        Position of each node's parent in `labels`; -1 for children of the root.
    """

    labels: tuple[Any, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        # Lists and arrays are accepted as well.
        object.__setattr__(self, "labels", tuple(self.labels))
        parents = getattr(self.parents, "tolist", lambda: self.parents)()
        object.__setattr__(self, "parents", tuple(parents))
        if len(self.labels) != len(self.parents):
            raise ValueError(
                f"A `Tree` needs one parent for each label, but {len(self.labels)} labels and {len(self.parents)} "
                "parents were given. Build it with `read_tree`."
            )
        for node, parent in enumerate(self.parents):
            if not (isinstance(parent, int) and ROOT <= parent < node):
                raise ValueError(
                    f"`parents` of a `Tree` must be positions of earlier labels, or -1 at the top, but the parent of "
                    f"{self.labels[node]!r} at {node} is {parent!r}. Build it with `read_tree`, which sorts them."
                )
        if len(self.place) < len(self.labels):
            twice = next(label for node, label in enumerate(self.labels) if self.place[label] != node)
            raise ValueError(
                f"`labels` of a `Tree` must be distinct, but {twice!r} occurs twice. Use paths such as "
                "'physics/optics' as labels."
            )
        if len(self.leaves) < 2:
            raise ValueError(
                f"A `Tree` needs at least two leaves, but this one has {len(self.leaves)}. "
                "Add leaves, or fit without a tree."
            )

    def __getstate__(self) -> dict[str, Any]:
        """The state for a file, without anything that can be computed again."""
        return {"labels": self.labels, "parents": self.parents}

    @cached_property
    def place(self) -> dict[Any, int]:
        """The position of each label in `labels`."""
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def nodes(self) -> Forest:
        """The nodes as a forest: the trees below the root."""
        return Forest(self.parents)

    @cached_property
    def n_children(self) -> Indices:
        """Number of children of each node, (N,)."""
        return np.bincount([parent for parent in self.parents if parent != ROOT], minlength=len(self.labels))

    @property
    def depths(self) -> Indices:
        """Number of steps from the root to each node, (N,)."""
        return self.nodes.depths

    @cached_property
    def leaves(self) -> Indices:
        """Nodes without children, (C,), sorted by label if labels can be compared."""
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
        """The nodes on the path from the top to a node, which is the last one."""
        return self.nodes.path(node)

    # --- latent functions: one per node that has siblings ---

    @cached_property
    def latent_of(self) -> Indices:
        """The latent function that each node has or shares, (N,); -1 for nodes without a function."""
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
        """The nodes that have their own latent function, (P,)."""
        _, first = np.unique(self.latent_of, return_index=True)
        return first[1:] if (self.latent_of == ROOT).any() else first

    @property
    def n_latent(self) -> int:  # type: ignore[override]
        return len(self.branches)

    @cached_property
    def forest(self) -> ClassForest:
        parents = [self.parents[node] for node in self.branches]
        found = [ROOT if parent == ROOT else int(self.latent_of[parent]) for parent in parents]
        return ClassForest(found, self.latent_of[self.leaves])

    @property
    def leaf_latents(self) -> Indices:
        """The last latent function on the path to each class, (C,)."""
        return self.forest.leaf_latents

    @property
    def latent_depths(self) -> Indices:
        """Number of latent functions on the path to each latent function, including itself, (P,)."""
        return self.forest.latents.depths

    def forward(self, latent: Array) -> Array:
        total = latent.copy()
        self.forest.latents.fall(total)
        return total[..., self.leaf_latents, :]

    def adjoint(self, per_class: Array) -> Array:
        total = np.zeros((*per_class.shape[:-2], self.n_latent, per_class.shape[-1]), dtype=per_class.dtype)
        total[..., self.leaf_latents, :] = per_class
        self.forest.latents.rise(total)
        return total

    def forward_diagonal(self, latent_diagonal: Array) -> Array:
        return self.forward(latent_diagonal)

    def couple(self, per_class: Array, variances: Array, out: Array | None = None) -> Array:
        result = np.empty_like(per_class) if out is None else out
        scale, inner = variances.astype(per_class.dtype)[:, None], self.forest.inner

        def couple_some(points: slice) -> None:
            sums = inner.collect(per_class[..., points])
            np.multiply(per_class[..., points], scale[self.leaf_latents], out=result[..., points])
            inner.rise(sums)
            sums *= scale[inner.numbers]
            inner.fall(sums)
            inner.hand_down(sums, result[..., points])

        for_each(couple_some, tiles(per_class.shape[-1]))
        return result

    # --- tying ---

    @property
    def unit(self) -> str:
        return "node that has siblings"

    @property
    def groupings(self) -> dict[str, Indices]:
        """The groups of latent functions for `tying` "level", "subtree" and "leaf"."""
        return {"level": self.levels, "subtree": self.subtrees, "leaf": self.single_leaves}

    @property
    def levels(self) -> Indices:
        """The depth of each latent function, (P,); all functions that end in a leaf form one separate level.

        Otherwise, if leaves have different depths, functions of leaves and of inner nodes would share a variance.
        """
        return np.where(self._ends, self.latent_depths.max() + 1, self.latent_depths)

    @property
    def subtrees(self) -> Indices:
        """The subtree below the root to which each latent function belongs, (P,).

        The functions of a subtree that end in a leaf form a separate group. If they shared a variance with the
        others, leaves that differ a lot would force the nodes above them to differ equally.
        """
        tops = [self.forest.latents.path(number)[0] for number in range(self.n_latent)]
        return 2 * np.array(tops) + self._ends

    @property
    def single_leaves(self) -> Indices:
        """The depth of each latent function, (P,); each function that ends in a leaf is a group of its own."""
        return np.where(self._ends, self.latent_depths.max() + 1 + np.arange(self.n_latent), self.latent_depths)

    @property
    def _ends(self) -> Mask:
        """Which latent functions end in a leaf, (P,)."""
        return np.isin(np.arange(self.n_latent), self.leaf_latents)

    def inherit_groups(self, groups: Mapping[Any, Any]) -> list[Any]:
        """The group of each latent function; a node that is not named belongs to the group of its parent."""
        unknown = [node for node in groups if node not in self.place]
        if unknown:
            raise ValueError(f"`tying` names {unknown[0]!r}, which is not a node of the hierarchy.")
        found: list[Any] = []
        for label, parent in zip(self.labels, self.parents, strict=True):
            found.append(groups.get(label, None if parent == ROOT else found[parent]))
        missing = [self.labels[node] for node in self.branches if found[node] is None]
        if missing:
            raise ValueError(f"`tying` has no group for the node {missing[0]!r} or for a node above it. Add one.")
        return [found[node] for node in self.branches]

    # --- sums over subtrees ---

    def node_sums(self, per_class: Array) -> Array:
        """The sum over the leaves below each node, (..., C, n) -> (..., N, n)."""
        total = np.zeros((*per_class.shape[:-2], len(self.labels), per_class.shape[-1]), dtype=per_class.dtype)
        total[..., self.leaves, :] = per_class
        self.nodes.rise(total)
        return total

    def leaf_sums(self, per_node: Array) -> Array:
        """The sum over the path to each leaf, (..., N, n) -> (..., C, n): the transpose of `node_sums`."""
        total = per_node.copy()
        self.nodes.fall(total)
        return total[..., self.leaves, :]


def as_labels(labels: Sequence[Any] | Iterable[Any]) -> Array:
    """One-dimensional array of labels; a tuple is a label, not a row."""
    found = [tuple(label) if isinstance(label, list) else label for label in labels]
    if not any(isinstance(label, tuple) for label in found):
        result = np.asarray(found)
        # For mixed labels numpy picks one type, such as text for numbers among names.
        if result.tolist() == found:
            return result
    result = np.empty(len(found), dtype=object)
    for number, label in enumerate(found):
        result[number] = label
    return result
