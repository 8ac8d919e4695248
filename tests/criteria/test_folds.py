import numpy as np

from logikern.criteria.folds import folds_from_splits

WEIGHTS = np.array([1.0, 2.0, 0.0, 4.0])


def test_each_split_is_a_row():
    folds = folds_from_splits([([0, 1], [2, 3]), ([2, 3], [0, 1])], WEIGHTS)
    np.testing.assert_array_equal(folds.kept, [[1, 2, 0, 0], [0, 0, 0, 4]])
    np.testing.assert_array_equal(folds.held_out, [[0, 0, 0, 4], [1, 2, 0, 0]])


def test_split_may_leave_points_out():
    folds = folds_from_splits([([0], [3])], WEIGHTS)
    np.testing.assert_array_equal(folds.kept + folds.held_out, [[1, 0, 0, 4]])


def test_splits_may_be_masks():
    mask = np.array([True, True, False, False])
    folds = folds_from_splits([(mask, ~mask)], WEIGHTS)
    np.testing.assert_array_equal(folds.kept, [[1, 2, 0, 0]])


def test_splits_may_be_read_only_once():
    folds = folds_from_splits(((kept, held_out) for kept, held_out in [([0], [1]), ([1], [0])]), WEIGHTS)
    assert folds.kept.shape == (2, 4)
