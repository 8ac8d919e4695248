"""A way of computing kernel products of one's own."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from logikern import Gaussian, Kernel, KernelLogisticClassifier
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.operators.base import KernelOperator
from tests.extending.problems import labels, points, problem


@dataclass(eq=False)
class Recomputed(KernelOperator):
    """Computes the kernel matrix for every product, and counts the products."""

    kernel: Kernel
    X: np.ndarray
    n_matmuls: int = field(default=0)
    dtype = np.dtype(np.float64)

    @property
    def n_points(self):
        return len(self.X)

    def matmul(self, functions):
        self.n_matmuls += 1
        return functions @ self.kernel(self.X, self.X)

    def in_double(self):
        return self

    def diagonal(self):
        return self.kernel.diagonal(self.X)

    def rows(self, indices):
        return self.kernel(self.X[indices], self.X)

    def contract_gradient(self, left, right):
        return self.kernel.contract_gradient(self.X, self.X, left, right)


def test_fit_with_a_new_operator_has_the_same_optimum():
    operator, usual = Recomputed(Gaussian(0.5), points()), problem()
    own = replace(usual, covariance=replace(usual.covariance, operators=(operator,)))
    found, expected = Newton(tolerance=1e-9).fit(own), Exact(tolerance=1e-9).fit(usual)
    assert found.outcome.converged and operator.n_matmuls > 0
    np.testing.assert_allclose(found.dual, expected.dual, atol=1e-7)


def test_estimator_computes_all_products_by_the_new_operator():
    made = []

    def recomputed(kernel, X, dtype, memory):
        made.append(Recomputed(kernel, X))
        return made[-1]

    settings = {"tying": "shared", "solver": "newton", "precision": "double", "random_state": 0, "tol": 1e-6}
    own, usual = (
        KernelLogisticClassifier(operator=operator, **settings).fit(points(), labels())
        for operator in (recomputed, "dense")
    )
    assert len(made) > 2 and all(operator.n_matmuls for operator in made)
    assert own.criterion_value_ == pytest.approx(usual.criterion_value_, abs=1e-6)
    np.testing.assert_allclose(own.predict_proba(points()), usual.predict_proba(points()), atol=1e-5)
    assert own.operator_ == "Products are computed by recomputed, as requested."
