"""Which latent functions share a kernel, and which a variance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.numerics.outcome import Indices, Mask
from logikern.structure.base import Mixing
from logikern.structure.tree import ROOT, Tree


@dataclass(frozen=True)
class Tying:
    """Which kernel and which variance each latent function uses: each class, or each node of a tree.

    Parameters
    ----------
    kernel_of : tuple of int
        Number of the kernel of each function.
    variance_of : tuple of int
        Number of the variance of each function.
    """

    kernel_of: tuple[int, ...]
    variance_of: tuple[int, ...]

    @property
    def n_kernels(self) -> int:
        return max(self.kernel_of) + 1

    @property
    def n_variances(self) -> int:
        return max(self.variance_of) + 1


def ever_finer(mixing: Mixing) -> tuple[str, ...]:
    """Names of tyings, each finer than the one before."""
    return ("shared", "level", "separate") if isinstance(mixing, Tree) else ("shared", "scaled", "separate")


def tie(tying: str | Sequence[Any] | Mapping[Any, Any], mixing: Mixing) -> Tying:
    """The tying of a name, or of a group label for each function.

    Of classes without structure, "shared": one kernel with one variance (mc-tied of Seeger 2008, sec. 6.2);
    "scaled": one kernel, a variance per class (mc-semi); "separate": a kernel and a variance per class (mc-sep).

    Of a tree, "shared" as before; "level": one kernel, a variance per level (H1 of Seeger 2008, sec. 6.1);
    "subtree": one kernel, two variances for each subtree below the root, of its inner nodes and of its leaves (H2,
    where they are one); "scaled": one kernel, a variance per node; "separate": a kernel and a variance per level.

    A list, or for a tree a dict from node to group: a kernel and a variance per group.
    """
    if isinstance(tying, str):
        named = _named(mixing)
        if tying not in named:
            raise ValueError(
                f"`tying` must be one of {sorted(named)}, or a list with a group per {_unit(mixing)}, "
                f"but is {tying!r}."
            )
        return named[tying]()
    groups = _numbered(_group_labels(tying, mixing))
    return Tying(groups, groups)


def _named(mixing: Mixing) -> dict[str, Any]:
    n = mixing.n_latent
    alone, together = tuple(range(n)), (0,) * n
    named = {
        "shared": lambda: Tying(together, together),
        "scaled": lambda: Tying(together, alone),
        "separate": lambda: Tying(alone, alone),
    }
    if isinstance(mixing, Tree):
        named["level"] = lambda: Tying(together, _numbered(levels(mixing)))
        named["subtree"] = lambda: Tying(together, _numbered(subtrees(mixing)))
        named["separate"] = lambda: Tying(_numbered(levels(mixing)), _numbered(levels(mixing)))
    return named


def levels(tree: Tree) -> Indices:
    """The level of each latent function, (P,): its depth, and one level for all that end in a leaf.

    Where leaves lie at different depths those of a depth do different things: what ends there tells siblings apart,
    what goes on does not.
    """
    return np.where(_ends(tree), tree.latent_depths.max() + 1, tree.latent_depths)


def subtrees(tree: Tree) -> Indices:
    """The subtree below the root of each latent function, (P,), those that end in a leaf apart.

    With one variance for both, leaves that differ much would make the nodes above them differ as much.
    """
    top = np.arange(tree.n_latent)
    for number, upper in tree.links:
        top[number] = top[upper]
    return 2 * top + _ends(tree)


def _ends(tree: Tree) -> Mask:
    """Which latent functions end in a leaf, (P,)."""
    ends = np.zeros(tree.n_latent, dtype=bool)
    ends[tree.leaf_latents] = True
    return ends


def _numbered(labels: Any) -> tuple[int, ...]:
    """Numbers from 0 in the order of first use."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return tuple(numbers[label] for label in labels)


def _unit(mixing: Mixing) -> str:
    return "node with siblings" if isinstance(mixing, Tree) else "class"


def _group_labels(tying: Any, mixing: Mixing) -> list[Any]:
    try:
        labels = _from_mapping(tying, mixing) if isinstance(tying, Mapping) else list(tying)
        dict.fromkeys(labels)
    except TypeError:
        raise ValueError(
            f"`tying` must be a name or a list with a plain group label per {_unit(mixing)}, but is {tying!r}."
        ) from None
    if len(labels) != mixing.n_latent:
        counted, order = ("nodes", "`tree_.branches`") if isinstance(mixing, Tree) else ("classes", "`classes_`")
        raise ValueError(
            f"`tying` as a list must have one group label per {_unit(mixing)}, but has {len(labels)} labels for "
            f"{mixing.n_latent} {counted}. They are in the order of {order}."
        )
    return labels


def _from_mapping(tying: Mapping[Any, Any], mixing: Mixing) -> list[Any]:
    """Groups of nodes, given by name; a node that is not named belongs to the group of its parent."""
    if not isinstance(mixing, Tree):
        raise ValueError("`tying` as a dict needs a hierarchy. Pass a list with a group per class.")
    unknown = [node for node in tying if node not in mixing.place]
    if unknown:
        raise ValueError(f"`tying` names {unknown[0]!r}, which is no node of the hierarchy.")
    groups: list[Any] = []
    for node, parent in enumerate(mixing.parents):
        inherited = None if parent == ROOT else groups[parent]
        groups.append(tying.get(mixing.labels[node], inherited))
    missing = [mixing.labels[node] for node in mixing.branches if groups[node] is None]
    if missing:
        raise ValueError(f"`tying` has no group for the node {missing[0]!r}, nor for one above it.")
    return [groups[node] for node in mixing.branches]
