"""Kernels and gradients against scikit-learn's, written by others."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as peers
from sklearn.metrics import pairwise

from logikern.kernels import (
    CITY_BLOCK,
    Gaussian,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Polynomial,
    RationalQuadratic,
    squared_distances,
)
from tests.kernels.catalogue import RATES, table

SCALE = 0.7**-0.5
SCALES = np.array(RATES) ** -0.5

PAIRS = {
    "gaussian": (Gaussian(0.7), peers.RBF(SCALE)),
    "gaussian ard": (Gaussian(RATES), peers.RBF(SCALES)),
    "matern12": (Matern12(0.7), peers.Matern(SCALE, nu=0.5)),
    "matern12 ard": (Matern12(RATES), peers.Matern(SCALES, nu=0.5)),
    "matern32": (Matern32(0.7), peers.Matern(SCALE, nu=1.5)),
    "matern32 ard": (Matern32(RATES), peers.Matern(SCALES, nu=1.5)),
    "matern52": (Matern52(0.7), peers.Matern(SCALE, nu=2.5)),
    "matern52 ard": (Matern52(RATES), peers.Matern(SCALES, nu=2.5)),
    "rational quadratic": (RationalQuadratic(0.7, 1.3), peers.RationalQuadratic(SCALE, 1.3)),
    "linear": (Linear(), peers.DotProduct(sigma_0=0.0)),
    "sum": (Gaussian(0.7) + Matern32(RATES), peers.RBF(SCALE) + peers.Matern(SCALES, nu=1.5)),
    "product": (Gaussian(0.7) * Matern32(RATES), peers.RBF(SCALE) * peers.Matern(SCALES, nu=1.5)),
    "scaled": (2.5 * Gaussian(0.7), 2.5 * peers.RBF(SCALE)),
}

every_pair = pytest.mark.parametrize(("kernel", "peer"), PAIRS.values(), ids=PAIRS)


@every_pair
def test_matrix_agrees_with_scikit_learn(kernel, peer):
    points = table()
    np.testing.assert_allclose(kernel(points, points[4:9]), peer(points, points[4:9]), rtol=1e-10, atol=1e-12)


@every_pair
def test_diagonal_agrees_with_scikit_learn(kernel, peer):
    np.testing.assert_allclose(kernel.diagonal(table()), peer.diag(table()), rtol=1e-12)


# A rate is the length scale to the power -2, so derivatives by their logarithms differ by the factor -2.
@pytest.mark.parametrize("name", ["gaussian", "gaussian ard", "matern12 ard", "matern32 ard", "matern52 ard"])
def test_contraction_agrees_with_scikit_learn(name):
    kernel, peer = PAIRS[name]
    points = table()
    left, right = np.random.default_rng(0).standard_normal((2, 3, len(points)))
    gradient = peer(points, eval_gradient=True)[1]  # (n, n, parameters)
    expected = -0.5 * np.einsum("ri,ijp,rj->p", left, gradient, right)
    contraction = kernel.contract_gradient(points, points, left, right)
    np.testing.assert_allclose(contraction, expected, rtol=1e-10, atol=1e-11)


def test_gradient_by_alpha_agrees_with_scikit_learn():
    points = table()
    left, right = np.random.default_rng(0).standard_normal((2, 3, len(points)))
    peer = peers.RationalQuadratic(SCALE, 1.3)
    gradient = peer(points, eval_gradient=True)[1][..., 0]  # alpha comes before the length scale
    contraction = RationalQuadratic(0.7, 1.3).contract_gradient(points, points, left, right)
    np.testing.assert_allclose(contraction[1], np.sum((left @ gradient) * right), rtol=1e-10)


def test_polynomial_agrees_with_scikit_learn():
    points = table()
    expected = pairwise.polynomial_kernel(points, points[4:9], degree=3, gamma=0.3, coef0=0.8)
    np.testing.assert_allclose(Polynomial(0.3, 0.8, 3)(points, points[4:9]), expected, rtol=1e-12)


def test_laplacian_agrees_with_scikit_learn():
    points = table()
    expected = pairwise.laplacian_kernel(points, points[4:9], gamma=0.7)
    np.testing.assert_allclose(Laplacian(0.7)(points, points[4:9]), expected, rtol=1e-12)


def test_laplacian_is_a_product_of_matern_kernels_of_single_inputs():
    points = table()
    expected = np.prod([Matern12(rate**2)(points[:, [j]], points[:, [j]]) for j, rate in enumerate(RATES)], axis=0)
    np.testing.assert_allclose(Laplacian(RATES)(points, points), expected, rtol=1e-12)


def test_city_block_distances_agree_with_scikit_learn():
    points = table()
    expected = pairwise.manhattan_distances(points, points[4:9])
    np.testing.assert_allclose(CITY_BLOCK.distances(points, points[4:9]), expected, rtol=1e-12, atol=1e-14)


def test_squared_distances_agree_with_scikit_learn():
    points = table()
    expected = pairwise.euclidean_distances(points, points[4:9], squared=True)
    np.testing.assert_allclose(squared_distances(points, points[4:9]), expected, rtol=1e-12, atol=1e-14)
