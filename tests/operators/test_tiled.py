import tracemalloc

import numpy as np
import pytest

from logikern.kernels import Gaussian
from logikern.operators.tiled import Tiled, tiled


def points(n=500, dtype=float):
    return np.random.default_rng(0).standard_normal((n, 3)).astype(dtype)


@pytest.mark.parametrize("tile", [1, 16, 33, 250, 499, 500])
def test_every_tile_size_gives_the_same_product(tile):
    functions = np.random.default_rng(1).standard_normal((4, 500))
    X = points()
    np.testing.assert_allclose(
        Tiled(Gaussian(0.5), X, tile, np.dtype(float)).matmul(functions), functions @ Gaussian(0.5)(X, X), atol=1e-11
    )


def test_tiles_of_more_memory_are_larger():
    sizes = [tiled(Gaussian(), points(), np.dtype(float), memory).tile for memory in (1e6, 4e6)]
    assert sizes[0] < sizes[1]


def test_a_tile_and_its_temporaries_fit_in_memory():
    memory = 1e6
    operator = tiled(Gaussian(), points(), np.dtype(float), memory)
    assert operator.tile * 500 * 8 * 3 <= memory


def test_a_product_never_holds_the_matrix():
    n = 2000
    operator = tiled(Gaussian(0.5), points(n), np.dtype(float), 2e6)
    functions = np.ones((2, n))
    tracemalloc.start()
    operator.matmul(functions)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.2 * n * n * 8


def test_single_points_are_multiplied_in_single_precision():
    assert tiled(Gaussian(), points(), np.dtype(np.float32), 1e6).dtype == np.float32
