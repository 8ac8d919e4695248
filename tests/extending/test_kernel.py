"""A kernel of one's own, passed to the estimators."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from logikern import Gaussian, Kernel, KernelLogisticClassifier, KernelRegressor
from logikern.kernels import positive


@dataclass(frozen=True)
class Laplacian(Kernel):
    """k(x, z) = exp(-rate |x - z|_1)."""

    rate: float = positive(1.0)

    def __call__(self, X, Z):
        return np.exp(-self.rate * cdist(X, Z, "cityblock"))

    def diagonal(self, X):
        return np.ones(len(X))

    def weigh_gradient(self, X, Z, weights):
        distance = self.rate * cdist(X, Z, "cityblock")
        return np.array([-np.sum(weights * distance * np.exp(-distance))])


def table(n: int = 60):
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 2))
    return X, (X.sum(axis=1) > 0).astype(int) + (X[:, 0] > 0.5)


@pytest.mark.parametrize("kernel", [Laplacian(), Gaussian() + 0.5 * Laplacian(2.0)], ids=["alone", "in a sum"])
def test_classifier_learns_the_parameters_of_a_new_kernel(kernel):
    X, y = table()
    model = KernelLogisticClassifier(kernel=kernel, tying="shared", random_state=0).fit(X, y)
    assert model.outcome_.converged and model.score(X, y) > 0.9
    assert model.kernels_[0] != kernel and model.hyperparameters_["name"].str.endswith("rate").any()


def test_regressor_takes_a_new_kernel():
    X, _ = table()
    model = KernelRegressor(kernel=Laplacian(), random_state=0).fit(X, np.sin(X[:, 0]))
    assert model.score(X, np.sin(X[:, 0])) > 0.95


def test_gradient_of_the_new_kernel_matches_differences():
    X, _ = table(10)
    left, right = np.random.default_rng(1).standard_normal((2, 3, 10))
    values = [np.sum((left @ Laplacian(np.exp(move))(X, X)) * right) for move in (1e-5, -1e-5)]
    gradient = Laplacian().contract_gradient(X, X, left, right)
    np.testing.assert_allclose(gradient, [(values[0] - values[1]) / 2e-5], rtol=1e-7)
