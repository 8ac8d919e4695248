"""Coupled classes against dense algebra written here: a kernel between pairs of class and point."""

import numpy as np
import pytest

from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.free_bias import FreeBias
from logikern.fitting.newton.joint import joint_covariance, weigh_joint
from logikern.kernels import Gaussian
from logikern.structure.mixing import Flat
from tests.fitting import catalogue
from tests.kernels.catalogue import table
from tests.structure.trees import TREES

every_problem = pytest.mark.parametrize("case", catalogue.COUPLED, ids=str)
every_tree = pytest.mark.parametrize("shape", TREES)


def newton(dense, targets, weights):
    """Dual and latents (C, n) at the optimum: u = K (I + W K)^-1 (W u - g), halved while the loss rises."""
    n_classes, n = targets.shape
    dual, latent = np.zeros(n_classes * n), np.zeros(n_classes * n)
    value = objective(dual, latent, targets, weights)
    for _ in range(100):
        probabilities = np.exp(latent.reshape(targets.shape) - latent.reshape(targets.shape).max(axis=0))
        probabilities /= probabilities.sum(axis=0)
        gradient = (weights * (probabilities - targets)).ravel()
        curvature = np.diag((weights * probabilities).ravel())
        for point in range(n):
            places = np.arange(n_classes) * n + point
            own = probabilities[:, point]
            curvature[np.ix_(places, places)] -= weights[point] * np.outer(own, own)
        goal = np.linalg.solve(np.eye(len(dense)) + curvature @ dense, curvature @ latent - gradient)
        step, image, length = goal - dual, dense @ goal - latent, 1.0
        while length > 1e-9 and objective(dual + length * step, latent + length * image, targets, weights) > value:
            length /= 2
        dual, latent = dual + length * step, dense @ (dual + length * step)
        value = objective(dual, latent, targets, weights)
        if np.abs(step).max() < 1e-13:
            break
    return dual.reshape(targets.shape), latent.reshape(targets.shape)


def objective(dual, latent, targets, weights):
    per_class = latent.reshape(targets.shape)
    losses = np.logaddexp.reduce(per_class, axis=0) - (targets * per_class).sum(axis=0)
    return weights @ losses + 0.5 * dual @ latent


@every_problem
def test_exact_fit_is_that_of_the_dense_coupled_kernel(case):
    problem = case.build()
    result = Exact(1e-11).fit(problem)
    for member, weights in enumerate(problem.weights):
        dual, latent = newton(catalogue.dense_covariance(problem), problem.targets, weights)
        np.testing.assert_allclose(result.dual[member], dual, rtol=0, atol=1e-8)
        np.testing.assert_allclose(result.latent[member], latent, rtol=1e-8, atol=1e-8)


@every_tree
def test_classes_vary_together_as_far_as_their_paths_agree(shape):
    tree = TREES[shape]
    variances = np.arange(1.0, tree.n_latent + 1)
    problem = catalogue.make_problem(
        Gaussian(0.7), table(), catalogue.labels(n_classes=tree.n_classes), variances=variances, mixing=tree
    )
    paths = [{tree.latent_of[node] for node in tree.path(leaf)} - {-1} for leaf in tree.leaves]
    shared = [[sum(variances[list(one & other)]) for other in paths] for one in paths]
    matrix = Gaussian(0.7)(table(), table())
    expected = np.kron(shared, matrix) + np.kron(np.eye(len(paths)), np.ones_like(matrix))
    np.testing.assert_allclose(joint_covariance(problem.covariance), expected, rtol=1e-12)


@every_tree
def test_inner_nodes_without_variance_leave_flat_classes(shape):
    tree = TREES[shape]
    targets = catalogue.labels(n_classes=tree.n_classes)
    variances = np.zeros(tree.n_latent)
    variances[tree.leaf_latents] = own = np.arange(1.0, tree.n_classes + 1)
    coupled = catalogue.make_problem(Gaussian(0.7), table(), targets, variances=variances, mixing=tree)
    flat = catalogue.make_problem(Gaussian(0.7), table(), targets, variances=own, mixing=Flat(tree.n_classes))
    np.testing.assert_allclose(Exact(1e-10).fit(coupled).dual, Exact(1e-10).fit(flat).dual, atol=1e-9)


@every_problem
def test_weighing_sums_to_the_contraction_of_products(case):
    covariance = case.build().covariance
    shape = (2, 3, covariance.n_classes, covariance.n_points)
    left, right = np.random.default_rng(0).standard_normal(shape)
    weights = left.reshape(3, -1).T @ right.reshape(3, -1)
    own = weigh_joint(covariance, weights, np.eye(covariance.n_classes))
    expected = covariance.contract_gradient(left, right)
    for one, other in zip(own.kernels, expected.kernels, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(own.variances, expected.variances, rtol=1e-9, atol=1e-9)
    assert own.bias_variance == pytest.approx(expected.bias_variance, rel=1e-9)


@pytest.mark.parametrize("solver", [Exact(), FreeBias()], ids=["exact", "free bias"])
def test_infinite_bias_variance_of_coupled_classes_is_refused(solver):
    problem = catalogue.Case("free", **catalogue.of_tree("ragged", "shared", bias_variance=np.inf)).build()
    with pytest.raises(ValueError, match="`bias_variance` must be finite"):
        solver.fit(problem)
