"""scikit-learn's own checks over what the regressor can be set to, without an exception."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from logikern import KernelRegressor
from tests.estimators.numbers import fixed

ESTIMATORS = [
    KernelRegressor(random_state=0),
    KernelRegressor(criterion="cv", cv=2, random_state=0),
    KernelRegressor("matern32", tying="auto", random_state=0),
    fixed(),
    fixed("linear"),
    fixed("polynomial"),
    fixed(bias_variance=0.0),
    fixed(bias_variance=float("inf")),
    fixed(solver="newton"),
    fixed(solver="exact"),
    # Weights are compared with repeated rows in seven digits.
    fixed(solver="kcg", tol=1e-9),
    fixed(precision="single"),
    fixed(operator="tiled", solver="newton"),
    fixed("matern52", tying="separate"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
