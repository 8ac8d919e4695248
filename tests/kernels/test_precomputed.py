"""Points given by kernel values."""

import pickle

import numpy as np
import pytest

from logikern.kernels import Precomputed, new_points, reference_points, training_points

MATRIX = np.arange(16.0).reshape(4, 4) + np.arange(16.0).reshape(4, 4).T
NEW = np.arange(8.0).reshape(2, 4)


def test_training_points_give_back_the_matrix():
    points = training_points(MATRIX)
    np.testing.assert_array_equal(Precomputed()(points, points), MATRIX)


def test_rows_of_training_points_give_a_block():
    points = training_points(MATRIX)
    np.testing.assert_array_equal(Precomputed()(points[[3, 1]], points[1:]), MATRIX[[3, 1]][:, 1:])


def test_rows_of_training_points_keep_their_diagonal():
    points = training_points(MATRIX)
    np.testing.assert_array_equal(Precomputed().diagonal(points[[3, 1]]), [MATRIX[3, 3], MATRIX[1, 1]])


def test_new_points_meet_training_points():
    np.testing.assert_array_equal(Precomputed()(new_points(NEW), training_points(MATRIX)), NEW)


def test_new_points_meet_references():
    np.testing.assert_array_equal(Precomputed()(new_points(NEW), reference_points(np.array([2, 0]))), NEW[:, [2, 0]])


def test_references_outlive_pickling_without_values():
    references = pickle.loads(pickle.dumps(reference_points(np.arange(4))))
    np.testing.assert_array_equal(Precomputed()(new_points(NEW), references), NEW)


def test_float32_values_stay_float32():
    points = training_points(MATRIX.astype(np.float32))
    assert Precomputed()(points, points).dtype == np.float32


def test_integer_values_become_float64():
    points = training_points(MATRIX.astype(np.int64))
    assert Precomputed()(points, points).dtype == np.float64


@pytest.mark.parametrize(
    ("points", "length"),
    [(training_points(MATRIX), 4), (new_points(NEW), 2), (reference_points(np.arange(3)), 3)],
)
def test_points_are_counted(points, length):
    assert len(points) == points.shape[0] == length


def test_matrix_of_training_points_must_be_square():
    with pytest.raises(ValueError, match=r"must be square, but has shape \(2, 4\)"):
        training_points(NEW)


def test_values_between_new_points_are_refused():
    with pytest.raises(ValueError, match="requested between new points"):
        Precomputed()(new_points(NEW), new_points(NEW))


def test_diagonal_of_new_points_is_refused():
    with pytest.raises(ValueError, match="known for training points only"):
        Precomputed().diagonal(new_points(NEW))


def test_values_of_references_are_refused():
    references = reference_points(np.arange(4))
    with pytest.raises(ValueError, match="Kernel values are needed"):
        Precomputed()(references, references)
