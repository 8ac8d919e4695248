"""Small tables on which learning takes a moment."""

from functools import cache

import numpy as np
from sklearn.datasets import load_iris, make_moons

from logikern import KernelLogisticClassifier

_INPUTS, _SPECIES = load_iris(return_X_y=True)
# Few enough for the exact solver.
X, SPECIES = _INPUTS[::3], _SPECIES[::3]
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
MOONS, SIDES = make_moons(80, noise=0.3, random_state=0)


def tuned(kernel="gaussian", **settings) -> KernelLogisticClassifier:
    """One first model: kernels and scales are compared in tests/estimators/test_alternatives.py."""
    return KernelLogisticClassifier(kernel, **{"inputs": "raw", "random_state": 0, **settings})


@cache
def default_fit() -> KernelLogisticClassifier:
    """Default settings on three species, whose search is looked at by many tests."""
    return tuned().fit(X, NAMES)


def same(left, right) -> bool:
    """Whether two models were found the same, to the last bit."""
    return left.model_.specification == right.model_.specification and np.array_equal(
        left.dual_coef_, right.dual_coef_
    )
