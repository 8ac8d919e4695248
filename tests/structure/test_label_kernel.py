"""Kernels of labels: their algebra, the forms in which they are given, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from logikern.structure.label_kernel import read_label_kernel, split
from logikern.structure.tying import tie
from tests.structure.catalogue import BALANCED, RAGGED

CLASSES = np.array(["a", "b", "c", "d"])
MATRIX = np.array([[2.0, 0.5, 0.0, 0.1], [0.5, 1.0, 0.3, 0.0], [0.0, 0.3, 1.5, -0.4], [0.1, 0.0, -0.4, 1.0]])
FRAME = pd.DataFrame(MATRIX, index=CLASSES, columns=CLASSES)
LOW_RANK = np.outer([1.0, 1.0, -1.0, 2.0], [1.0, 1.0, -1.0, 2.0])


@pytest.mark.parametrize("matrix", [MATRIX, BALANCED.as_matrix() @ BALANCED.as_matrix().T, 3.0 * np.eye(4)])
def test_split_matrix_is_the_matrix(matrix):
    np.testing.assert_allclose(split(matrix).matrix, matrix, atol=1e-12)
    mapped = split(matrix).as_matrix()
    np.testing.assert_allclose(mapped @ mapped.T, matrix, atol=1e-12)


def test_own_part_is_the_largest_multiple_of_the_identity():
    found = split(MATRIX)
    assert found.own**2 == pytest.approx(np.linalg.eigvalsh(MATRIX)[0])
    assert found.n_shared == 3


def test_identity_is_added_to_a_singular_matrix():
    found = split(LOW_RANK)
    assert found.n_shared == 1
    np.testing.assert_allclose(found.matrix, LOW_RANK + np.trace(LOW_RANK) / 4 * np.eye(4), atol=1e-12)


def test_split_of_a_split_singular_matrix_is_the_same():
    once = split(LOW_RANK)
    again = split(once.matrix)
    assert again.own == pytest.approx(once.own)
    np.testing.assert_allclose(again.factor @ again.factor.T, LOW_RANK, atol=1e-12)


def test_shared_and_own_part_are_the_levels():
    mixing = split(LOW_RANK)
    assert tie("level", mixing).variance_of == (0, 1, 1, 1, 1)
    assert mixing.describe(np.array([0])) == "shared part"
    assert mixing.describe(np.arange(1, 5)) == "class-specific parts"
    assert mixing.describe(np.array([2])) == "class-specific part of 1"


@pytest.mark.parametrize(
    "given",
    [
        MATRIX,
        MATRIX.tolist(),
        FRAME,
        FRAME.iloc[::-1, [2, 0, 3, 1]],
        pd.DataFrame(np.eye(5), index=[*"abcde"], columns=[*"abcde"]) + FRAME.reindex([*"abcde"], columns=[*"abcde"]),
        lambda one, other: FRAME.loc[one, other],
    ],
    ids=["array", "lists", "frame", "frame in another order", "frame with more labels", "function"],
)
def test_every_form_gives_the_same_structure(given):
    expected = MATRIX + np.eye(4) if getattr(given, "shape", ()) == (5, 5) else MATRIX
    np.testing.assert_allclose(read_label_kernel(given, CLASSES).matrix, expected, atol=1e-12)


def test_tree_as_a_kernel_of_labels_has_the_covariance_of_the_tree():
    matrix = RAGGED.as_matrix()
    found = read_label_kernel(matrix @ matrix.T, RAGGED.classes)
    np.testing.assert_allclose(found.matrix, matrix @ matrix.T, atol=1e-12)


@pytest.mark.parametrize(
    "given, told",
    [
        (np.eye(3), r"each of the 4 classes, but has shape \(3, 3\)"),
        (np.ones(4), r"has shape \(4,\)"),
        ("similar", "a matrix of numbers"),
        (np.where(np.eye(4) > 0, np.nan, 0.0), "NaN or infinite"),
        (MATRIX + np.eye(4)[[1, 2, 3, 0]], "must be symmetric, but is"),
        (np.ones((4, 4)) - np.eye(4), "smallest eigenvalue is -1"),
        (np.zeros((4, 4)), "all its values are zero"),
        (-np.eye(4), "smallest eigenvalue is -1"),
        (FRAME.drop(index="c"), "its rows lack 'c'"),
        (FRAME.drop(columns="b"), "its columns lack 'b'"),
        (lambda one, other: one, "returns a number"),
    ],
)
def test_wrong_kernels_of_labels_are_refused(given, told):
    with pytest.raises(ValueError, match=told):
        read_label_kernel(given, CLASSES)


def test_two_classes_are_refused():
    with pytest.raises(ValueError, match="at least three classes"):
        read_label_kernel(np.eye(2), CLASSES[:2])
