"""scikit-learn's own checks, without exceptions, over what the estimator can be set to."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from logikern import KernelLogisticClassifier
from tests.estimators.samples import fixed

# Learned hyperparameters once, small and fast; what else can be set is the matter of the fit itself.
ESTIMATORS = [
    KernelLogisticClassifier(cv=2, random_state=0),
    fixed(),
    fixed(tying="separate"),
    fixed("matern52", tying="scaled"),
    fixed("linear"),
    fixed("polynomial"),
    fixed(solver="newton"),
    fixed(solver="exact"),
    fixed(precision="single"),
    fixed(operator="tiled"),
    fixed(class_weight="balanced", bias_variance=0.0),
    fixed(one_vs_rest=True),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
