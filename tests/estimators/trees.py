"""Points of six classes in a tree, that several test files share."""

import numpy as np

from logikern import KernelLogisticClassifier
from tests.estimators import samples


def fixed(kernel="gaussian", **settings) -> KernelLogisticClassifier:
    """Hyperparameters as given or read off the data, fitted so finely that equal models have equal digits."""
    return samples.fixed(kernel, **{"tol": 1e-8, "random_state": 0, **settings})


# Leaves at depths 2 and 3, and "work", a node with one child.
PATHS = [
    "art/film",
    "art/music",
    "science/physics/optics",
    "science/physics/nuclear",
    "science/biology",
    "work/sport",
]
PARENTS = {
    "film": "art",
    "music": "art",
    "physics": "science",
    "optics": "physics",
    "nuclear": "physics",
    "biology": "science",
    "sport": "work",
}
LEAVES = [path.rpartition("/")[2] for path in PATHS]
NESTED = {
    "art": ["film", "music"],
    "science": {"physics": {"optics", "nuclear"}, "biology": None},
    "work": ["sport"],
}
ROWS = list(PARENTS.items())

NODES = [*PARENTS, "art", "science", "work"]
STEPS = dict(zip(NODES, 2.0 * np.random.default_rng(0).normal(size=(len(NODES), 3)), strict=True))


def centre(node: str | None) -> np.ndarray:
    """The sum of the steps from the top: siblings are near each other."""
    return np.zeros(3) if node is None else STEPS[node] + centre(PARENTS.get(node))


def sample(n_points: int = 90, seed: int = 0):
    """Points around six centres, and the number of each one's class."""
    numbers = np.arange(n_points) % len(LEAVES)
    centres = np.array([centre(leaf) for leaf in LEAVES])
    return centres[numbers] + np.random.default_rng(seed).normal(size=(n_points, 3)), numbers


X, NUMBERS = sample()
Y = np.array(LEAVES)[NUMBERS]
LABELS = np.array(PATHS)[NUMBERS]
NEW = sample(40, seed=1)[0]


def coarse_labels(every: int = 5) -> np.ndarray:
    """Some rows have the parent for their label, or the parent of that."""
    labels = Y.astype("<U10")
    for place in range(0, len(labels), every):
        labels[place] = PARENTS[labels[place]]
        if place % 2 and labels[place] in PARENTS:
            labels[place] = PARENTS[labels[place]]
    return labels


def coarse(**settings) -> KernelLogisticClassifier:
    """A model whose smooth functions let labels of inner nodes settle soon."""
    return fixed(**{"hierarchy": PARENTS, "variance": 2.0, "tol": 1e-6, "random_state": 0, **settings})
