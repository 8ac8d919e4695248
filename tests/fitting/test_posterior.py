"""Blocks of the posterior against dense algebra, at latents far from any optimum."""

import numpy as np
import pytest

from logikern.criteria.leave_one_out.groups import gather, partition, scatter
from logikern.criteria.leave_one_out.posterior import ExactPosterior
from logikern.fitting.newton.contrasts import contrast_of
from logikern.fitting.newton.dense import dense_blocks
from logikern.likelihoods.curvature import PointwiseCurvature
from tests.fitting import catalogue

NAMES = (
    "shared",
    "separate",
    "groups",
    "distributions",
    "large variance",
    "many classes",
    "1 points of 3 classes",
    "balanced tree, separate",
    "without siblings tree, level",
    "large variance of a tree",
    "combinations",
)
every_problem = pytest.mark.parametrize("name", NAMES)
# Latents of 30 make probabilities of 1e-13 or less: nothing may be divided by them.
scales = pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])


def build(name, scale, labels=None):
    problem = catalogue.BY_NAME[name].build()
    latent = scale * np.random.default_rng(1).standard_normal((1, *problem.shape[1:]))
    curvature = problem.likelihood.expand(latent, problem.targets, problem.weights[:1]).curvature
    groups = partition(labels, problem.shape[2])
    return problem, curvature, ExactPosterior(dense_blocks(problem.covariance), curvature, groups)


def dense_posterior(problem, curvature):
    """P and Q, (C n, C n)."""
    dense, root = catalogue.dense_covariance(problem), catalogue.dense_root(curvature, 0)
    identity = np.eye(len(dense))
    shrinkage = np.linalg.inv(identity + root.T @ dense @ root)
    return shrinkage, dense - dense @ root @ shrinkage @ root.T @ dense


def cut(dense, members, n):
    """The block of one group."""
    places = (np.arange(len(dense) // n)[:, None] * n + members).ravel()
    return dense[np.ix_(places, places)]


@scales
@every_problem
@pytest.mark.parametrize("grouped", [False, True])
def test_blocks_are_those_of_dense_algebra(name, scale, grouped):
    n = catalogue.BY_NAME[name].build().shape[2]
    problem, curvature, posterior = build(name, scale, np.arange(n) % 5 if grouped else None)
    shrinkage, covariance = dense_posterior(problem, curvature)
    size = np.abs(catalogue.dense_covariance(problem)).max()
    projector = np.eye(len(shrinkage)) - _null(curvature)
    for batch in posterior.batches:
        for members, own_shrinkage, own_covariance in zip(*batch, strict=True):
            np.testing.assert_allclose(own_shrinkage, cut(projector @ shrinkage, members, n), atol=1e-9)
            np.testing.assert_allclose(own_covariance, cut(covariance, members, n), atol=1e-11 * size)


def _null(curvature):
    null = curvature.null[0]
    n_classes, n = null.shape
    return np.einsum("cn,em,nm->cnem", null, null, np.eye(n)).reshape(n_classes * n, -1)


@scales
@every_problem
def test_response_is_the_root_of_the_posterior(name, scale):
    problem, curvature, posterior = build(name, scale)
    functions = np.random.default_rng(2).standard_normal(problem.shape[1:])
    _, covariance = dense_posterior(problem, curvature)
    expected = catalogue.dense_root(curvature, 0).T @ covariance @ functions.ravel()
    size = np.abs(catalogue.dense_covariance(problem)).max()
    np.testing.assert_allclose(posterior.respond(functions).ravel(), expected, atol=1e-11 * size)


@pytest.mark.parametrize("name", ["two classes", "of two tree, scaled", "two coupled classes"])
def test_difference_of_two_classes_has_the_same_posterior(name):
    problem = catalogue.BY_NAME[name].build()
    latent = np.random.default_rng(1).standard_normal(problem.shape)
    curvature = problem.likelihood.expand(latent, problem.targets, problem.weights).curvature
    contrast = contrast_of(curvature)
    blocks = contrast.covariances(dense_blocks(problem.covariance))
    posterior = ExactPosterior(blocks, contrast.curvature(curvature), partition(None, problem.shape[2]))
    _, covariance = dense_posterior(problem, curvature)
    n = problem.shape[2]
    seen = covariance[:n] - covariance[n:]
    seen = seen[:, :n] - seen[:, n:]
    np.testing.assert_allclose(posterior.batches[0].covariance.ravel(), seen.diagonal(), rtol=1e-10)


def test_constants_of_infinite_variance_are_a_limit():
    problem = catalogue.BY_NAME["separate"].build()
    latent = np.random.default_rng(1).standard_normal(problem.shape)
    curvature = problem.likelihood.expand(latent, problem.targets, problem.weights).curvature
    groups = partition(None, problem.shape[2])
    blocks = dense_blocks(problem.covariance) - problem.covariance.bias_variance
    free = ExactPosterior(blocks, curvature, groups, free_bias=True)
    wide = ExactPosterior(blocks + 1e7, curvature, groups)
    np.testing.assert_allclose(free.batches[0].shrinkage, wide.batches[0].shrinkage, atol=1e-6)
    functions = np.random.default_rng(2).standard_normal(problem.shape[1:])
    functions -= functions.mean(axis=0)
    np.testing.assert_allclose(free.respond(functions), wide.respond(functions), atol=1e-5)


def test_diagonal_curvature_with_a_free_constant_is_a_limit():
    generator = np.random.default_rng(0)
    root = generator.standard_normal((2, 9, 9))
    blocks = root @ root.swapaxes(1, 2)
    curvature = PointwiseCurvature(generator.uniform(0.1, 1.0, (1, 2, 9)), None)
    groups = partition(np.arange(9) // 2, 9)
    free = ExactPosterior(blocks, curvature, groups, free_bias=True)
    wide = ExactPosterior(blocks + 1e8, curvature, groups)
    functions = generator.standard_normal((2, 9))
    np.testing.assert_allclose(free.respond(functions), wide.respond(functions), atol=1e-5)
    for own, other in zip(free.batches, wide.batches, strict=True):
        np.testing.assert_allclose(own.covariance, other.covariance, atol=1e-5)


def test_scatter_reverses_gather():
    functions = np.random.default_rng(0).standard_normal((3, 7))
    groups, found = partition(np.array([0, 1, 0, 2, 1, 0, 3]), 7), np.zeros((3, 7))
    for members in groups.batches:
        scatter(gather(functions, members), members, found)
    np.testing.assert_array_equal(found, functions)


def test_rows_of_a_group_are_added_up():
    rows = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(partition(np.array([1, 0, 1, 1]), 4).add_up(rows), [[2, 3], [10, 13]])
