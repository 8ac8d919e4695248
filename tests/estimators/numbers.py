"""Small tables of numbers that several test files share."""

import numpy as np
from sklearn.datasets import load_diabetes

from logikern import KernelRegressor

_INPUTS, _PROGRESSION = load_diabetes(return_X_y=True)
X, Y = 20.0 * _INPUTS[:120], _PROGRESSION[:120]
X_NEW, Y_NEW = 20.0 * _INPUTS[120:], _PROGRESSION[120:]
# Outputs of very different size and place.
TABLE = np.stack([Y, 1e-3 * X[:, 0] + 5.0, 1e4 * np.sin(X[:, 1]) - 3e5], axis=1)
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)


def fixed(kernel="gaussian", **settings) -> KernelRegressor:
    """A regressor that keeps its hyperparameters as given or as read off the data."""
    return KernelRegressor(kernel, **{"criterion": None, **settings})
