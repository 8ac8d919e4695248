import numpy as np
import pytest

from logikern.structure.targets import from_distributions, from_labels


def test_labels_become_ones_in_their_rows():
    np.testing.assert_array_equal(from_labels(np.array([2, 0, 2]), 3), [[0, 1, 0], [0, 0, 0], [1, 0, 1]])


def test_distributions_are_transposed():
    np.testing.assert_array_equal(from_distributions([[0.25, 0.75], [1.0, 0.0]]), [[0.25, 1.0], [0.75, 0.0]])


def test_targets_are_contiguous_along_points():
    assert from_distributions(np.full((5, 2), 0.5)).flags.c_contiguous


def test_rounded_distributions_are_made_to_sum_to_one():
    rows = np.full((4, 3), 0.3333333)
    np.testing.assert_allclose(from_distributions(rows).sum(axis=0), 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    "rows, fragment",
    [
        ([[0.5, 0.5], [0.5, 0.4]], "row 1 sums to 0.9"),
        ([[0.5, 0.5], [1.5, -0.5]], "row 1 has the negative value -0.5"),
        ([[0.5, 0.5], [np.nan, 1.0]], "row 1 sums to nan"),
        ([[0.5, 0.5], [np.inf, 0.0]], "row 1 sums to inf"),
    ],
)
def test_what_is_no_distribution_is_refused(rows, fragment):
    with pytest.raises(ValueError, match=fragment):
        from_distributions(rows)
