import itertools
import threading

import numpy as np
import pytest

from logikern.numerics import lapack, tiled_cholesky
from logikern.numerics.parallel import TILES, own_threads
from logikern.numerics.symmetric import inverse_root, invert, solver, solver_and_inverse
from tests.numerics.blas_threads import three_blas_threads


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    for name, size in {"cholesky_rows": 32, "factor_from": 40, "inverse_from": 40}.items():
        monkeypatch.setitem(vars(TILES), name, size)
    with three_blas_threads():
        yield


def positive(n):
    root = np.random.default_rng(0).standard_normal((n, n))
    return root @ root.T + np.eye(n)


def indefinite_at(n, place):
    """Positive definite but for one row."""
    matrix = positive(n)
    matrix[place, place] = -1.0
    return matrix


sizes = pytest.mark.parametrize("n", [1, 31, 32, 33, 100])


@sizes
def test_factor_is_that_of_numpy_and_leaves_the_upper_part_alone(n):
    matrix = np.asfortranarray(positive(n))
    with own_threads():
        assert tiled_cholesky.factorise(matrix)
    np.testing.assert_allclose(np.tril(matrix), np.linalg.cholesky(positive(n)), atol=1e-12)
    np.testing.assert_array_equal(np.triu(matrix, 1), np.triu(positive(n), 1))


@pytest.mark.parametrize("in_place", [True, False])
@sizes
def test_inverse_is_that_of_numpy(n, in_place):
    lower = np.asfortranarray(np.linalg.cholesky(positive(n)))
    inverse = lower if in_place else np.empty_like(lower)
    with own_threads():
        tiled_cholesky.write_inverse(lower, inverse)
    np.testing.assert_allclose(np.triu(inverse), np.triu(np.linalg.inv(positive(n))), atol=1e-12)


@sizes
def test_inverse_of_a_triangle(n):
    lower = np.asfortranarray(np.linalg.cholesky(positive(n)))
    with own_threads():
        inverse = tiled_cholesky.invert_lower(lower)
    np.testing.assert_allclose(inverse, np.linalg.inv(np.linalg.cholesky(positive(n))), atol=1e-11)


@pytest.mark.parametrize("place", [0, 40, 99])
def test_matrix_that_is_not_positive_definite_is_solved_by_pivots(place):
    right = np.random.default_rng(1).standard_normal(100)
    with own_threads():
        solution, inverse = solver(indefinite_at(100, place))(right), invert(indefinite_at(100, place))
    np.testing.assert_allclose(indefinite_at(100, place) @ solution, right, atol=1e-8)
    np.testing.assert_allclose(inverse @ indefinite_at(100, place), np.eye(100), atol=1e-8)


def test_results_do_not_depend_on_the_number_of_threads():
    right, found = np.random.default_rng(1).standard_normal(200), []
    for n_threads in (2, 3):
        with own_threads(n_threads):
            solve, inverse = solver_and_inverse(positive(200))
            found.append((solve(right), inverse, invert(positive(200)), inverse_root(positive(200))))
    for two, three in zip(*found, strict=True):
        np.testing.assert_array_equal(two, three)


def test_several_threads_give_what_one_gives():
    right = np.random.default_rng(1).standard_normal(200)
    with own_threads():
        solve, inverse = solver_and_inverse(positive(200))
        root = inverse_root(positive(200))
    with own_threads(1):
        alone = solver(positive(200))(right), invert(positive(200)), inverse_root(positive(200))
    # The condition number is below 1e3: twelve digits are what rounding leaves.
    for found, wanted in zip((solve(right), inverse, root), alone, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


def test_one_matrix_is_divided_among_threads(monkeypatch):
    meeting, divide, calls = threading.Barrier(3, timeout=20), lapack.divide_by_upper, itertools.count()

    def meet(left, lower):
        if next(calls) < 3:
            meeting.wait()
        divide(left, lower)

    monkeypatch.setattr(lapack, "divide_by_upper", meet)
    with own_threads():
        assert tiled_cholesky.factorise(np.asfortranarray(positive(4 * 32)))  # three tiles below the first


@pytest.mark.parametrize("n_items, alone", [(1, 1), (2, 0), (3, 0), (4, 1), (5, 0), (6, 0), (7, 1)])
def test_few_matrices_that_are_left_over_are_divided_themselves(n_items, alone):
    with own_threads(3):
        found = tiled_cholesky.for_each_block(
            lambda item: (item, tiled_cholesky.inverse_pays(100)), range(n_items), 100
        )
    assert [item for item, _ in found] == list(range(n_items))
    assert sum(divided for _, divided in found) == alone


def test_small_matrices_are_not_divided():
    with own_threads(3):
        found = tiled_cholesky.for_each_block(lambda item: tiled_cholesky.inverse_pays(30), range(4), 30)
    assert found == [False] * 4
