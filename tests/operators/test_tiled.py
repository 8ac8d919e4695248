import tracemalloc

import numpy as np
import pytest

from logikern.kernels import Gaussian, Laplacian, Matern12, Matern32, Matern52, RationalQuadratic
from logikern.numerics.parallel import own_threads
from logikern.operators.tiled import POLICY, Tiled, tiled
from tests.numerics.blas_threads import three_blas_threads


def points(n=500, dtype=float):
    return np.random.default_rng(0).standard_normal((n, 3)).astype(dtype)


@pytest.mark.parametrize("tile", [1, 16, 33, 250, 499, 500])
def test_every_tile_size_gives_the_same_product(tile):
    functions = np.random.default_rng(1).standard_normal((4, 500))
    X = points()
    np.testing.assert_allclose(
        Tiled(Gaussian(0.5), X, tile, np.dtype(float)).matmul(functions), functions @ Gaussian(0.5)(X, X), atol=1e-11
    )


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-11), (np.float32, 1e-3)])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Matern12(0.5), Laplacian(0.5)], ids=str)
def test_threads_share_the_tiles(dtype, tolerance, kernel):
    functions, X = np.random.default_rng(1).standard_normal((4, 500)), points()
    with three_blas_threads(), own_threads(2):
        found = Tiled(kernel, X, 64, np.dtype(dtype)).matmul(functions)
    np.testing.assert_allclose(found, functions @ kernel(X, X), atol=tolerance)


def test_tiles_of_more_memory_are_larger():
    sizes = [tiled(Gaussian(), points(), np.dtype(float), memory).tile for memory in (1e6, 4e6)]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_tiles_of_all_threads_fit_in_memory(n_threads):
    memory = 4e6
    with three_blas_threads(), own_threads(n_threads):
        operator = tiled(Gaussian(), points(), np.dtype(float), memory)
    assert 0.9 * memory < n_threads * operator.tile**2 * 8 * 3 <= memory


@pytest.mark.parametrize("memory, tile", [(0.0, POLICY.fewest), (np.inf, POLICY.most)])
def test_tiles_have_a_smallest_and_a_largest_size(memory, tile):
    assert tiled(Gaussian(), points(), np.dtype(float), memory).tile == tile


@pytest.mark.parametrize("accurate", [False, True])
def test_a_product_never_holds_the_matrix(accurate):
    n = 2000
    operator = tiled(Gaussian(0.5), points(n), np.dtype(np.float32), 2e6)
    functions = np.ones((2, n))
    tracemalloc.start()
    (operator.accurate_matmul if accurate else operator.matmul)(functions)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The tiles, and copies of the points and functions.
    assert peak < 2e6 + 1e6


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Matern32(1.0), Matern52(1.0), RationalQuadratic(1.0, 1.0)], ids=str
)
def test_distances_in_single_precision_keep_the_stated_error(kernel):
    X = points()
    X *= (30.0 / (X**2).sum(axis=1).max()) ** 0.5
    X[250:] = X[:250] + 1e-3  # near points far from the centre lose most digits
    values = Tiled(kernel, X, 500, np.dtype(np.float32)).matmul(np.eye(500, dtype=np.float32))
    assert np.abs(values - kernel(X, X)).max() < 1e-4
    np.testing.assert_array_equal(values.diagonal(), 1.0)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern12(1.0)], ids=str)
def test_rough_kernels_and_far_points_have_distances_in_double_precision(kernel):
    X = points()
    X[::7] += 1e4
    X[8] = X[7] + 1e-3
    values = Tiled(kernel, X, 100, np.dtype(np.float32)).matmul(np.eye(500, dtype=np.float32))
    # Blocks without far points may have the error of single precision, but no block here is without them.
    np.testing.assert_allclose(values, kernel(X, X), atol=1e-6)


def test_single_points_are_multiplied_in_single_precision():
    assert tiled(Gaussian(), points(), np.dtype(np.float32), 1e6).dtype == np.float32
