"""What is special to the cross-validation likelihood."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from logikern.criteria import cross_validation
from logikern.criteria.base import unusable
from logikern.criteria.cross_validation import CrossValidation
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.kernels import Gaussian
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Outcome
from logikern.selection.search import Effort
from tests.criteria import catalogue
from tests.criteria.catalogue import Case

EFFORT = Effort()
# Every kernel with every tying, with and without weights.
MODERATE = [
    Case(kernel, tying, ("none", "random")[place % 2], n=100)
    for place, (kernel, tying) in enumerate(product(catalogue.KERNELS, catalogue.TYINGS))
]
SOFT = Case("matern32", "separate", "random", "overlapping", soft=True)


def collect(case, evaluation):
    return case.specification().collect(evaluation.gradient)


@pytest.mark.parametrize("weights", catalogue.WEIGHTS)
def test_linear_kernel_scores_like_logistic_regression(weights):
    case = Case("linear", weights=weights, n=60)
    specification, own = case.specification(), case.point_weights()
    # A prior variance is a scale of features under a unit ridge; the constant is one feature more.
    features = np.hstack([specification.variances[0] ** 0.5 * catalogue.points(60), np.full((60, 1), 1.7**0.5)])
    y, losses = catalogue.labels(60), 0.0
    for kept, held_out in catalogue.splits("stratified", 60):
        model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000)
        model.fit(features[kept], y[kept], sample_weight=own[kept])
        losses += log_loss(y[held_out], model.predict_proba(features[held_out]), sample_weight=own[held_out]) * (
            own[held_out].sum()
        )
    assert catalogue.evaluate(case).value == pytest.approx(losses / own.sum(), rel=1e-6)


def test_gradient_of_soft_targets_matches_differences():
    evaluation = catalogue.evaluate(SOFT)
    own = collect(SOFT, evaluation)
    expected = [catalogue.difference(SOFT, axis, evaluation.state) for axis in np.eye(len(own))]
    np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-5 * np.abs(own).max())


def test_value_of_soft_targets_is_that_of_folds_fitted_alone():
    weights = np.concatenate([SOFT.point_weights()[held_out] for _, held_out in catalogue.splits("overlapping")])
    expected = np.average(np.concatenate(catalogue.held_out_losses(SOFT)), weights=weights)
    assert catalogue.evaluate(SOFT).value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("case", MODERATE, ids=str)
def test_tolerance_of_a_solver_keeps_the_gradient_to_a_thousandth(case):
    tolerance = Newton().tolerance
    rough = collect(case, catalogue.evaluate(case, Newton(tolerance), tolerance=tolerance, dtype=np.float32))
    exact = collect(case, catalogue.evaluate(case, Exact(1e-9)))
    assert np.abs(rough - exact).max() <= 1e-3 * np.abs(exact).max()


@pytest.mark.parametrize("tolerance", [EFFORT.first_tolerance, EFFORT.last_tolerance])
@pytest.mark.parametrize("case", MODERATE[::5], ids=str)
def test_tolerances_of_a_search_keep_the_direction_of_the_gradient(case, tolerance):
    rough = collect(case, catalogue.evaluate(case, Newton(tolerance), tolerance=tolerance, dtype=np.float32))
    exact = collect(case, catalogue.evaluate(case, Exact(1e-9)))
    assert rough @ exact >= 0.99 * np.linalg.norm(rough) * np.linalg.norm(exact)


def test_bias_variance_of_zero_has_no_gradient():
    case = Case(bias_variance=0.0)
    assert collect(case, catalogue.evaluate(case))[-1] == 0.0


def test_gradient_without_bias_matches_differences():
    case = Case("rational quadratic", "scaled", bias_variance=0.0)
    evaluation = catalogue.evaluate(case)
    own = collect(case, evaluation)
    expected = [catalogue.difference(case, axis, evaluation.state) for axis in np.eye(len(own))]
    np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-5 * np.abs(own).max())


def test_weights_all_doubled_in_held_out_losses_only_change_nothing():
    case = Case(weights="random")
    folds = case.folds()
    twice = replace(case.criterion(), folds=folds._replace(held_out=2 * folds.held_out))
    doubled = twice.evaluate(case.bind(case.specification()), None, catalogue.TOLERANCE)
    single = catalogue.evaluate(case)
    assert doubled.value == pytest.approx(single.value, rel=1e-12)
    np.testing.assert_allclose(collect(case, doubled), collect(case, single), rtol=1e-6)


def test_labels_of_held_out_points_do_not_reach_their_fold():
    case = Case(splitter="overlapping")
    kept, held_out = catalogue.splits("overlapping")[0]
    targets = case.targets()
    changed = targets.copy()
    changed[:, held_out] = np.roll(targets[:, held_out], 1, axis=0)
    first, second = (
        replace(case.criterion(), targets=own).evaluate(case.bind(case.specification()), None, 1e-9)
        for own in (targets, changed)
    )
    np.testing.assert_allclose(second.state[0], first.state[0], rtol=0, atol=1e-7)


def test_points_used_for_nothing_change_nothing():
    case = Case(splitter="leave some out")
    (kept, held_out), *_ = catalogue.splits("leave some out")
    unused = np.setdiff1d(np.arange(catalogue.N_POINTS), np.concatenate([kept, held_out]))
    changed = case.targets()
    changed[:, unused] = np.roll(changed[:, unused], 1, axis=0)
    one = replace(case.criterion(), folds=type(case.folds())(*(part[:1] for part in case.folds())))
    other = replace(one, targets=changed)
    values = [criterion.evaluate(case.bind(case.specification()), None, 1e-9).value for criterion in (one, other)]
    assert unused.size and values[0] == values[1]


def test_solver_tolerance_is_the_loosest():
    case = Case(n=60)
    loose = catalogue.evaluate(case, Newton(1e-9), tolerance=1.0)
    assert loose.value == pytest.approx(catalogue.evaluate(case, Exact(1e-9)).value, rel=1e-8)


def test_tolerance_of_an_evaluation_tightens_the_solver():
    case = Case(n=60)
    tight = catalogue.evaluate(case, Newton(1.0), tolerance=1e-9)
    assert tight.value == pytest.approx(catalogue.evaluate(case, Exact(1e-9)).value, rel=1e-8)


def fail():
    """An evaluation without the steps that it needs."""
    return catalogue.evaluate(Case(), Newton(1e-9, Budget(newton=1)))


def test_unfinished_fits_are_not_usable():
    assert not fail().usable


def test_unfinished_fits_tell_their_outcome():
    assert fail().outcome is Outcome.OUT_OF_STEPS


def test_unfinished_fits_have_no_value():
    assert fail().value == np.inf


def test_unfinished_fits_leave_no_state():
    assert fail().state.size == 0


def test_unfinished_fits_count_their_products():
    assert fail().n_products > 0


def test_one_unfinished_fold_spoils_the_evaluation():
    case = Case()
    folds = case.folds()
    # The second fold keeps no point, so that it needs no step; the first one has none to take.
    kept = folds.kept * np.array([[1.0], [0.0], [0.0]])
    criterion = CrossValidation(Softmax(), case.targets(), folds._replace(kept=kept), Newton(1e-9, Budget(newton=1)))
    assert not criterion.evaluate(case.bind(case.specification()), None, 1e-9).usable


@pytest.mark.parametrize("solver", [Newton(1e-9), Exact(1e-9)], ids=["newton", "exact"])
def test_kernel_without_numbers_is_not_usable(solver):
    case = Case()
    covariance = case.bind(case.specification())
    matrix = np.full((catalogue.N_POINTS, catalogue.N_POINTS), np.nan)
    broken = replace(covariance, operators=(replace(covariance.operators[0], matrix=matrix),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = case.criterion(solver).evaluate(broken, None, 1e-9)
    assert not evaluation.usable and evaluation.state.size == 0


def test_value_that_is_no_number_is_not_usable():
    assert not unusable(Outcome.CONVERGED, 0).usable


def test_gradient_whose_solve_did_not_end_is_not_usable():
    case = Case(n=60)
    specification = replace(case.specification(), kernels=(Gaussian(0.01),), variances=(100.0,))
    state = catalogue.evaluate(case, Newton(1e-6), specification, tolerance=1e-6).state
    # From the solution itself the fits need no step, but the gradient needs a solve of its own.
    evaluation = catalogue.evaluate(case, Newton(1e-6, Budget(direction=1)), specification, state, tolerance=1e-6)
    assert evaluation.outcome is Outcome.OUT_OF_PRODUCTS


def test_products_do_not_grow_with_the_number_of_hyperparameters():
    one, many = (Case(kernel, n=60) for kernel in ("gaussian", "rates of inputs"))
    specification = replace(many.specification(), kernels=(Gaussian((0.4,) * 3),))
    products = catalogue.evaluate(many, specification=specification).n_products
    assert products == catalogue.evaluate(one).n_products


def test_mean_dual_predicts_the_mean_of_the_fits():
    case = Case("gaussian", "separate", "random", n=60)
    evaluation, covariance = catalogue.evaluate(case), case.bind(case.specification())
    np.testing.assert_allclose(covariance.matmul(evaluation.dual[None])[0], evaluation.state.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("case", [SOFT, Case("gaussian", "shared", n=60)])
def test_threads_that_share_folds_find_the_same(case, monkeypatch):
    together = catalogue.evaluate(case)
    monkeypatch.setattr(cross_validation, "THREADED_ENTRIES", 0)
    monkeypatch.setattr(cross_validation, "even_slices", lambda length: [slice(0, 2), slice(2, length)])
    shared = catalogue.evaluate(case)
    assert shared.value == pytest.approx(together.value, rel=1e-8)
    np.testing.assert_allclose(collect(case, shared), collect(case, together), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(shared.state, together.state, atol=1e-5)


def test_one_start_serves_all_folds():
    case = Case("gaussian", "shared", n=60)
    cold = catalogue.evaluate(case)
    warm = catalogue.evaluate(case, start=cold.state.mean(axis=0)[None])
    assert warm.value == pytest.approx(cold.value, rel=1e-7)
