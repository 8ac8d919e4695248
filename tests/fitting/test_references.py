"""The optimum as others find it: quasi-Newton in whitened coordinates, and scikit-learn's models."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logit, softmax
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from sklearn.linear_model import LogisticRegression

from logikern.kernels import Gaussian, Linear, Matern32
from tests.fitting import catalogue

SMALL = (
    "shared",
    "scaled",
    "separate",
    "groups",
    "weighted distributions",
    "two classes",
    "linear",
    "balanced tree, level",
    "weighted distributions of a tree",
)
SMALL_FITS = [(case.name, solver) for case, solver in catalogue.FITS if case.name in SMALL]

every_solver = pytest.mark.parametrize("solver", catalogue.SOLVERS)


def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def minimise_primal(problem, member):
    """Latents (C, n) that minimise the loss, by BFGS on z where u = L z and K~ = L L'."""
    values, vectors = np.linalg.eigh(catalogue.dense_covariance(problem))
    root = vectors * np.sqrt(np.maximum(values, 0.0))

    def objective(z):
        latent = root @ z
        per_class = latent.reshape(problem.targets.shape)
        highest = per_class.max(axis=0)
        log_total = highest + np.log(np.exp(per_class - highest).sum(axis=0))
        weights = problem.weights[member]
        loss = weights @ (log_total - (problem.targets * per_class).sum(axis=0))
        gradient = weights * (softmax(per_class, axis=0) - problem.targets)
        return loss + 0.5 * z @ z, root.T @ gradient.ravel() + z

    found = minimize(objective, np.zeros(len(root)), jac=True, method="BFGS", options={"gtol": 1e-8})
    return (root @ found.x).reshape(problem.targets.shape)


@pytest.mark.parametrize("name, solver", SMALL_FITS)
def test_latents_are_those_of_a_general_optimiser(name, solver):
    problem = catalogue.BY_NAME[name].build()
    result = catalogue.SOLVERS[solver].fit(problem)
    for member, latent in enumerate(result.latent):
        # Strong convexity: a gradient of 1e-8 in z is an error of 1e-8 in z, times the root of K~.
        np.testing.assert_allclose(latent, minimise_primal(problem, member), atol=2e-6)


@pytest.mark.parametrize("weighted", [False, True])
@every_solver
def test_linear_kernel_gives_scikit_learns_logistic_regression(solver, weighted):
    X, y = iris()
    variance, bias_variance = 3.0, 5.0
    weights = np.random.default_rng(0).uniform(0.0, 3.0, len(y)) if weighted else np.ones(len(y))
    problem = catalogue.make_problem(
        Linear(), X, np.eye(3)[y].T, weights[None], variances=variance, bias_variance=bias_variance
    )
    latent = catalogue.SOLVERS[solver].fit(problem).latent[0]
    # The bias is a weight of its own variance on a constant input: C = variance for all of them.
    inputs = np.column_stack([X, np.full(len(y), np.sqrt(bias_variance / variance))])
    peer = LogisticRegression(C=variance, fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(inputs, y, sample_weight=weights)
    np.testing.assert_allclose(softmax(latent, axis=0).T, peer.predict_proba(inputs), atol=1e-4)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (Gaussian(0.5), RBF(np.sqrt(2.0), "fixed")),
        (Matern32(0.5), Matern(np.sqrt(2.0), "fixed", nu=1.5)),
    ],
    ids=["gaussian", "matern32"],
)
@every_solver
def test_two_classes_give_scikit_learns_laplace_mode(solver, ours, theirs):
    X, y = iris()
    X, y = X[50:], y[50:] - 1
    variance = 4.0
    problem = catalogue.make_problem(ours, X, np.eye(2)[y].T, variances=variance, bias_variance=0.0)
    latent = catalogue.SOLVERS[solver].fit(problem).latent[0]
    # A two-class softmax sees the difference of two functions, hence twice the kernel.
    peer = GaussianProcessClassifier(ConstantKernel(2 * variance, "fixed") * theirs, optimizer=None).fit(X, y)
    np.testing.assert_allclose(latent[1] - latent[0], logit(peer.base_estimator_.pi_), atol=1e-4)
