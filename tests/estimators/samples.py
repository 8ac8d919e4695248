"""Small tables that several test files share."""

from collections import Counter

import numpy as np
from sklearn.datasets import load_iris

from logikern import KernelLogisticClassifier

_INPUTS, _SPECIES = load_iris(return_X_y=True)
# An even part, small enough for the exact solver, whose answers do not depend on random pivots.
X, SPECIES = _INPUTS[::2], _SPECIES[::2]
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
DISTRIBUTIONS = np.eye(3)[SPECIES]
COLUMNS = ["sepal length", "sepal width", "petal length", "petal width"]


def fixed(kernel="gaussian", **settings) -> KernelLogisticClassifier:
    """An estimator that keeps its hyperparameters as given or as read off the data."""
    return KernelLogisticClassifier(kernel, **{"criterion": None, **settings})


WORDS = ["banana", "bandana", "ananas", "nirvana", "cabana", "kiwi", "wiki", "kiki", "wikiki", "tiki"]
KINDS = ["a", "a", "a", "a", "a", "i", "i", "i", "i", "i"]


def shared_pairs(left: str, right: str) -> float:
    """Cosine of the counts of pairs of letters: positive semidefinite on strings."""
    counts = [Counter(word[place : place + 2] for place in range(len(word) - 1)) for word in (left, right)]
    lengths = [sum(count * count for count in found.values()) ** 0.5 for found in counts]
    return sum(counts[0][pair] * counts[1][pair] for pair in counts[0]) / max(lengths[0] * lengths[1], 1e-12)
