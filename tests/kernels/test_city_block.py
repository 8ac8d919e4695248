"""City-block distances where they are hard: rare and sparse inputs, cancellation, equal points, memory."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from logikern.kernels import CITY_BLOCK, Laplacian
from logikern.kernels.metrics.city_block import POLICY
from tests.kernels.test_distance import HARD, cloud

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def one_hot(n_points=150, n_levels=15, n_columns=4):
    """Levels of categories, all of them rare."""
    levels = np.random.default_rng(2).integers(n_levels, size=(n_points, n_columns))
    return np.eye(n_levels)[levels].reshape(n_points, -1)


def mixed(n_points=150):
    """Levels of categories, rare counts, inverted levels, a constant and numbers."""
    random = np.random.default_rng(3)
    counts = random.poisson(0.05, (n_points, 20)) * -0.3
    numbers = random.standard_normal((n_points, 7))
    return np.hstack([one_hot(n_points), counts, 5.0 - one_hot(n_points, 12), np.full((n_points, 1), 7.0), numbers])


TABLES = {
    "one input": lambda: cloud(130, 1, dtype=DOUBLE),
    "odd sizes": lambda: cloud(131, 7, dtype=DOUBLE),
    "one block": lambda: cloud(128, 6, dtype=DOUBLE),
    "one hot": one_hot,
    "mixed": mixed,
    "far away": lambda: cloud(140, 5, 1e4, DOUBLE),
}
every_table = pytest.mark.parametrize("name", TABLES)
every_kind = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def rates(n_inputs):
    return tuple(np.random.default_rng(4).uniform(0.1, 2.0, n_inputs))


def parts_of(points):
    return [type(part).__name__ for part in CITY_BLOCK.compare(points, points, 1.0, DOUBLE).parts]


@pytest.mark.parametrize("n_others", [1, 2, 3, 129])
@every_kind
@every_table
def test_distances_are_those_of_scipy(name, kind, n_others):
    points, own = TABLES[name](), rates(TABLES[name]().shape[1])
    others = points[:n_others] + 0.5 * (points[:n_others] > 0)
    expected = cdist(points * own, others * own, "cityblock")
    found = CITY_BLOCK.distances(kind(points), kind(others), own)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)


def test_rare_inputs_are_compared_by_shared_values():
    assert parts_of(one_hot()) == ["Unshared"]
    assert parts_of(mixed()) == ["Unshared", "Differences"]
    assert parts_of(one_hot(n_levels=2)) == ["Differences"]


@every_kind
@every_table
def test_matrix_is_exactly_symmetric(name, kind):
    points = kind(TABLES[name]())
    matrix = CITY_BLOCK.distances(points, points.copy(), rates(points.shape[1]))
    np.testing.assert_array_equal(matrix, matrix.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_kind
@every_table
def test_point_and_its_copy_have_distance_zero_and_no_distance_is_negative(name, kind, dtype):
    points = kind(TABLES[name]().astype(dtype))
    matrix = CITY_BLOCK.distances(points, points.copy(), 0.3)
    np.testing.assert_array_equal(np.diagonal(matrix), 0.0)
    assert matrix.min() >= 0.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 100.0])
@every_table
def test_single_precision_is_accurate_to_its_digits(name, scale):
    points = TABLES[name]()
    rate = scale / np.abs(points - np.median(points, axis=0)).sum(axis=1).max()
    out = np.empty((len(points),) * 2, SINGLE)
    CITY_BLOCK.compare(points, points, rate, SINGLE).distances(slice(None), out)
    # Points are rounded to seven digits of their distance from the centre.
    np.testing.assert_allclose(out, cdist(rate * points, rate * points, "cityblock"), rtol=1e-6, atol=1e-6 * scale)


def test_points_far_from_the_others_are_compared_in_double_precision():
    points = cloud(60, 3, dtype=DOUBLE)
    points[30:] += 1e4
    pair = CITY_BLOCK.compare(points, points, 1.0, SINGLE)
    assert pair.dtype == DOUBLE
    assert CITY_BLOCK.compare(points[:30], points[:30], 0.1, SINGLE).dtype == SINGLE


@pytest.mark.parametrize("make", HARD)
@every_kind
def test_close_points_keep_their_distance_far_from_the_others(make, kind):
    points = make(np.float64)
    expected = cdist(points, points[::-1], "cityblock")
    found = CITY_BLOCK.distances(kind(points), kind(points[::-1].copy()))
    np.testing.assert_allclose(found, expected, rtol=2e-7, atol=1e-7)


@pytest.mark.parametrize(("dtype", "within"), [(np.float64, 1e-11), (np.float32, 1e-5)])
@every_kind
@every_table
def test_sums_over_inputs_are_those_of_differences(name, kind, dtype, within):
    points = TABLES[name]()
    own, others = np.array(rates(points.shape[1])) / points.shape[1], points[5:42]
    weights = np.random.default_rng(0).standard_normal((len(points), len(others))).astype(dtype)
    expected = [np.vdot(weights, np.abs(np.subtract.outer(*pair))) for pair in zip(points.T, others.T, strict=True)]
    pair = CITY_BLOCK.compare(kind(points), kind(others), tuple(own), np.dtype(dtype))
    size = np.abs(weights).sum() * (own * np.abs(points - np.median(points, axis=0)).max(axis=0)).max()
    np.testing.assert_allclose(pair.contract_inputs(weights), own * expected, atol=within * size)


@pytest.mark.parametrize("make", HARD)
@every_kind
def test_sums_over_inputs_of_far_points_are_those_of_differences(make, kind):
    points = make(np.float64)
    weights = np.exp(-cdist(points, points, "cityblock"))
    gaps = np.abs(points[:, np.newaxis] - points) * (0.5, 2.0, 1.0)
    found = CITY_BLOCK.compare(kind(points), kind(points), (0.5, 2.0, 1.0), DOUBLE).contract_inputs(weights)
    np.testing.assert_allclose(found, np.einsum("ik,ikj->j", weights, gaps), rtol=1e-6)


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 9.97e36), (np.float64, 1e200), (np.float64, 1.7e308)])
@every_kind
def test_a_point_beyond_all_numbers_is_far_from_the_others(kind, dtype, size):
    points = cloud(40, 3, dtype=dtype)
    points[4], points[5] = size, -size
    found = CITY_BLOCK.distances(kind(points), kind(points.copy()), 2.0)
    assert found[4, 4] == 0.0
    assert np.isfinite(found).all()
    assert (np.delete(found[4], 4) >= 1e20).all()
    np.testing.assert_allclose(found[:4, :4], 2.0 * cdist(points[:4], points[:4], "cityblock"), rtol=1e-6, atol=1e-9)


def test_a_far_point_does_not_spoil_rare_inputs():
    points = mixed()
    points[3, 0] = 1e12
    expected = cdist(points, points, "cityblock")
    np.testing.assert_allclose(CITY_BLOCK.distances(points, points), expected, rtol=1e-12, atol=1e-10)


def test_values_stored_twice_add_up():
    stored = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    before = stored.data.copy()
    np.testing.assert_allclose(CITY_BLOCK.distances(stored, stored), [[0.0, 7.0], [7.0, 0.0]])
    np.testing.assert_array_equal(stored.data, before)


@pytest.mark.parametrize("arrange", [np.asfortranarray, lambda table: np.repeat(table, 2, axis=0)[::2]])
def test_order_in_memory_does_not_matter(arrange):
    points = mixed()
    weights = np.random.default_rng(0).standard_normal((len(points), len(points)))
    kernel = Laplacian(tuple(np.array(rates(points.shape[1])) / 50))
    np.testing.assert_array_equal(kernel(arrange(points), arrange(points)), kernel(points, points))
    found = kernel.weigh_gradient(arrange(points), points, arrange(weights))
    np.testing.assert_allclose(found, kernel.weigh_gradient(points, points, weights), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_sparse_and_dense_distances_from_a_centre_agree(kind):
    points, centre = mixed(), np.random.default_rng(0).standard_normal(mixed().shape[1])
    expected = cdist(points, centre[np.newaxis], "cityblock").ravel()
    np.testing.assert_allclose(CITY_BLOCK.distances_from(centre, kind(points)), expected, rtol=1e-12)


@pytest.mark.parametrize("make", [lambda: cloud(2500, 36, dtype=DOUBLE), lambda: one_hot(2500)])
def test_temporaries_are_smaller_than_half_the_result(make):
    points = make()
    CITY_BLOCK.distances(points[:10], points[:10])  # compiles
    tracemalloc.start()
    result = CITY_BLOCK.distances(points, points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * result.nbytes


def test_norms_up_to_the_bound_have_the_promised_rounding():
    assert POLICY.largest_sum * np.finfo(np.float64).eps <= POLICY.rounding
