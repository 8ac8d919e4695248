"""Rows that are kept: the same as computed ones, found again, given up when idle, within a bound on memory."""

import numpy as np
import pytest

from logikern.kernels import Gaussian
from logikern.operators.dense import dense
from logikern.operators.row_cache import RowCache, row_getter
from logikern.operators.tiled import tiled

N_POINTS = 20
POINTS = np.random.default_rng(0).standard_normal((N_POINTS, 3))
ROW_BYTES = 8 * N_POINTS


def operator(dtype=np.float64):
    return tiled(Gaussian(0.5), POINTS, np.dtype(dtype), 1e6)


def cache(n_rows):
    return RowCache(operator(), n_rows * ROW_BYTES)


def sweep(rows, seed, points=N_POINTS, block=4):
    order = np.random.default_rng(seed).permutation(points)
    for start in range(0, points, block):
        rows.rows(order[start : start + block])


@pytest.mark.parametrize("n_rows", [0, 1, 3, N_POINTS, 10 * N_POINTS])
def test_rows_are_those_of_the_operator_however_many_are_kept(n_rows):
    rows, expected = cache(n_rows), operator().rows(np.arange(N_POINTS))
    for seed in range(4):
        some = np.random.default_rng(seed).permutation(N_POINTS)[:7]
        np.testing.assert_allclose(rows.rows(some), expected[some], rtol=1e-12)


def test_rows_that_are_kept_are_not_computed_again():
    rows = cache(N_POINTS)
    sweep(rows, 0)
    sweep(rows, 1)
    assert rows.n_computed == N_POINTS


def test_of_every_sweep_as_many_rows_are_found_as_are_kept():
    rows = cache(5)
    for seed in range(6):
        before = rows.n_computed
        sweep(rows, seed)
    assert rows.n_computed - before == N_POINTS - 5


def test_idle_rows_make_room():
    rows = cache(3)
    rows.rows(np.array([0, 1, 2]))
    for seed in range(30):
        rows.rows(3 + np.random.default_rng(seed).permutation(3))
    assert sorted(rows.owner_of) == [3, 4, 5]


def test_rows_that_made_room_are_computed_again():
    rows = cache(3)
    rows.rows(np.array([0, 1, 2]))
    for _ in range(30):
        rows.rows(np.array([3, 4, 5]))
    np.testing.assert_allclose(rows.rows(np.array([1])), operator().rows(np.array([1])), rtol=1e-12)


def test_memory_is_bounded():
    assert cache(3.5).kept.nbytes == 3 * ROW_BYTES


def test_rows_keep_the_precision_of_the_operator():
    rows = RowCache(operator(np.float32), 1e6)
    first = rows.rows(np.array([2, 4]))
    again = rows.rows(np.array([4, 2, 5]))
    assert first.dtype == again.dtype == np.float32


def test_what_is_given_may_be_changed():
    rows = cache(N_POINTS)
    rows.rows(np.array([1, 2]))[:] = 0.0
    rows.rows(np.array([1, 2]))[:] = 0.0
    np.testing.assert_allclose(rows.rows(np.array([1, 2])), operator().rows(np.array([1, 2])), rtol=1e-12)


def test_a_matrix_in_memory_is_not_kept_twice():
    stored = dense(Gaussian(0.5), POINTS, np.dtype(np.float32))
    assert row_getter(stored, 1e6) == stored.rows
