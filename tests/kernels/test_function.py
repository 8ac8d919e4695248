"""A user's function as kernel."""

import numpy as np
import pytest

from logikern.kernels import FunctionKernel


class Counter:
    """min(a, b), counting its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, first, second):
        self.calls += 1
        return min(first, second)


def test_every_pair_is_evaluated():
    matrix = FunctionKernel(lambda first, second: len(first) * len(second))(["a", "bc"], ["def"])
    np.testing.assert_array_equal(matrix, [[3.0], [6.0]])


def test_symmetry_saves_half_the_calls():
    function, points = Counter(), [3, 1, 2, 5]
    FunctionKernel(function)(points, points)
    assert function.calls == 10


def test_symmetric_matrix_is_that_of_all_pairs():
    points = [3, 1, 2, 5]
    np.testing.assert_array_equal(FunctionKernel(min)(points, points), FunctionKernel(min)(points, list(points)))


def test_object_arrays_are_points():
    points = np.array([{1, 2}, {2}, set()], dtype=object)
    matrix = FunctionKernel(lambda first, second: len(first & second))(points, points)
    np.testing.assert_array_equal(matrix, [[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])


def test_rows_of_an_array_are_points():
    points = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(FunctionKernel(np.dot)(points, points), points @ points.T)


@pytest.mark.parametrize("value", [None, "alike", [1.0, 2.0]])
def test_function_that_returns_no_number_is_refused(value):
    with pytest.raises(TypeError, match="must return a number, but returned"):
        FunctionKernel(lambda first, second: value)(["a"], ["b"])
