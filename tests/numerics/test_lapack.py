import threading

import numpy as np
import pytest

from logikern.numerics import lapack


@pytest.fixture(params=["exported", "of scipy.linalg"], autouse=True)
def routines(request, monkeypatch):
    """The routines that SciPy exports, and what is used where they have other arguments."""
    if request.param == "exported":
        assert None not in (lapack._dpotrf, lapack._dpotri, lapack._dtrsm)
    else:
        for name in ("_dpotrf", "_dpotri", "_dtrsm"):
            monkeypatch.setattr(lapack, name, None)
    return request.param


def positive(n):
    root = np.random.default_rng(0).standard_normal((n, n))
    return root @ root.T + np.eye(n)


def part(matrix):
    """The same values inside a larger matrix in columns, whose other values must stay."""
    whole = np.full((matrix.shape[0] + 7, matrix.shape[1] + 3), 5.0, order="F")
    whole[4:-3, 1:-2] = matrix
    return whole, whole[4:-3, 1:-2]


def others(whole):
    return np.concatenate([whole[:4].ravel(), whole[-3:].ravel(), whole[4:-3, 0], whole[4:-3, -2:].ravel()])


@pytest.mark.parametrize("n", [1, 2, 40])
def test_factor_is_that_of_numpy_and_leaves_the_rest_alone(n):
    whole, matrix = part(positive(n))
    assert lapack.factorise(matrix)
    np.testing.assert_allclose(np.tril(matrix), np.linalg.cholesky(positive(n)), atol=1e-12)
    np.testing.assert_array_equal(np.triu(matrix, 1), np.triu(positive(n), 1))
    assert (others(whole) == 5.0).all()


def test_matrix_that_is_not_positive_definite_is_noticed():
    assert not lapack.factorise(np.asfortranarray([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("n", [1, 2, 40])
def test_inverse_is_that_of_numpy(n):
    whole, matrix = part(np.linalg.cholesky(positive(n)))
    lapack.invert_factor(matrix)
    np.testing.assert_allclose(np.tril(matrix), np.tril(np.linalg.inv(positive(n))), atol=1e-12)
    assert (others(whole) == 5.0).all()


@pytest.mark.parametrize("n_columns", [1, 3])
def test_triangular_solves(n_columns):
    lower = np.linalg.cholesky(positive(30))
    right = np.random.default_rng(1).standard_normal((30, n_columns))
    for solve, wanted in (
        (lapack.solve_lower, np.linalg.solve(lower, right)),
        (lapack.solve_upper, np.linalg.solve(lower.T, right)),
    ):
        whole, values = part(right)
        solve(part(lower)[1], values)
        np.testing.assert_allclose(values, wanted, atol=1e-12)
        assert (others(whole) == 5.0).all()
    whole, values = part(right.T)
    lapack.divide_by_upper(values, part(lower)[1])
    np.testing.assert_allclose(values, np.linalg.solve(lower, right).T, atol=1e-12)
    assert (others(whole) == 5.0).all()


def test_matrix_in_rows_is_refused(routines):
    if routines == "exported":
        with pytest.raises(ValueError, match="must be float64 in Fortran order"):
            lapack.factorise(positive(4))
        with pytest.raises(ValueError, match="must be float64 in Fortran order"):
            lapack.factorise(np.eye(4, dtype=np.float32, order="F"))


def test_other_threads_run_meanwhile(routines):
    if routines != "exported":
        return
    count, over = [0], threading.Event()

    def keep_counting():
        while not over.wait(1e-4):
            count[0] += 1

    thread = threading.Thread(target=keep_counting)
    thread.start()
    matrix, counted = np.asfortranarray(positive(1200)), []
    try:
        for _ in range(5):  # the system may give this short while to somebody else
            copy, before = matrix.copy(order="F"), count[0]
            lapack.factorise(copy)
            counted.append(count[0] - before)
    finally:
        over.set()
        thread.join()
    assert max(counted) > 1
