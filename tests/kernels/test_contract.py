"""What every kernel owes, checked on the whole catalogue."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from logikern.numerics.parallel import TILES
from tests.kernels import catalogue

every_kernel = pytest.mark.parametrize("case", catalogue.ALL, ids=str)
every_numeric_kernel = pytest.mark.parametrize("case", catalogue.NUMERIC, ids=str)

# Some of these stand among all points too, so that distances of zero occur off the diagonal.
COLUMNS = slice(3, 14)
FORMATS = (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)


def directions(n_columns=11, rank=2):
    """left (rank, n), right (rank, n_columns)."""
    generator = np.random.default_rng(8)
    return (
        generator.standard_normal((rank, catalogue.N_POINTS)),
        generator.standard_normal((rank, n_columns)),
    )


def bilinear(kernel, X, Z, left, right):
    return np.sum((left @ kernel(X, Z)) * right)


def central_differences(function, at, step=1e-5):
    return np.array([(function(at + move) - function(at - move)) / (2 * step) for move in step * np.eye(at.size)])


@every_kernel
def test_matrix_has_a_row_per_left_and_a_column_per_right_point(case):
    points = case.points()
    assert case.kernel(points, points[COLUMNS]).shape == (catalogue.N_POINTS, 11)


@every_kernel
def test_matrix_is_symmetric(case):
    points = case.points()
    matrix = case.kernel(points, points)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-13, atol=1e-14)


@every_kernel
def test_matrix_is_positive_semidefinite(case):
    points = case.points()
    eigenvalues = np.linalg.eigvalsh(case.kernel(points, points))
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]


@every_kernel
def test_diagonal_is_that_of_the_matrix(case):
    points = case.points()
    np.testing.assert_allclose(case.kernel.diagonal(points), np.diagonal(case.kernel(points, points)), rtol=1e-13)


@every_kernel
def test_block_is_that_of_the_matrix(case):
    points = case.points()
    block = case.kernel(points[2:9], points[COLUMNS])
    np.testing.assert_allclose(block, case.kernel(points, points)[2:9, COLUMNS], rtol=1e-12, atol=1e-13)


@every_kernel
def test_matrix_belongs_to_the_caller(case):
    points = case.points()
    matrix = case.kernel(points, points)
    expected = matrix.copy()
    matrix[...] = np.nan
    np.testing.assert_array_equal(case.kernel(points, points), expected)


@every_kernel
def test_contraction_matches_differences(case):
    points = case.points()
    left, right = directions()
    expected = central_differences(
        lambda values: bilinear(case.kernel.with_log_parameters(values), points, points[COLUMNS], left, right),
        case.kernel.log_parameters,
    )
    contraction = case.kernel.contract_gradient(points, points[COLUMNS], left, right)
    # Differences of step 1e-5 are right to about 1e-10 of the terms that they add up.
    np.testing.assert_allclose(contraction, expected, rtol=1e-7, atol=1e-7)


@every_kernel
def test_contraction_matches_differences_on_one_set_of_points(case):
    points = case.points()
    left, right = directions(catalogue.N_POINTS)
    expected = central_differences(
        lambda values: bilinear(case.kernel.with_log_parameters(values), points, points, left, right),
        case.kernel.log_parameters,
    )
    contraction = case.kernel.contract_gradient(points, points, left, right)
    np.testing.assert_allclose(contraction, expected, rtol=1e-7, atol=1e-7)


@every_kernel
def test_contraction_does_not_depend_on_tiles(case, monkeypatch):
    points = case.points()
    left, right = directions()
    whole = case.kernel.contract_gradient(points, points[COLUMNS], left, right)
    monkeypatch.setitem(vars(TILES), "kernel_entries", 50)
    tiled = case.kernel.contract_gradient(points, points[COLUMNS], left, right)
    np.testing.assert_allclose(tiled, whole, rtol=1e-10, atol=1e-10)


@every_kernel
def test_matrix_does_not_depend_on_tiles(case, monkeypatch):
    points = case.points()
    whole = case.kernel(points, points[COLUMNS])
    monkeypatch.setitem(vars(TILES), "kernel_entries", 50)
    np.testing.assert_allclose(case.kernel(points, points[COLUMNS]), whole, rtol=1e-12, atol=1e-13)


@every_kernel
def test_gradient_leaves_weights_alone(case):
    points = case.points()
    weights = np.random.default_rng(5).standard_normal((catalogue.N_POINTS, catalogue.N_POINTS))
    before = weights.copy()
    case.kernel.weigh_gradient(points, points, weights)
    np.testing.assert_array_equal(weights, before)


@pytest.mark.parametrize(
    "case", [case for case in catalogue.ALL if case.kernel.features(case.points()) is not None], ids=str
)
def test_features_give_the_matrix(case):
    points = case.points()
    features = case.kernel.features(points)
    np.testing.assert_allclose(features @ features.T, case.kernel(points, points), rtol=1e-12, atol=1e-13)


@every_kernel
def test_every_parameter_has_a_name_of_its_own(case):
    names = case.kernel.parameter_names
    assert len(set(names)) == len(names) == len(case.kernel.log_parameters)


@every_kernel
def test_log_parameters_make_a_round_trip(case):
    values = case.kernel.log_parameters + np.linspace(-0.5, 0.5, len(case.kernel.log_parameters))
    moved = case.kernel.with_log_parameters(values)
    np.testing.assert_allclose(moved.log_parameters, values, rtol=1e-13, atol=1e-15)


@every_kernel
def test_new_parameters_leave_names_and_kind(case):
    moved = case.kernel.with_log_parameters(case.kernel.log_parameters + 0.1)
    assert (type(moved), moved.parameter_names) == (type(case.kernel), case.kernel.parameter_names)


@every_kernel
def test_wrong_number_of_parameters_is_refused(case):
    with pytest.raises(ValueError, match="`values` must hold"):
        case.kernel.with_log_parameters(np.zeros(len(case.kernel.log_parameters) + 1))


@every_kernel
def test_pickle_keeps_the_value(case):
    assert pickle.loads(pickle.dumps(case.kernel)) == case.kernel


@every_kernel
def test_deep_copy_has_the_same_hash(case):
    assert hash(copy.deepcopy(case.kernel)) == hash(case.kernel)


@pytest.mark.parametrize("sparsify", FORMATS)
@every_numeric_kernel
def test_sparse_points_give_the_dense_matrix(case, sparsify):
    points = case.points()
    stored = sparsify(points)
    expected = case.kernel(points, points[COLUMNS])
    np.testing.assert_allclose(case.kernel(stored, stored[COLUMNS]), expected, rtol=1e-12, atol=1e-13)


@every_numeric_kernel
def test_sparse_left_points_give_the_dense_matrix(case):
    points = case.points()
    expected = case.kernel(points, points[COLUMNS])
    mixed = case.kernel(sparse.csr_array(points), points[COLUMNS])
    np.testing.assert_allclose(mixed, expected, rtol=1e-12, atol=1e-13)


@every_numeric_kernel
def test_sparse_right_points_give_the_dense_matrix(case):
    points = case.points()
    expected = case.kernel(points, points[COLUMNS])
    mixed = case.kernel(points, sparse.csr_array(points[COLUMNS]))
    np.testing.assert_allclose(mixed, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("sparsify", FORMATS)
@every_numeric_kernel
def test_sparse_points_give_the_dense_diagonal(case, sparsify):
    points = case.points()
    np.testing.assert_allclose(case.kernel.diagonal(sparsify(points)), case.kernel.diagonal(points), rtol=1e-12)


@pytest.mark.parametrize("sparsify", FORMATS)
@every_numeric_kernel
def test_sparse_points_give_the_dense_contraction(case, sparsify):
    points = case.points()
    stored = sparsify(points)
    left, right = directions()
    expected = case.kernel.contract_gradient(points, points[COLUMNS], left, right)
    contraction = case.kernel.contract_gradient(stored, stored[COLUMNS], left, right)
    np.testing.assert_allclose(contraction, expected, rtol=1e-10, atol=1e-10)


@every_numeric_kernel
def test_mixed_points_give_the_dense_contraction(case):
    points = case.points()
    left, right = directions()
    expected = case.kernel.contract_gradient(points, points[COLUMNS], left, right)
    for X, Z in (
        (sparse.csr_array(points), points[COLUMNS]),
        (points, sparse.csr_array(points[COLUMNS])),
    ):
        contraction = case.kernel.contract_gradient(X, Z, left, right)
        np.testing.assert_allclose(contraction, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@every_numeric_kernel
def test_float32_stays_float32(case, store):
    points = store(case.points().astype(np.float32))
    types = {case.kernel(points, points[COLUMNS]).dtype, case.kernel.diagonal(points).dtype}
    assert types == {np.dtype(np.float32)}


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@every_numeric_kernel
def test_float32_matrix_is_close_to_float64(case, store):
    points = case.points()
    single = store(points.astype(np.float32))
    # Rounded points are moved by 6e-8 of their size; a square root at small distance magnifies that.
    np.testing.assert_allclose(
        case.kernel(single, single[COLUMNS]), case.kernel(points, points[COLUMNS]), rtol=1e-5, atol=2e-5
    )


@every_numeric_kernel
def test_float32_contraction_is_close_to_float64(case):
    points = case.points()
    single = points.astype(np.float32)
    left, right = directions()
    expected = case.kernel.contract_gradient(points, points[COLUMNS], left, right)
    contraction = case.kernel.contract_gradient(single, single[COLUMNS], left, right)
    np.testing.assert_allclose(contraction, expected, rtol=1e-4, atol=1e-4)


@every_numeric_kernel
def test_integer_points_are_taken_as_float64(case):
    points = np.round(3.0 * case.points())
    matrix = case.kernel(points.astype(np.int64), points.astype(np.int64))
    np.testing.assert_array_equal(matrix, case.kernel(points, points))


@every_numeric_kernel
def test_points_are_left_alone(case):
    points = case.points()
    left, right = directions(catalogue.N_POINTS)
    case.kernel(points, points)
    case.kernel.contract_gradient(points, points, left, right)
    np.testing.assert_array_equal(points, case.points())


@every_numeric_kernel
def test_no_points_give_an_empty_matrix(case):
    points = case.points()
    assert case.kernel(points[:0], points).shape == (0, catalogue.N_POINTS)
    assert case.kernel(points, points[:0]).shape == (catalogue.N_POINTS, 0)
