"""scikit-learn's own checks over what the estimator can be set to; one exception, which has its reason."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from logikern import KernelLogisticClassifier
from tests.estimators.samples import fixed

LEAVING_ONE_OUT = KernelLogisticClassifier(criterion="loo", random_state=0)
# Learned hyperparameters once, small and fast; what else can be set is the matter of the fit itself.
ESTIMATORS = [
    KernelLogisticClassifier(cv=2, random_state=0),
    LEAVING_ONE_OUT,
    fixed(bias_variance=float("inf")),
    fixed(),
    fixed("matern52", tying="scaled"),
    fixed("linear"),
    fixed(solver="newton"),
    # Two fits in sweeps agree to their tolerance, where those of Newton's method agree far below it.
    fixed(solver="smo", tol=1e-9),
    fixed(solver="kcg"),
    fixed(precision="single"),
    fixed(operator="tiled"),
    fixed(class_weight="balanced", bias_variance=0.0),
    fixed(one_vs_rest=True),
]


# The check gives folds to criteria that take them.
REPEATED = "a row of weight two is left out whole, but of a row that is there twice the other one stays"
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": REPEATED for kind in ("dense", "sparse")}


@parametrize_with_checks(
    ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED if estimator is LEAVING_ONE_OUT else {}
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
