"""Which latent functions share a kernel and a variance, from the names of tyings."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.reference.tree import children, latent_nodes, path


def numbered(labels: Sequence[Any]) -> np.ndarray:
    """Groups as numbers, in the order of their first use."""
    seen: list[Any] = []
    for label in labels:
        if label not in seen:
            seen.append(label)
    return np.array([seen.index(label) for label in labels])


def tie_classes(tying: Any, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Number of the kernel and of the variance of every class."""
    if not isinstance(tying, str):
        return numbered(list(tying)), numbered(list(tying))
    alone, together = np.arange(n_classes), np.zeros(n_classes, dtype=int)
    return {"shared": (together, together), "scaled": (together, alone), "separate": (alone, alone)}[tying]


def tie_nodes(tying: Any, labels: Sequence[Any], parents: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Number of the kernel and of the variance of every node that has a latent function."""
    nodes = latent_nodes(parents)
    alone, together = np.arange(len(nodes)), np.zeros(len(nodes), dtype=int)
    if isinstance(tying, dict):
        groups = numbered([_inherited(tying, labels, parents, node) for node in nodes])
        return groups, groups
    if not isinstance(tying, str):
        return numbered(list(tying)), numbered(list(tying))
    # A function ends in a leaf if nothing but single children lies below its node.
    ends = [_only_one_leaf_below(parents, node) for node in nodes]
    level = numbered([-1 if end else _depth(parents, node) for node, end in zip(nodes, ends, strict=True)])
    top = [[upper for upper in path(parents, node) if upper in nodes][-1] for node in nodes]
    subtree = numbered(list(zip(top, ends, strict=True)))
    return {
        "shared": (together, together),
        "scaled": (together, alone),
        "level": (together, level),
        "subtree": (together, subtree),
        "separate": (level, level),
    }[tying]


def _inherited(tying: dict, labels: Sequence[Any], parents: Sequence[int], node: int) -> Any:
    """The group of the nearest node upwards that is named."""
    return next(tying[labels[upper]] for upper in path(parents, node) if labels[upper] in tying)


def _depth(parents: Sequence[int], node: int) -> int:
    """Latent functions on the way to a node, its own included."""
    nodes = latent_nodes(parents)
    return sum(upper in nodes for upper in path(parents, node))


def _only_one_leaf_below(parents: Sequence[int], node: int) -> bool:
    below = children(parents, node)
    return not below or (len(below) == 1 and _only_one_leaf_below(parents, below[0]))
