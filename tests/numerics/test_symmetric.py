import numpy as np
import pytest

from logikern.numerics.symmetric import invert, mirror, solver, solver_and_inverse


def positive(n):
    root = np.random.default_rng(0).standard_normal((n, n))
    return root @ root.T + np.eye(n)


def indefinite(n):
    root = np.random.default_rng(0).standard_normal((n, n))
    return root + root.T


every_matrix = pytest.mark.parametrize("make", [positive, indefinite])
sizes = pytest.mark.parametrize("n", [1, 5, 64, 150])


@sizes
@every_matrix
def test_inverse_is_that_of_numpy(make, n):
    np.testing.assert_allclose(invert(make(n)), np.linalg.inv(make(n)), rtol=1e-6, atol=1e-8)


@sizes
@every_matrix
def test_solver_solves(make, n):
    right = np.random.default_rng(1).standard_normal(n)
    np.testing.assert_allclose(make(n) @ solver(make(n))(right), right, atol=1e-8)


@sizes
@every_matrix
def test_solver_comes_with_the_inverse(make, n):
    right = np.random.default_rng(1).standard_normal(n)
    solve, inverse = solver_and_inverse(make(n))
    np.testing.assert_array_equal(solve(right), solver(make(n))(right))
    np.testing.assert_array_equal(inverse, invert(make(n)))


@sizes
def test_mirror_copies_the_upper_part(n):
    matrix = np.random.default_rng(0).standard_normal((n, n))
    expected = np.triu(matrix) + np.triu(matrix, 1).T
    np.testing.assert_array_equal(mirror(matrix), expected)


def test_matrix_without_inverse_gives_no_number():
    assert np.isnan(invert(np.zeros((3, 3)))).all()
