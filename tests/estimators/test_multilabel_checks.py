"""scikit-learn's own checks of the multilabel classifier; each exception has its reason.

scikit-learn skips these checks for its own estimators that take several outputs only, `ClassifierChain` and
`MultiOutputClassifier`. Without that tag both fail the first four checks that are expected to fail here, and others.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from logikern import KernelMultilabelClassifier

ONE_COLUMN = "the check expects two probabilities for a single label, and the indicator matrix has one column"
OTHER_CLASSES = "the check has a column of 1 and 2; the test below has the same with an indicator"
EXPECTED = {
    "check_classifiers_classes": "the check has a vector of names of classes, and not an indicator matrix",
    "check_classifiers_train": "the check expects a vector of classes for a single label, and not a matrix",
    "check_estimator_sparse_array": ONE_COLUMN,
    "check_estimator_sparse_matrix": ONE_COLUMN,
    "check_sample_weights_pandas_series": OTHER_CLASSES,
    "check_sample_weights_not_an_array": OTHER_CLASSES,
}


def fixed(**settings):
    return KernelMultilabelClassifier("gaussian", rate=0.5, variance=4.0, criterion=None, random_state=0, **settings)


ESTIMATORS = [
    fixed(structure="independent"),
    fixed(structure="joint"),
    fixed(structure="auto"),
    # Coupled classes are fitted by iterations; weights are compared with repeated rows in seven digits.
    fixed(structure="coupled", tol=1e-9, precision="double"),
    KernelMultilabelClassifier(structure="independent", cv=2, random_state=0),
]


@pytest.fixture
def indicators(monkeypatch):
    """Checks draw one column of two classes, which are 1 and 2 in some of them; an indicator has 0 and 1."""
    enforce = estimator_checks._enforce_estimator_tags_y

    def as_indicator(estimator, y):
        y = enforce(estimator, y)
        is_whole = np.ndim(y) == 2 and y.size and np.isfinite(y).all()
        return y - y.min() if is_whole else y

    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_y", as_indicator)


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_check(estimator, check, indicators):
    check(estimator)


def test_classes_one_and_two_are_refused_because_predictions_are_zero_and_one():
    with pytest.raises(ValueError, match="row 1 has 2 in column 0.*use KernelLogisticClassifier"):
        fixed().fit([[0.0], [1.0], [2.0]], [[1], [2], [1]])


@pytest.mark.parametrize("make", [pd.Series, estimator_checks._NotAnArray, list])
def test_weights_may_have_any_form(make):
    X, weights = np.arange(12.0).reshape(6, 2), np.array([1, 1, 2, 1, 1, 3])
    y = np.array([[0], [0], [1], [0], [1], [1]])
    found = fixed(structure="independent").fit(X, y, sample_weight=make(weights))
    expected = fixed(structure="independent").fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_sparse_inputs_are_accepted_with_an_indicator():
    X = sparse.random_array((40, 3), density=0.4, rng=np.random.default_rng(0), format="csr")
    y = (X.toarray()[:, :1] > 0).astype(int)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        model = fixed(structure="independent").fit(form(X), y)
        assert model.predict(form(X)).shape == model.predict_proba(form(X)).shape == (40, 1)
