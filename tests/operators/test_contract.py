"""What every operator owes on every kind of points: the products of dense algebra."""

import numpy as np
import pytest

from tests.operators import catalogue

every_operator = pytest.mark.parametrize("case", catalogue.ALL, ids=str)


def functions(rows=3, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, catalogue.N_POINTS))


@every_operator
def test_number_of_points(case):
    assert case.bind().n_points == catalogue.N_POINTS


@every_operator
def test_product_is_that_of_the_matrix(case):
    np.testing.assert_allclose(
        case.bind().matmul(functions()), functions() @ case.on.matrix, atol=case.tolerance, rtol=1e-6
    )


@every_operator
def test_accurate_product_is_that_of_the_matrix(case):
    np.testing.assert_allclose(
        case.bind().accurate_matmul(functions()), functions() @ case.on.matrix, atol=case.tolerance, rtol=1e-6
    )


@every_operator
def test_accurate_product_is_summed_in_float64(case):
    operator = case.bind()
    # An accurate product of unit functions is the stored matrix; of any other, its float64 product.
    stored = operator.accurate_matmul(np.eye(catalogue.N_POINTS))
    np.testing.assert_allclose(operator.accurate_matmul(functions()), functions() @ stored, rtol=1e-12, atol=1e-12)


@every_operator
def test_accurate_product_is_symmetric(case):
    stored = case.bind().accurate_matmul(np.eye(catalogue.N_POINTS))
    np.testing.assert_allclose(stored, stored.T, rtol=1e-6, atol=1e-6 if case.dtype == np.float32 else 1e-13)


@every_operator
def test_products_are_float64(case):
    operator = case.bind()
    types = {operator.matmul(functions()).dtype, operator.accurate_matmul(functions()).dtype}
    assert types == {np.dtype(np.float64)}


@every_operator
def test_no_functions_have_no_product(case):
    assert case.bind().matmul(functions(rows=0)).shape == (0, catalogue.N_POINTS)


@every_operator
def test_functions_are_left_alone(case):
    given = functions()
    case.bind().matmul(given)
    case.bind().accurate_matmul(given)
    np.testing.assert_array_equal(given, functions())


@every_operator
def test_product_belongs_to_the_caller(case):
    operator = case.bind()
    first = operator.matmul(functions())
    expected = first.copy()
    first[...] = np.nan
    np.testing.assert_array_equal(operator.matmul(functions()), expected)


@every_operator
def test_functions_may_be_any_view(case):
    operator = case.bind()
    block = functions(rows=6)
    np.testing.assert_allclose(
        operator.matmul(block[::2]),
        operator.matmul(block)[::2],
        rtol=1e-5,
        atol=1e-13 if case.dtype == catalogue.DOUBLE else 1e-4,
    )


@every_operator
def test_diagonal_is_that_of_the_matrix(case):
    np.testing.assert_allclose(case.bind().diagonal(), case.on.matrix.diagonal(), rtol=1e-6)


@every_operator
def test_diagonal_is_float64(case):
    assert case.bind().diagonal().dtype == np.float64


@every_operator
def test_rows_are_those_of_the_matrix(case):
    indices = np.array([5, 0, 17, 4])
    np.testing.assert_allclose(
        case.bind().rows(indices), case.on.matrix[indices], rtol=1e-6, atol=0.1 * case.tolerance
    )


@every_operator
def test_gradient_is_that_of_the_kernel(case):
    points = case.on.points()
    left, right = functions(), functions(seed=1)
    expected = case.on.kernel.contract_gradient(points, points, left, right)
    np.testing.assert_allclose(case.bind().contract_gradient(left, right), expected, rtol=1e-4, atol=case.tolerance)


@every_operator
def test_gradient_matches_differences_of_products(case):
    points, kernel = case.on.points(), case.on.kernel
    left, right = functions(), functions(seed=1)

    def contraction(logs):
        matrix = np.asarray(kernel.with_log_parameters(logs)(points, points), dtype=float)
        return np.sum((left @ matrix) * right)

    at, step = kernel.log_parameters, 1e-5
    expected = [(contraction(at + move) - contraction(at - move)) / (2 * step) for move in step * np.eye(at.size)]
    np.testing.assert_allclose(
        case.bind().contract_gradient(left, right), expected, rtol=1e-4, atol=max(case.tolerance, 1e-6)
    )
