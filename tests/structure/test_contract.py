"""What every mixing and every tying owes: the algebra of the matrix that is never formed."""

import numpy as np
import pytest

from tests.structure import catalogue

every_mixing = pytest.mark.parametrize("mixing", catalogue.MIXINGS.values(), ids=catalogue.MIXINGS)
every_tying = pytest.mark.parametrize("case", catalogue.ALL, ids=str)

SHAPE = (3, catalogue.N_CLASSES, catalogue.N_POINTS)


def state(seed=0, shape=SHAPE):
    return np.random.default_rng(seed).standard_normal(shape)


def contraction(case, left, right):
    """sum_b left[b] . (K~ right[b]) from the matrix written out."""
    flat = right.reshape(len(right), -1) @ case.dense()
    return np.sum(left.reshape(len(left), -1) * flat)


def central_differences(function, at, step=1e-5):
    at = np.atleast_1d(at)
    return [(function(at + move) - function(at - move)) / (2 * step) for move in step * np.eye(at.size)]


@every_mixing
def test_adjoint_is_the_transposed_map(mixing):
    latent, per_class = state(0, (3, mixing.n_latent, 5)), state(1, (3, mixing.n_classes, 5))
    np.testing.assert_allclose(
        np.sum(mixing.forward(latent) * per_class), np.sum(latent * mixing.adjoint(per_class)), rtol=1e-12
    )


@every_mixing
def test_diagonal_after_mixing_is_that_of_the_mixed_covariance(mixing):
    own = np.random.default_rng(2).random((mixing.n_latent, 5))
    matrix = mixing.forward(np.eye(mixing.n_latent))  # (C, P)
    expected = np.stack([np.diagonal(matrix @ np.diag(column) @ matrix.T) for column in own.T], axis=1)
    np.testing.assert_allclose(mixing.forward_diagonal(own), expected, rtol=1e-12)


@every_mixing
def test_usage_is_the_sum_of_squared_loadings(mixing):
    matrix = mixing.forward(np.eye(mixing.n_latent))
    np.testing.assert_allclose(mixing.usage, (matrix**2).sum(axis=0), rtol=1e-12)


@every_mixing
def test_mixing_leaves_its_argument_alone(mixing):
    latent, per_class = state(0, (3, mixing.n_latent, 5)), state(1, (3, mixing.n_classes, 5))
    mixing.forward(latent)
    mixing.adjoint(per_class)
    np.testing.assert_array_equal(latent, state(0, latent.shape))
    np.testing.assert_array_equal(per_class, state(1, per_class.shape))


@every_tying
def test_product_is_that_of_the_dense_matrix(case):
    expected = (state().reshape(3, -1) @ case.dense()).reshape(SHAPE)
    np.testing.assert_allclose(case.covariance().matmul(state()), expected, rtol=1e-12, atol=1e-12)


@every_tying
def test_accurate_product_is_that_of_the_dense_matrix(case):
    expected = (state().reshape(3, -1) @ case.dense()).reshape(SHAPE)
    np.testing.assert_allclose(case.covariance().accurate_matmul(state()), expected, rtol=1e-12, atol=1e-12)


@every_tying
def test_single_product_is_close_to_the_dense_matrix(case):
    expected = (state().reshape(3, -1) @ case.dense()).reshape(SHAPE)
    # Nine terms of size up to 8, rounded at 6e-8 each, and the points rounded before.
    np.testing.assert_allclose(case.covariance(np.float32).matmul(state()), expected, rtol=1e-4, atol=1e-4)


@every_tying
def test_product_is_self_adjoint(case):
    covariance = case.covariance()
    np.testing.assert_allclose(
        np.sum(state(1) * covariance.matmul(state())), np.sum(state() * covariance.matmul(state(1))), rtol=1e-11
    )


@every_tying
def test_members_of_a_batch_are_independent(case):
    covariance = case.covariance()
    together = covariance.matmul(state())
    for member in range(3):
        own = slice(member, member + 1)
        np.testing.assert_allclose(covariance.matmul(state()[own]), together[own], rtol=1e-12, atol=1e-13)


@every_tying
def test_product_leaves_its_argument_alone(case):
    given = state()
    case.covariance().matmul(given)
    np.testing.assert_array_equal(given, state())


@every_tying
def test_diagonal_is_that_of_the_dense_matrix(case):
    expected = case.dense().diagonal().reshape(SHAPE[1:])
    np.testing.assert_allclose(case.covariance().diagonal(), expected, rtol=1e-12)


@every_tying
def test_a_scaled_covariance_has_products_scaled(case):
    covariance = case.covariance()
    np.testing.assert_allclose(
        covariance.scaled(0.25).matmul(state()), 0.25 * covariance.matmul(state()), rtol=1e-12, atol=1e-12
    )


@every_tying
def test_mean_variance_is_that_of_the_dense_matrix(case):
    assert case.covariance().mean_variance() == pytest.approx(case.dense().diagonal().mean(), rel=1e-12)


@every_tying
def test_gradient_by_kernel_parameters_matches_differences(case):
    left, right = state(), state(1)
    gradient = case.covariance().contract_gradient(left, right)
    for index, kernel in enumerate(case.kernels):
        expected = central_differences(
            lambda logs, index=index: contraction(case.with_kernel(index, logs), left, right),
            kernel.log_parameters,
        )
        # Differences of step 1e-5 are right to 1e-10 of a sum of about 1000 terms of size 10.
        np.testing.assert_allclose(gradient.kernels[index], expected, rtol=1e-6, atol=1e-6)


@every_tying
def test_gradient_by_variances_matches_differences(case):
    left, right = state(), state(1)
    expected = central_differences(
        lambda logs: contraction(case.with_variances(logs), left, right), np.log(case.variances)
    )
    gradient = case.covariance().contract_gradient(left, right)
    np.testing.assert_allclose(gradient.variances, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", [case for case in catalogue.ALL if case.bias_variance], ids=str)
def test_gradient_by_bias_variance_matches_differences(case):
    left, right = state(), state(1)
    expected = central_differences(
        lambda log: contraction(case.with_bias_variance(log.item()), left, right), np.log(case.bias_variance)
    )
    gradient = case.covariance().contract_gradient(left, right)
    np.testing.assert_allclose(gradient.bias_variance, expected[0], rtol=1e-6)


@every_tying
def test_gradient_leaves_its_arguments_alone(case):
    left, right = state(), state(1)
    case.covariance().contract_gradient(left, right)
    np.testing.assert_array_equal(left, state())
    np.testing.assert_array_equal(right, state(1))
