"""Squared distances where they are hard: cancellation, equal points, memory."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from logikern.kernels import squared_distances
from logikern.kernels.metrics.squared_euclidean import compare
from logikern.numerics.parallel import TILES, row_tiles


def differences(X, Z):
    """Squared distances without expansion, in float64."""
    gaps = X.astype(np.float64)[:, np.newaxis] - Z.astype(np.float64)
    return np.sum(gaps**2, axis=2)


def cloud(n_points=200, n_inputs=36, offset=0.0, dtype=np.float32):
    return (np.random.default_rng(1).standard_normal((n_points, n_inputs)) + offset).astype(dtype)


@pytest.mark.parametrize("offset", [0.0, 10.0, 1000.0])
def test_float32_is_accurate_far_from_the_origin(offset):
    points = cloud(offset=offset)
    np.testing.assert_allclose(
        squared_distances(points, points[:50]), differences(points, points[:50]), rtol=2e-6, atol=1e-4
    )


@pytest.mark.parametrize("n_inputs", [1, 36, 784, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_point_and_its_copy_have_distance_zero(n_inputs, dtype):
    points = cloud(300, n_inputs, 5.0, dtype)
    np.testing.assert_array_equal(np.diagonal(squared_distances(points, points.copy())), 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_point_and_its_copy_have_distance_zero(dtype):
    points = sparse.random_array((300, 5000), density=0.02, rng=np.random.default_rng(2), dtype=dtype).tocsr()
    np.testing.assert_array_equal(np.diagonal(squared_distances(points, points.copy())), 0.0)


def test_point_has_distance_zero_to_itself():
    # Equal inputs: rounding errors of the sums add up instead of averaging out, beyond the usual noise.
    points = np.repeat(cloud(50, 1), 10_000, axis=1)
    np.testing.assert_array_equal(np.diagonal(squared_distances(points, points)), 0.0)


def test_close_points_are_told_apart():
    points = cloud(100)
    moved = points.copy()
    moved[:, 0] += 0.05
    np.testing.assert_allclose(np.diagonal(squared_distances(points, moved)), 0.0025, rtol=0.02)


def test_close_points_are_told_apart_in_float64():
    points = cloud(100, dtype=np.float64)
    moved = points.copy()
    moved[:, 0] += 1e-5
    np.testing.assert_allclose(np.diagonal(squared_distances(points, moved)), 1e-10, rtol=1e-3)


def test_distances_are_not_negative():
    points = np.repeat(cloud(20), 5, axis=0) * np.float32(1 + 1e-6)
    assert squared_distances(points, cloud(20)).min() >= 0.0


def two_clusters(dtype):
    points = cloud(60, 3, dtype=np.float64)
    points[30:] += 1e4
    return points.astype(dtype)


def with_outliers(dtype):
    points = cloud(60, 3, dtype=np.float64)
    points[7], points[8] = 1e8, -1e9
    return points.astype(dtype)


def far_clusters(dtype):
    points = cloud(60, 3, dtype=np.float64)
    points[30:] += 1e7
    return points.astype(dtype)


def one_far_input(dtype):
    points = cloud(60, 3, dtype=np.float64)
    points[:, 1] += 1e5
    return points.astype(dtype)


HARD = [two_clusters, with_outliers, far_clusters, one_far_input]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", HARD)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_close_points_keep_their_distance_far_from_the_others(make, kind, dtype):
    points = make(dtype)
    expected = differences(points, points[::-1])
    found = squared_distances(kind(points), kind(points[::-1].copy()))
    # In float32 results are rounded to seven digits, but they are not computed with them.
    np.testing.assert_allclose(found, expected, rtol=2e-7, atol=1e-8)


@pytest.mark.parametrize("make", HARD)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_sums_over_inputs_are_those_of_differences(make, kind):
    points, rates = make(np.float64), (0.5, 2.0, 1.0)
    weights = np.exp(-differences(points, points))
    gaps = (points[:, np.newaxis] - points) ** 2 * rates
    found = compare(kind(points), kind(points), rates).contract_inputs(weights)
    np.testing.assert_allclose(found, np.einsum("ik,ikj->j", weights, gaps), rtol=1e-6)


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e20), (np.float32, 9.97e36), (np.float64, 1e200)])
def test_a_point_beyond_all_numbers_is_far_from_the_others(dtype, size):
    points = cloud(20, 3, dtype=dtype)
    points[4] = size
    found = squared_distances(points, points.copy())
    assert found[4, 4] == 0.0
    assert (np.delete(found[4], 4) >= 1e20).all()
    np.testing.assert_allclose(found[:4, :4], differences(points[:4], points[:4]), rtol=1e-6, atol=1e-9)


def test_rates_weigh_the_inputs():
    points, rates = cloud(30, 3, dtype=np.float64), (0.1, 1.0, 10.0)
    expected = differences(points * np.sqrt(rates), points * np.sqrt(rates))
    np.testing.assert_allclose(squared_distances(points, points, rates), expected, rtol=1e-10, atol=1e-12)


def test_constant_points_have_distance_zero():
    points = np.full((10, 4), 1e6, np.float32)
    np.testing.assert_array_equal(squared_distances(points, points.copy()), 0.0)


def test_temporaries_are_smaller_than_half_the_result():
    points = cloud(2500, dtype=np.float64)
    tracemalloc.start()
    result = squared_distances(points, points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * result.nbytes


@pytest.mark.parametrize(("n_rows", "n_columns"), [(0, 5), (1, 0), (7, 1), (10, TILES.kernel_entries), (5000, 4000)])
def test_tiles_cover_every_row_once(n_rows, n_columns):
    rows = [row for tile in row_tiles(n_rows, n_columns) for row in range(tile.start, tile.stop)]
    assert rows == list(range(n_rows))


def wide(X):
    """Sparse points with more inputs than are ever compared as dense ones."""
    return sparse.hstack([sparse.csr_array(X), sparse.csr_array((len(X), 500))], format="csr")


@pytest.mark.parametrize("n_near", [2, 40])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, wide])
def test_near_points_are_told_apart_whatever_their_norm(n_near, kind):
    """The square root in Matern kernels would turn the rounding of their expansion into a hundred times its size."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((60, 3)) * 30
    X[:n_near] = X[0] + 1e-6 * generator.standard_normal((n_near, 3))
    X[-5:] = 0.0
    np.testing.assert_allclose(squared_distances(kind(X), kind(X)), differences(X, X), rtol=1e-6)


def test_near_points_are_told_apart_beside_inputs_with_large_values():
    generator = np.random.default_rng(0)
    X = np.hstack([np.full((60, 1), 1e6), generator.standard_normal((60, 3)) * 30])
    X[:30, 1:] = X[0, 1:] + 1e-6 * generator.standard_normal((30, 3))
    np.testing.assert_allclose(squared_distances(wide(X), wide(X)), differences(X, X), rtol=1e-6)


@pytest.mark.parametrize("turned", [False, True])
def test_near_points_are_told_apart_if_only_some_are_sparse(turned):
    X = cloud(20, 300, dtype=np.float64)
    Z = X[:9] + 1e-7
    kinds = (np.asarray, sparse.csr_matrix) if turned else (sparse.csr_matrix, np.asarray)
    found = squared_distances(kinds[0](X), kinds[1](Z))
    np.testing.assert_allclose(found, differences(X, Z), rtol=1e-6)
