"""Label sets that share the functions of their labels."""

import itertools

import numpy as np
import pytest

from logikern import KernelLogisticClassifier
from logikern.structure.loadings import LabelLoadings
from logikern.structure.tying import tie

ALL_SETS = np.array(list(itertools.product([False, True], repeat=2)))
X = np.random.default_rng(0).standard_normal((60, 2))
NEW = np.random.default_rng(1).standard_normal((20, 2))
Y = X + 0.8 * np.random.default_rng(2).logistic(size=X.shape) > 0
SETS = Y @ [2, 1]
FIXED = {"kernel": "gaussian", "rate": 0.7, "criterion": None, "tol": 1e-10, "precision": "double"}


def loaded(of_labels, of_sets, **settings):
    own = {"hierarchy": LabelLoadings(ALL_SETS), "tying": "level", "variance": [of_labels, of_sets]}
    return KernelLogisticClassifier(**FIXED | own | settings).fit(X, SETS).predict_proba(NEW)


def test_covariance_of_two_sets_counts_the_labels_on_which_they_agree():
    matrix = LabelLoadings(ALL_SETS).as_matrix()
    signs = np.where(ALL_SETS, 1.0, -1.0)
    np.testing.assert_allclose(matrix @ matrix.T, 0.5 * signs @ signs.T + np.eye(4), atol=1e-15)


def test_without_functions_of_sets_labels_are_independent():
    # Constants belong to sets, so there are none.
    found = loaded(3.0, 1e-12, bias_variance=0.0)
    single = KernelLogisticClassifier(**FIXED, variance=3.0, bias_variance=0.0)
    present = np.stack([single.fit(X, own).predict_proba(NEW)[:, 1] for own in Y.T], axis=1)
    expected = np.where(ALL_SETS, present[:, None], 1.0 - present[:, None]).prod(axis=2)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_without_functions_of_labels_sets_share_nothing():
    expected = KernelLogisticClassifier(**FIXED, variance=3.0).fit(X, SETS).predict_proba(NEW)
    np.testing.assert_allclose(loaded(1e-12, 3.0), expected, atol=1e-8)


@pytest.mark.parametrize(
    "members, told",
    [([0, 1], "labels"), ([2, 3, 4, 5], "label sets"), ([3], "label set 1"), ([2, 4], "label set 0, 2")],
)
def test_groups_of_functions_are_told_in_words(members, told):
    assert LabelLoadings(ALL_SETS).describe(np.array(members)) == told


def test_functions_of_labels_and_of_sets_are_the_levels():
    mixing = LabelLoadings(ALL_SETS)
    assert tie("level", mixing).variance_of == (0, 0, 1, 1, 1, 1)
    assert tie("leaf", mixing).variance_of == (0, 0, 1, 2, 3, 4)
    assert tie("separate", mixing).kernel_of == (0, 0, 1, 1, 1, 1)
