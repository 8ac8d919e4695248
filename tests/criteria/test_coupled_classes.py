"""Leave-one-out where a hierarchy couples classes: refits of real data, two classes, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import load_iris, load_wine

from logikern.criteria.leave_one_out.criterion import (
    LeaveOneOut,
    LeaveOneOutPolicy,
    choose_landmarks,
    leave_out_by_landmarks,
)
from logikern.criteria.leave_one_out.expansion import ExactExpansion
from logikern.criteria.leave_one_out.refits import exact_leave_one_out
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.problem import Problem
from logikern.kernels import Gaussian
from logikern.likelihoods.softmax import Softmax
from logikern.operators.choose import Choice
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie
from tests.criteria import leaving
from tests.criteria.leaving import Setting
from tests.fitting import catalogue
from tests.structure.trees import TREES

RAGGED = Setting("matern32", "separate", "random", tree="ragged")


def fit_set(load, tying, rate, variance):
    """A problem on standardised data with the tree ((0, 1), 2), and its fit."""
    X, y = load(return_X_y=True)
    tied = tie(tying, TREES["ragged"])
    kernels = tuple(Gaussian(rate * (1 + 0.2 * number)) for number in range(tied.n_kernels))
    variances = tuple(variance * (1 + 0.3 * number) for number in range(tied.n_variances))
    points = Choice("dense", np.dtype(float), "", 1e8).points((X - X.mean(axis=0)) / X.std(axis=0))
    covariance = Specification(kernels, variances, 1.0, tied, TREES["ragged"]).bind(points)
    problem = Problem(covariance, Softmax(), from_labels(y, 3), np.ones((1, len(y))))
    return problem, Exact(1e-8).fit(problem)


def losses(problem, latent):
    return -(problem.targets * log_softmax(latent, axis=0)).sum(axis=0)


@pytest.mark.parametrize(
    "load, rate, variance, tying",
    [(load_iris, 0.02, 100.0, "level"), (load_iris, 0.3, 5.0, "separate"), (load_wine, 0.05, 10.0, "subtree")],
)
def test_losses_go_with_those_of_refitting(load, rate, variance, tying):
    problem, full = fit_set(load, tying, rate, variance)
    own = losses(problem, ExactExpansion(problem, full).leave_out())
    refitted = losses(problem, exact_leave_one_out(problem, Exact(1e-6), start=full.latent).latent)
    assert np.corrcoef(own, refitted)[0, 1] > 0.999
    assert own.mean() == pytest.approx(refitted.mean(), rel=0.02)


def test_groups_go_with_folds_of_refitting():
    problem, full = fit_set(load_iris, "level", 0.1, 10.0)
    folds = np.random.default_rng(0).integers(0, 30, 150)
    own = losses(problem, ExactExpansion(problem, full, folds).leave_out())
    refitted = losses(problem, exact_leave_one_out(problem, Exact(1e-6), folds, full.latent).latent)
    assert np.corrcoef(own, refitted)[0, 1] > 0.99


def two_coupled_classes(variances):
    """A tree never couples two classes, other mixings do."""
    case = catalogue.BY_NAME["two coupled classes"]
    options = {**case.options, "variances": variances, "weights": catalogue.weightings()[-1:]}
    return replace(case, options=options).build()


@pytest.mark.parametrize("groups", [None, np.arange(catalogue.labels().shape[1]) // 3], ids=["points", "groups"])
def test_gradient_of_two_coupled_classes_matches_differences(groups):
    def evaluate(logs):
        problem = two_coupled_classes(np.exp(logs))
        criterion = LeaveOneOut(
            problem.likelihood,
            problem.targets,
            problem.weights[0],
            Exact(1e-11),
            groups,
            policy=LeaveOneOutPolicy(missed=0.0),
        )
        return criterion.evaluate(problem.covariance, None, 1e-11)

    logs = np.log([0.5, 2.0, 3.0])
    steps = 1e-4 * np.eye(3)
    expected = [(evaluate(logs + step).value - evaluate(logs - step).value) / 2e-4 for step in steps]
    own = evaluate(logs).gradient.variances
    np.testing.assert_allclose(own, expected, atol=1e-5 * np.abs(own).max())


def test_tree_of_depth_one_is_flat():
    flat = Setting(tying="scaled", weights="zeros", grouped=True)
    tree = replace(flat, tree="of depth one")
    one, other = flat.evaluate(), tree.evaluate(reordered(tree))
    assert other.value == pytest.approx(one.value, rel=1e-10)
    order = TREES["of depth one"].leaf_latents
    np.testing.assert_allclose(other.gradient.variances[order], one.gradient.variances, rtol=1e-8)
    np.testing.assert_allclose(other.gradient.kernels, one.gradient.kernels, rtol=1e-8)
    assert other.gradient.bias_variance == pytest.approx(one.gradient.bias_variance, rel=1e-8)


def reordered(setting):
    """The variances in the order of the classes."""
    own = setting.specification()
    return replace(own, variances=tuple(np.array(own.variances)[np.argsort(own.mixing.leaf_latents)]))


def test_iterative_solver_gives_the_same_numbers():
    specification = RAGGED.specification()
    criterion = replace(RAGGED.criterion(), solver=Newton(1e-10))
    other = criterion.evaluate(RAGGED.bind(specification), None, 1e-10)
    assert other.value == pytest.approx(RAGGED.evaluate().value, rel=1e-8)
    own = specification.collect(RAGGED.evaluate().gradient)
    np.testing.assert_allclose(specification.collect(other.gradient), own, atol=1e-6 * np.abs(own).max())


def test_smooth_kernels_of_a_tree_are_left_whole():
    smooth = replace(RAGGED.specification(), kernels=(Gaussian(1e-4),) * 2)
    criterion = replace(RAGGED.criterion(), policy=LeaveOneOutPolicy(missed=1.0))
    assert criterion.evaluate(RAGGED.bind(smooth), None, 1e-8).method == "exact"


@pytest.mark.parametrize("variance", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("rate", [1e-3, 0.4, 1e3])
def test_huge_variances_give_finite_numbers(rate, variance):
    setting = Setting(tying="level", n_classes=4, tree="balanced")
    own = setting.specification()
    covariance = setting.bind(replace(own, kernels=(Gaussian(rate),), variances=(variance,) * 2))
    evaluation = replace(setting.criterion(), solver=Exact(1e-3)).evaluate(covariance, None, 1e-3)
    if evaluation.outcome.converged:
        assert np.isfinite(evaluation.value)
        assert np.isfinite(own.collect(evaluation.gradient)).all()


def test_infinite_bias_variance_is_refused():
    setting = replace(RAGGED, bias_variance=np.inf)
    with pytest.raises(ValueError, match="`bias_variance` must be finite if a hierarchy couples"):
        setting.evaluate()


def test_landmarks_are_refused():
    covariance = RAGGED.bind(RAGGED.specification())
    criterion = replace(RAGGED.criterion(), landmarks=choose_landmarks(covariance, 5))
    with pytest.raises(ValueError, match="do not support hierarchies"):
        criterion.evaluate(covariance, None, leaving.TOLERANCE)


def test_many_rows_are_refused():
    problem = RAGGED.problem()
    with pytest.raises(ValueError, match="do not support hierarchies"):
        leave_out_by_landmarks(problem, Exact(1e-9).fit(problem), 5)
