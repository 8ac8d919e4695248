"""A class structure of one's own: classes on a circle, each shares a function with its neighbours."""

from dataclasses import dataclass

import numpy as np
import pytest

from logikern import KernelLogisticClassifier, Tree
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.structure.mixing import Mixing
from tests.extending.problems import points, problem


@dataclass(frozen=True)
class Circle(Mixing):
    """u_c = v_c + v_(c + 1)."""

    n_classes: int

    @property
    def n_latent(self):
        return self.n_classes

    def forward(self, latent):
        return latent + np.roll(latent, -1, axis=-2)

    def adjoint(self, per_class):
        return per_class + np.roll(per_class, 1, axis=-2)


def test_covariance_of_the_new_structure_is_that_of_its_matrix():
    covariance = problem(n_classes=4, mixing=Circle(4), bias_variance=0.0).covariance
    matrix = np.eye(4) + np.roll(np.eye(4), 1, axis=1)
    functions = np.random.default_rng(1).standard_normal((1, 4, len(points())))
    kernel = covariance.operators[0].rows(np.arange(len(points())))
    expected = np.einsum("cp,dp,bdn,nm->bcm", matrix, matrix, 2.0 * functions, kernel)
    np.testing.assert_allclose(covariance.matmul(functions), expected, rtol=1e-10)


def test_solvers_agree_on_the_new_structure():
    own = problem(n_classes=4, mixing=Circle(4))
    found, expected = Newton(tolerance=1e-9).fit(own), Exact(tolerance=1e-9).fit(own)
    assert found.outcome.converged and expected.outcome.converged
    np.testing.assert_allclose(found.latent, expected.latent, atol=1e-6)


@pytest.mark.parametrize("hierarchy", [Tree(("low", 0, 1, 2), (-1, 0, 0, -1)), {0: "low", 1: "low", 2: None}])
def test_estimator_takes_any_tree(hierarchy):
    labels = np.argmax(problem().targets, axis=0)
    model = KernelLogisticClassifier(hierarchy=hierarchy, criterion=None).fit(points(), labels)
    assert model.predict_node_proba(points()).shape == (len(points()), 4)
