"""scikit-learn's own checks of the multilabel classifier; each exception has its reason."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from logikern import KernelMultilabelClassifier

OTHER_CLASSES = "the check has one column of two classes that are not 0 and 1"
ONE_COLUMN = "the check expects a vector of classes for a single label, and not an indicator matrix"
EXPECTED = {
    "check_estimators_dtypes": OTHER_CLASSES,
    "check_sample_weights_pandas_series": OTHER_CLASSES,
    "check_sample_weights_not_an_array": OTHER_CLASSES,
    "check_sample_weights_shape": OTHER_CLASSES,
    "check_sample_weights_not_overwritten": OTHER_CLASSES,
    "check_estimator_sparse_array": OTHER_CLASSES,
    "check_estimator_sparse_matrix": OTHER_CLASSES,
    "check_classifier_data_not_an_array": OTHER_CLASSES,
    "check_classifiers_classes": OTHER_CLASSES,
    "check_classifiers_train": ONE_COLUMN,
    "check_classifier_not_supporting_multiclass": "the check expects the error of a binary classifier",
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


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_check(estimator, check):
    check(estimator)
