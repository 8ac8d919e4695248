"""A class structure of one's own: classes on a circle, each shares a function with its neighbours."""

from dataclasses import dataclass

import numpy as np
import pytest

from logikern import KernelLogisticClassifier, Tree
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.structure.mixing import Mixing
from tests.extending.problems import labels, points, problem


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


def test_estimator_takes_the_new_structure():
    settings = {"criterion": None, "rate": 0.5, "variance": 2.0, "bias_variance": 0.0, "tol": 1e-8}
    model = KernelLogisticClassifier(hierarchy=Circle(4), solver="newton", **settings).fit(points(), labels(4))
    own = problem(n_classes=4, mixing=Circle(4), bias_variance=0.0)
    expected = Exact(tolerance=1e-10).fit(own)
    np.testing.assert_allclose(model.decision_function(points()).T, expected.latent[0], atol=1e-6)


@pytest.mark.filterwarnings("ignore:Closed-form leave-one-out")
@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_estimator_learns_under_the_new_structure(criterion):
    model = KernelLogisticClassifier(hierarchy=Circle(4), criterion=criterion, tying="scaled", random_state=0)
    model.fit(points(), labels(4))
    assert model.outcome_.converged and len(set(model.variances_)) == 4 and "tree_" not in vars(model)
    assert model.hyperparameters_["classes"].str.startswith("functions").sum() == 4


def test_stream_takes_the_new_structure():
    settings = {"hierarchy": Circle(3), "rate": 0.5, "variance": 2.0}
    model = KernelLogisticClassifier(**settings)
    for part in (slice(0, 15), slice(15, None)):
        model.partial_fit(points()[part], labels()[part], classes=[0, 1, 2])
    whole = KernelLogisticClassifier(criterion=None, **settings).fit(points(), labels())
    np.testing.assert_allclose(model.predict_proba(points()), whole.predict_proba(points()), atol=1e-3)


def test_structure_of_other_classes_is_refused():
    with pytest.raises(ValueError, match="a Circle of 5 classes, but `y` has 3"):
        KernelLogisticClassifier(hierarchy=Circle(5)).fit(points(), labels())
