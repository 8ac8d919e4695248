"""Products over near pairs alone."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from logikern.kernels import Gaussian, Laplacian, Linear, Matern12, Matern32, RationalQuadratic
from logikern.numerics.parallel import own_threads
from logikern.operators.sparse import POLICY, PairCount, PairPolicy, has_near_pairs, reach
from tests.numerics.blas_threads import three_blas_threads

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
KERNELS = (Gaussian(300.0), Matern12(4000.0), Matern32(1500.0), Laplacian(60.0), RationalQuadratic(300.0, 9.0))


def points(n=400, d=2):
    return np.random.default_rng(0).random((n, d))


def near(kernel, policy=POLICY, dtype=DOUBLE):
    return PairCount(kernel, points(), policy).bind(dtype)


def stored(operator):
    return operator.matmul(np.eye(operator.n_points))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_exactly_the_values_above_the_bound_are_stored(kernel):
    values = kernel(points(), points())
    found = stored(near(kernel))
    np.testing.assert_array_equal(found > 0.0, values > POLICY.dropped)
    assert 0.0 < (found == 0.0).mean() < 1.0


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_stored_values_are_those_of_the_kernel(kernel):
    values, found = kernel(points(), points()), stored(near(kernel))
    np.testing.assert_allclose(found[found > 0], values[found > 0], rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_error_of_a_product_is_within_the_stated_bound(kernel):
    functions = np.random.default_rng(1).standard_normal((5, 400))
    error = np.abs(near(kernel).matmul(functions) - functions @ kernel(points(), points()))
    # Rounding of sums of 400 terms is far below the bound.
    assert (error <= POLICY.dropped * np.abs(functions).sum(axis=1, keepdims=True)).all()


@pytest.mark.parametrize("dropped", [1e-2, 1e-4])
def test_smallest_eigenvalue_is_within_the_stated_bound(dropped):
    matrix = stored(near(Gaussian(100.0), PairPolicy(dropped=dropped)))
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix)[0] >= -dropped * (len(matrix) - 1)


def test_large_bounds_make_a_matrix_indefinite():
    # Otherwise the test above could not fail.
    assert np.linalg.eigvalsh(stored(near(Gaussian(100.0), PairPolicy(dropped=1e-2))))[0] < -1e-4


@pytest.mark.parametrize("block_pairs", [1, 50, 10**6])
def test_blocks_do_not_change_the_matrix(block_pairs):
    found = stored(near(Gaussian(300.0), PairPolicy(block_pairs=block_pairs)))
    np.testing.assert_array_equal(found, stored(near(Gaussian(300.0))))


@pytest.mark.parametrize("n_functions", [1, POLICY.few_functions, POLICY.few_functions + 1])
def test_few_and_many_functions_have_the_same_product(n_functions):
    functions = np.random.default_rng(1).standard_normal((n_functions, 400))
    operator = near(Gaussian(300.0))
    np.testing.assert_allclose(operator.matmul(functions), functions @ stored(operator), atol=1e-12)


def test_threads_do_not_change_the_product():
    functions, policy = np.random.default_rng(1).standard_normal((3, 400)), PairPolicy(block_pairs=500)
    with own_threads(1):
        alone = near(Gaussian(300.0), policy).matmul(functions)
    with three_blas_threads(), own_threads(2):
        np.testing.assert_array_equal(near(Gaussian(300.0), policy).matmul(functions), alone)


def test_values_of_single_precision_are_recomputed_in_double():
    operator = near(Gaussian(300.0), dtype=SINGLE)
    assert operator.dtype == SINGLE and operator.in_double().dtype == DOUBLE
    for found in (operator.accurate_matmul(np.eye(400)), operator.in_double().matmul(np.eye(400))):
        np.testing.assert_allclose(found, stored(near(Gaussian(300.0))), atol=1e-14)


def test_pairs_are_counted_before_they_are_stored():
    count = PairCount(Gaussian(3000.0), points())
    assert count.n_pairs == np.count_nonzero(cdist(points(), points()) <= count.radius / 3000.0**0.5)
    assert count.n_pairs == count.bind(DOUBLE).n_reads


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_memory_is_that_of_the_stored_arrays_and_of_those_in_double(dtype):
    count = PairCount(Gaussian(3000.0), points(), PairPolicy(work_bytes=0))
    operator = count.bind(dtype)
    double = operator.in_double()
    arrays = {own.ctypes.data: own for each in (operator, double) for own in _arrays(each)}
    assert count.n_bytes(dtype) == sum(own.nbytes for own in arrays.values())


def _arrays(operator):
    return [own for block in operator.blocks for own in (block.data, block.indices)]


def test_pairs_of_long_length_scales_are_estimated_and_refused():
    count = PairCount(Gaussian(1.0), points())
    assert count.n_pairs == 400**2
    assert "tree" not in vars(count)
    assert count.n_values == np.inf


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("value", [1e-8, 0.3])
def test_reach_is_where_the_kernel_has_the_value(kernel, value):
    at = np.array([reach(kernel, value)])
    kernel.to_correlation(at)
    assert at[0] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    "kernel, X, expected",
    [
        (Gaussian(), points(), True),
        (Gaussian(), points().astype(int), True),
        (Linear(), points(), False),
        (2.0 * Gaussian(), points(), False),
        (Gaussian(), points().astype(object), False),
    ],
)
def test_only_kernels_of_one_distance_have_near_pairs(kernel, X, expected):
    assert has_near_pairs(kernel, X) is expected
