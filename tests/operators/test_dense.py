import numpy as np
import pytest

from logikern.kernels import Gaussian
from logikern.numerics.parallel import TILES, own_threads
from logikern.operators.dense import POLICY, Dense, dense, few_products
from logikern.operators.tiled import Tiled
from tests.numerics.blas_threads import three_blas_threads

N_POINTS = 300


def points():
    return np.random.default_rng(0).standard_normal((N_POINTS, 4))


def functions():
    return np.random.default_rng(1).standard_normal((5, N_POINTS))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrix_is_stored_in_the_type_asked_for(dtype):
    assert dense(Gaussian(0.5), points(), np.dtype(dtype)).matrix.dtype == dtype


def test_single_product_is_within_its_rounding():
    operator = dense(Gaussian(0.5), points(), np.dtype(np.float32))
    exact = functions() @ operator.matrix.astype(float)
    bound = N_POINTS * np.finfo(np.float32).eps * (np.abs(functions()) @ operator.matrix)
    assert (np.abs(operator.matmul(functions()) - exact) <= bound).all()


@pytest.mark.parametrize("tile", [1, 7, 100, 256, 1000])
def test_product_summed_in_double_does_not_depend_on_tiles(tile, monkeypatch):
    operator = dense(Gaussian(0.5), points(), np.dtype(np.float32))
    expected = functions() @ operator.matrix.astype(float)
    monkeypatch.setitem(vars(TILES), "summed_rows", tile)
    np.testing.assert_allclose(operator.summed_matmul(functions()), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_points", [2, 5, 300])
@pytest.mark.parametrize("n_functions", [2, 3, 4, 6, 7, 8, 10])
def test_products_of_few_functions_are_those_of_the_matrix(dtype, n_points, n_functions):
    matrix = dense(Gaussian(0.5), points()[:n_points], np.dtype(dtype)).matrix
    own = np.random.default_rng(1).standard_normal((n_functions, n_points))
    found = few_products(own, matrix)
    bound = n_points * np.finfo(dtype).eps * (np.abs(own) @ np.abs(matrix))
    assert found.dtype == np.float64
    assert (np.abs(found - own @ matrix.astype(float)) <= bound).all()


def test_products_of_few_functions_by_threads_are_those_of_one(monkeypatch):
    matrix = dense(Gaussian(0.5), points(), np.dtype(np.float32)).matrix
    alone = few_products(functions(), matrix)
    monkeypatch.setitem(vars(TILES), "fewest_columns", 1)
    with three_blas_threads(), own_threads(3):
        np.testing.assert_array_equal(few_products(functions(), matrix), alone)


def test_products_of_few_functions_keep_values_that_are_not_finite():
    matrix, own = dense(Gaussian(0.5), points(), np.dtype(np.float32)).matrix, functions()
    own[1, 3], own[2, 3] = np.nan, np.inf
    found = few_products(own, matrix)
    assert np.isnan(found[1]).all() and np.isinf(found[2]).all() and np.isfinite(found[[0, 3, 4]]).all()


@pytest.mark.parametrize(
    "n_functions, entries, expected",
    [(1, 1e8, False), (2, 1e8, True), (24, 1e8, True), (25, 1e8, False), (8, 1e7, False)],
)
def test_loops_multiply_large_matrices_by_few_functions(n_functions, entries, expected):
    shape = (int(entries**0.5),) * 2
    matrix = np.broadcast_to(np.float32(0.0), shape)
    assert POLICY.loops_pay(np.zeros((n_functions, 1)), matrix) is expected


def test_accurate_product_has_kernel_values_in_double():
    operator = dense(Gaussian(0.5), points(), np.dtype(np.float32))
    expected = functions() @ Gaussian(0.5)(points(), points())
    np.testing.assert_allclose(operator.accurate_matmul(functions()), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("spare_memory", "kind"), [(8 * N_POINTS**2, Dense), (8 * N_POINTS**2 - 1, Tiled)])
def test_double_precision_is_stored_where_memory_allows(spare_memory, kind):
    operator = dense(Gaussian(0.5), points(), np.dtype(np.float32), spare_memory).in_double()
    assert isinstance(operator, kind)
    expected = functions() @ Gaussian(0.5)(points(), points())
    np.testing.assert_allclose(operator.matmul(functions()), expected, rtol=1e-12, atol=1e-12)
