import numpy as np
import pytest

from logikern.kernels import Gaussian, GaussianLaplacian, Laplacian, Linear, Matern12, Matern32, RationalQuadratic
from logikern.operators.choose import Choice
from logikern.operators.dense import Dense
from logikern.operators.isotropic import Isotropic, accurate_products, is_isotropic

X = np.random.default_rng(0).standard_normal((60, 3))
CHOICE = Choice("dense", np.dtype(float), "", 1e9)


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.5), Matern12(2.0), RationalQuadratic(0.3, 2.0), Laplacian(0.5)], ids=repr
)
def test_one_rate_is_isotropic(kernel):
    assert is_isotropic(kernel)


@pytest.mark.parametrize(
    "kernel", [Gaussian((0.5, 1.0, 2.0)), Linear(), Gaussian() + Gaussian(), 2.0 * Gaussian()], ids=repr
)
def test_other_kernels_are_not_isotropic(kernel):
    assert not is_isotropic(kernel)


def test_kernels_share_their_distances():
    points = CHOICE.points(X, keep_distances=True)
    assert points.bind(Gaussian(0.5)).distances[0] is points.bind(Matern32(2.0)).distances[0]


def test_binding_a_second_kernel_leaves_the_first_alone():
    points = CHOICE.points(X, keep_distances=True)
    first = points.bind(Gaussian(0.5))
    points.bind(Matern32(2.0))
    np.testing.assert_allclose(first.matrix, Gaussian(0.5)(X, X), rtol=1e-12)


@pytest.mark.parametrize("kernels", [(Gaussian(0.5), Laplacian(2.0)), (Laplacian(2.0), Gaussian(0.5))], ids=repr)
def test_kernels_of_different_metrics_have_distances_of_their_own(kernels):
    points = CHOICE.points(X, keep_distances=True)
    bound = [points.bind(kernel) for kernel in (*kernels, kernels[0])]
    for operator in bound:
        np.testing.assert_allclose(operator.matrix, operator.kernel(X, X), rtol=1e-12)
        assert tuple(own.metric for own in operator.distances) == operator.kernel.metrics


def test_only_the_distances_of_the_latest_kernel_are_kept():
    points = CHOICE.points(X, keep_distances=True)
    for kernel in (Gaussian(0.5), Laplacian(0.5), GaussianLaplacian(0.5), Gaussian(0.5)):
        distances = points.bind(kernel).distances
        assert tuple(points._distances.values()) == distances
        assert tuple(points._distances) == kernel.metrics


def test_a_mean_of_kernels_takes_over_the_distances_of_its_parts():
    points = CHOICE.points(X, keep_distances=True)
    squared = points.bind(Gaussian(0.5)).distances[0]
    assert any(own is squared for own in points.bind(GaussianLaplacian(0.5)).distances)


@pytest.mark.parametrize("rate", [1e-3, 1.0, 300.0, 1e5])
def test_kept_city_block_distances_serve_any_rate(rate):
    choice = Choice("dense", np.dtype(np.float32), "", 1e9)
    points = choice.points(X, keep_distances=True)
    points.bind(Laplacian(1.0))
    np.testing.assert_allclose(points.bind(Laplacian(rate)).matrix, Laplacian(rate)(X, X), rtol=3e-5, atol=1e-7)


@pytest.mark.parametrize("keep, kind", [(True, Isotropic), (False, Dense)])
def test_distances_are_kept_on_request(keep, kind):
    assert isinstance(CHOICE.points(X, keep_distances=keep).bind(Gaussian()), kind)


def test_kernels_of_other_kinds_are_bound_without_distances():
    assert isinstance(CHOICE.points(X, keep_distances=True).bind(Linear()), Dense)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_diagonal_of_the_matrix_is_one(dtype):
    choice = Choice("dense", np.dtype(dtype), "", 1e9)
    matrix = choice.points(100.0 * X, keep_distances=True).bind(Matern12(5.0)).matrix
    np.testing.assert_array_equal(matrix.diagonal(), 1.0)


@pytest.mark.parametrize(
    "kernels",
    [
        (GaussianLaplacian(0.5), GaussianLaplacian(90.0)),
        (Gaussian(0.5), Gaussian(2.0), Gaussian(0.01)),
        (Gaussian(0.5), Laplacian(2.0)),
    ],
    ids=repr,
)
def test_products_of_several_kernels_have_values_in_double_precision(kernels):
    points = Choice("dense", np.dtype(np.float32), "", 1e9).points(X, keep_distances=True)
    random = np.random.default_rng(1)
    functions = [random.standard_normal((number + 1, len(X))) for number in range(len(kernels))]
    found = accurate_products([points.bind(kernel) for kernel in kernels], functions)
    for kernel, own, product in zip(kernels, functions, found, strict=True):
        np.testing.assert_allclose(product, own @ kernel(X, X), rtol=1e-11, atol=1e-11)
