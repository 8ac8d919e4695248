"""Trees of classes, drawn and by hand, and slow references that know them only as sets of ancestors."""

from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from logikern.structure.tree import Tree

# The same examples in every run.
steady = settings(derandomize=True, deadline=None, max_examples=80)

ANIMALS = Tree(
    ("bird", "fish", "fox", "duck", "robin", "trout", "trout, brown", "salmon"), (-1, -1, -1, 0, 0, 1, 5, 1)
)
"""bird: duck, robin; fish: salmon, trout: brown trout (an only child); fox at the top."""


def flat(n_classes):
    return Tree(tuple(range(n_classes)), (-1,) * n_classes)


@st.composite
def trees(draw, most_nodes=14):
    """Ragged trees with chains, of two leaves or more, whose classes come in another order than their nodes."""
    n_nodes = draw(st.integers(2, most_nodes))
    parents = [-1] + [draw(st.integers(-1, node - 1)) for node in range(1, n_nodes)]
    if len(set(range(n_nodes)) - set(parents)) < 2:
        parents[-1] = -1
    if len(set(range(n_nodes)) - set(parents)) < 2:
        parents[1] = -1
    names = draw(st.permutations(range(n_nodes)))
    return Tree(tuple(f"n{name:02d}" for name in names), tuple(parents))


@dataclass(frozen=True, eq=False)
class Drawn:
    tree: Tree
    probabilities: np.ndarray  # (n, C)
    true: np.ndarray  # (n,), nodes
    decided: np.ndarray  # (n,), nodes
    weights: np.ndarray  # (n,), some of them 0

    @property
    def y(self):
        return [self.tree.labels[node] for node in self.true]

    @property
    def decisions(self):
        return [self.tree.labels[node] for node in self.decided]


@st.composite
def problems(draw, n_cases=9, leaves_only=False):
    tree = draw(trees())
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    probabilities = generator.dirichlet(np.full(tree.n_classes, 0.5), n_cases)
    nodes = tree.leaves if leaves_only else np.arange(len(tree.labels))
    true, decided = generator.choice(nodes, (2, n_cases))
    weights = generator.integers(0, 4, n_cases)
    weights[0] = 1
    return Drawn(tree, probabilities, true, decided, weights)


def lineage(tree, node):
    """The node and all above it."""
    above = set()
    while node != -1:
        above.add(int(node))
        node = tree.parents[node]
    return above


def all_distances(tree):
    """(N, N): half the number of nodes that lie on one path but not on the other."""
    lines = [lineage(tree, node) for node in range(len(tree.labels))]
    return np.array([[len(first ^ second) / 2 for second in lines] for first in lines])


def membership(tree):
    """(N, C): whether the leaf of a class lies below, or is, the node."""
    lines = [lineage(tree, leaf) for leaf in tree.leaves]
    return np.array([[node in line for line in lines] for node in range(len(tree.labels))], dtype=float)
