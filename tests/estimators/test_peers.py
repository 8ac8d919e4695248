"""Other implementations of the same model agree, once penalties are matched."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as peers
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from logikern.kernels import Gaussian, Linear, Matern12, Matern32, Matern52, Polynomial
from tests.estimators.samples import fixed

WINE, CULTIVAR = load_wine(return_X_y=True)
WINE = StandardScaler().fit_transform(WINE)
CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER, BENIGN = StandardScaler().fit_transform(CANCER)[::4], BENIGN[::4]

solvers = pytest.mark.parametrize("solver", ["newton", "exact"])


def regress(X, y, variance, bias_variance, weights=None):
    """Logistic regression whose intercept has the prior variance of ours: as one more input of the right size."""
    extended = np.c_[X, np.full(len(X), (bias_variance / variance) ** 0.5)]
    # Two classes: the difference of two functions of variance v each is one function of variance 2 v.
    strength = variance if len(np.unique(y)) > 2 else 2 * variance
    model = LogisticRegression(C=strength, fit_intercept=False, tol=1e-10, max_iter=10_000)
    return model.fit(extended, y, sample_weight=weights).predict_proba(extended)


@solvers
@pytest.mark.parametrize("variance", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(("X", "y"), [(WINE, CULTIVAR), (CANCER, BENIGN)], ids=["wine", "breast cancer"])
def test_linear_kernel_agrees_with_logistic_regression(X, y, variance, solver):
    model = fixed("linear", variance=variance, bias_variance=16.0, solver=solver, tol=1e-8)
    found = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, regress(X, y, variance, 16.0), atol=1e-4)


def test_weighted_linear_kernel_agrees_with_logistic_regression():
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(WINE))
    model = fixed("linear", variance=0.1, bias_variance=1.0, tol=1e-8)
    found = model.fit(WINE, CULTIVAR, sample_weight=weights).predict_proba(WINE)
    np.testing.assert_allclose(found, regress(WINE, CULTIVAR, 0.1, 1.0, weights), atol=1e-4)


PAIRS = {
    "gaussian": (Gaussian(0.1), peers.RBF(0.1**-0.5)),
    "one rate per input": (
        Gaussian(tuple(np.linspace(0.01, 0.2, 30))),
        peers.RBF(np.linspace(0.01, 0.2, 30) ** -0.5),
    ),
    "matern12": (Matern12(0.04), peers.Matern(5.0, nu=0.5)),
    "matern32": (Matern32(0.04), peers.Matern(5.0, nu=1.5)),
    "matern52": (Matern52(0.04), peers.Matern(5.0, nu=2.5)),
    "linear": (Linear(), peers.DotProduct(0.0)),
    "sum": (Gaussian(0.1) + 0.2 * Linear(), peers.RBF(0.1**-0.5) + 0.2 * peers.DotProduct(0.0)),
    "product": (Gaussian(0.01) * Polynomial(degree=1), peers.RBF(10.0) * peers.DotProduct(1.0)),
}


@pytest.mark.filterwarnings("ignore:divide by zero encountered in log")  # theirs, of an offset of zero
@solvers
@pytest.mark.parametrize("name", PAIRS)
def test_two_classes_agree_with_the_laplace_mode(name, solver):
    ours, theirs = PAIRS[name]
    variance, bias_variance = 3.0, 2.0
    # Their one function is the difference of our two: twice the covariance.
    covariance = 2 * variance * theirs + peers.ConstantKernel(2 * bias_variance)
    peer = GaussianProcessClassifier(covariance, optimizer=None, max_iter_predict=1000).fit(CANCER, BENIGN)
    model = fixed(
        ours, variance=variance, bias_variance=bias_variance, solver=solver, precision="double", tol=1e-8
    ).fit(CANCER, BENIGN)
    np.testing.assert_allclose(model.decision_function(CANCER), peer.base_estimator_.f_cached, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(CANCER)[:, 1], peer.base_estimator_.pi_, atol=1e-5)
