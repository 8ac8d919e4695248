"""Trees given by labels and places of parents (-1 for the root, which is not a node itself)."""

from typing import Any

import numpy as np

ROOT = -1


def children(parents: Any, node: int) -> list[int]:
    """Places of the nodes below this one."""
    return [place for place, parent in enumerate(parents) if parent == node]


def leaves(labels: Any, parents: Any) -> list[int]:
    """Nodes without children, in the order of their labels."""
    ends = [node for node in range(len(parents)) if not children(parents, node)]
    return sorted(ends, key=lambda node: labels[node])


def path(parents: Any, node: int) -> list[int]:
    """Nodes from this one up to the top."""
    return [] if node == ROOT else [node, *path(parents, parents[node])]


def latent_nodes(parents: Any) -> list[int]:
    """Nodes that have a latent function: those with siblings. Without any, a node says what its parent says."""
    return [node for node, parent in enumerate(parents) if len(children(parents, parent)) > 1]


def latent_paths(labels: Any, parents: Any) -> np.ndarray:
    """Which latent functions each class is the sum of, (C, P)."""
    nodes = latent_nodes(parents)
    return np.array([[float(node in path(parents, leaf)) for node in nodes] for leaf in leaves(labels, parents)])


def below(labels: Any, parents: Any) -> np.ndarray:
    """Which classes lie below each node or are the node itself, (N, C)."""
    ends = leaves(labels, parents)
    return np.array([[float(node in path(parents, leaf)) for leaf in ends] for node in range(len(parents))])
