"""The algebra of kernels."""

import numpy as np
import pytest
from scipy import sparse

from logikern.kernels import FunctionKernel, Gaussian, Linear, Matern12, Polynomial, Product, Scaled, Sum
from tests.kernels.catalogue import table

GAUSSIAN, MATERN = Gaussian(0.7), Matern12((0.5, 1.0, 2.0))


def test_plus_builds_a_sum():
    assert Sum(GAUSSIAN, MATERN) == GAUSSIAN + MATERN


def test_times_kernel_builds_a_product():
    assert Product(GAUSSIAN, MATERN) == GAUSSIAN * MATERN


@pytest.mark.parametrize("factor", [2, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2)], ids=type)
def test_number_times_kernel_builds_a_multiple(factor):
    assert factor * GAUSSIAN == GAUSSIAN * factor == Scaled(GAUSSIAN, 2.0)


def test_sum_is_the_sum_of_matrices():
    points = table()
    np.testing.assert_allclose(
        (GAUSSIAN + MATERN)(points, points), GAUSSIAN(points, points) + MATERN(points, points), rtol=1e-15
    )


def test_product_is_the_product_of_matrices():
    points = table()
    np.testing.assert_allclose(
        (GAUSSIAN * MATERN)(points, points), GAUSSIAN(points, points) * MATERN(points, points), rtol=1e-15
    )


def test_parameters_of_parts_carry_the_name_of_the_part():
    kernel = 2.0 * GAUSSIAN + MATERN
    assert kernel.parameter_names == (
        "left.kernel.rate",
        "left.scale",
        "right.rate[0]",
        "right.rate[1]",
        "right.rate[2]",
    )


def test_new_parameters_reach_the_parts():
    moved = (2.0 * GAUSSIAN + MATERN).with_log_parameters(np.log([1.0, 2.0, 3.0, 4.0, 5.0]))
    np.testing.assert_allclose(np.exp(moved.right.log_parameters), [3.0, 4.0, 5.0])


@pytest.mark.parametrize("factor", [0.0, -1.0, float("inf"), float("nan")])
def test_multiple_that_is_not_positive_is_refused(factor):
    with pytest.raises(ValueError, match="`scale` must be a positive finite number"):
        factor * GAUSSIAN


@pytest.mark.parametrize(
    "operation",
    [lambda: GAUSSIAN + 1.0, lambda: GAUSSIAN * "2", lambda: [2] * GAUSSIAN, lambda: np.ones(2) * GAUSSIAN],
)
def test_other_operands_are_refused(operation):
    with pytest.raises(TypeError):
        operation()


def test_kernels_at_different_parameters_differ():
    assert Gaussian(0.7) != Gaussian(0.8)


def test_different_kernels_at_equal_parameters_differ():
    assert Gaussian(0.7) != Matern12(0.7)


def test_no_features_where_a_part_has_none():
    assert (Linear() + GAUSSIAN).features(table()) is None


def test_features_of_a_product_are_unknown():
    assert (Linear() * Polynomial()).features(table()) is None


def test_features_of_a_sum_stay_sparse():
    features = (Linear() + 2.0 * Linear()).features(sparse.csr_array(table()))
    assert sparse.issparse(features)


@pytest.mark.parametrize("kernel", [GAUSSIAN + FunctionKernel(np.dot), FunctionKernel(np.dot) + GAUSSIAN])
def test_sum_takes_the_wider_type_of_its_parts(kernel):
    points = table().astype(np.float32)
    assert kernel(points, points).dtype == np.float64


def test_float32_and_float64_points_give_float64():
    points = table()
    assert GAUSSIAN(points.astype(np.float32), points).dtype == np.float64
