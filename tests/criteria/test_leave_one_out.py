"""What the leave-one-out criterion owes at every setting, and what is special to it."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from logikern.criteria.leave_one_out import expansion
from logikern.criteria.leave_one_out.criterion import LeaveOneOut, LeaveOneOutPolicy
from logikern.criteria.leave_one_out.expansion import ExactExpansion
from logikern.criteria.leave_one_out.posterior import ExactPosterior, PosteriorPolicy
from logikern.criteria.leave_one_out.refits import exact_leave_one_out
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.problem import Problem
from logikern.kernels import Gaussian
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Outcome
from logikern.operators.choose import Choice
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie
from tests.criteria import leaving
from tests.criteria.leaving import Setting

every_setting = pytest.mark.parametrize("setting", leaving.ALL, ids=str)
some_settings = pytest.mark.parametrize("setting", leaving.ALL[::7], ids=str)
SQUARED = [setting for setting in leaving.ALL if setting.likelihood == "squared"]
# Of issue "Leave-one-out in one fit", second point.
RELATIVE = 1e-5


@cache
def evaluate(setting):
    return setting.evaluate()


def gradient(setting):
    return setting.specification().collect(evaluate(setting).gradient)


def losses_of_refits(setting):
    """Losses of the points with weights, from fits without them."""
    problem, criterion = setting.problem(), setting.criterion()
    refits = exact_leave_one_out(problem, setting.solver(), setting.groups())
    assert refits.outcome is Outcome.CONVERGED
    return criterion.likelihood.losses(refits.latent[None], criterion.targets)[0][criterion.weights > 0]


@every_setting
def test_gradient_matches_differences_along_a_direction(setting):
    own = gradient(setting)
    direction = np.random.default_rng(5).standard_normal(len(own))
    direction /= np.linalg.norm(direction)
    expected = setting.difference(direction, evaluate(setting).state)
    assert abs(own @ direction - expected) <= RELATIVE * np.linalg.norm(own)


@some_settings
def test_gradient_matches_differences_in_every_component(setting):
    own = gradient(setting)
    expected = [setting.difference(axis, evaluate(setting).state) for axis in np.eye(len(own))]
    np.testing.assert_allclose(own, expected, rtol=RELATIVE, atol=RELATIVE * np.abs(own).max())


@every_setting
def test_value_is_the_weighted_mean_of_the_losses(setting):
    weights = setting.criterion().loss_weights
    assert evaluate(setting).value == pytest.approx(np.average(evaluate(setting).losses, weights=weights), rel=1e-13)


@some_settings
def test_start_does_not_change_the_value(setting):
    elsewhere = np.random.default_rng(6).standard_normal(evaluate(setting).state.shape)
    moved = setting.evaluate(start=elsewhere)
    assert moved.usable and moved.value == pytest.approx(evaluate(setting).value, rel=1e-8)


@pytest.mark.parametrize("safe", [0.02, 1e3])
@some_settings
def test_products_stand_in_for_divisions_by_the_curvature(setting, safe, monkeypatch):
    policy = PosteriorPolicy(safe_curvature=safe)
    monkeypatch.setattr(expansion, "ExactPosterior", partial(ExactPosterior, policy=policy))
    other = setting.evaluate()
    assert other.value == pytest.approx(evaluate(setting).value, rel=1e-10)
    own = gradient(setting)
    np.testing.assert_allclose(setting.specification().collect(other.gradient), own, atol=1e-9 * np.abs(own).max())


@pytest.mark.parametrize("setting", SQUARED, ids=str)
def test_squared_loss_is_that_of_refitting(setting):
    np.testing.assert_allclose(evaluate(setting).losses, losses_of_refits(setting), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("setting", [own for own in leaving.ALL if np.isfinite(own.bias_variance)][::7], ids=str)
def test_latents_are_those_of_one_newton_step_without_the_group(setting):
    problem = setting.problem()
    full = setting.solver().fit(problem)
    own = ExactExpansion(problem, full, setting.groups()).leave_out()
    np.testing.assert_allclose(centre(own, setting), centre(newton_steps(problem, full, setting), setting), atol=1e-9)


def centre(latent, setting):
    """What the likelihood sees of latents."""
    return latent - latent.mean(axis=0) if setting.likelihood == "softmax" else latent


def newton_steps(problem, full, setting):
    """u - K (I + W K)^-1 alpha_g with W zero at the group, from dense algebra, (C, n)."""
    _, n_classes, n = problem.shape
    dense = problem.covariance.matmul(np.eye(n_classes * n).reshape(-1, n_classes, n)).reshape(n_classes * n, -1)
    groups = np.arange(n) if setting.groups() is None else setting.groups()
    latent = full.latent[0].copy()
    for group in np.unique(groups):
        inside = groups == group
        weights = np.where(inside, 0.0, problem.weights)
        curvature = problem.likelihood.expand(full.latent, problem.targets, weights).curvature
        units = np.eye(n_classes * n).reshape(-1, n_classes, n)
        whole = np.zeros(len(units), dtype=int)
        dense_curvature = (
            curvature.take_members(whole)
            .root(curvature.take_members(whole).root_adjoint(units))
            .reshape(len(units), -1)
        )
        alone = np.where(inside, full.dual[0], 0.0).ravel()
        step = dense @ np.linalg.solve(np.eye(len(dense)) + dense_curvature @ dense, alone)
        latent[:, inside] -= step.reshape(n_classes, n)[:, inside]
    return latent


def fit_set(load, tying, rate, variance):
    """A problem on standardised data, and its fit."""
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    mixing = Flat(int(y.max()) + 1)
    tying = tie(tying, mixing)
    kernels = tuple(Gaussian(rate * (1 + 0.2 * number)) for number in range(tying.n_kernels))
    variances = tuple(variance * (1 + 0.3 * number) for number in range(tying.n_variances))
    covariance = Specification(kernels, variances, 1.0, tying, mixing).bind(
        Choice("dense", np.dtype(float), "", 1e8).points(X)
    )
    problem = Problem(covariance, Softmax(), from_labels(y, y.max() + 1), np.ones((1, len(y))))
    return problem, Exact(1e-8).fit(problem)


def losses(problem, latent):
    return -(problem.targets * log_softmax(latent, axis=0)).sum(axis=0)


@pytest.mark.parametrize("tying", ["shared", "scaled", "separate"])
@pytest.mark.parametrize(
    "load, rate, variance", [(load_iris, 0.02, 300.0), (load_iris, 0.3, 5.0), (load_wine, 0.05, 10.0)]
)
def test_losses_go_with_those_of_refitting(load, rate, variance, tying):
    problem, full = fit_set(load, tying, rate, variance)
    own = losses(problem, ExactExpansion(problem, full).leave_out())
    refitted = losses(problem, exact_leave_one_out(problem, Exact(1e-6), start=full.latent).latent)
    assert np.corrcoef(own, refitted)[0, 1] > 0.999
    assert own.mean() == pytest.approx(refitted.mean(), rel=0.02)


@pytest.mark.parametrize("tying", ["shared", "separate"])
def test_losses_of_two_classes_go_with_those_of_refitting(tying):
    problem, full = fit_set(lambda return_X_y: _some(load_breast_cancer, 120), tying, 0.02, 10.0)
    own = losses(problem, ExactExpansion(problem, full).leave_out())
    refitted = losses(problem, exact_leave_one_out(problem, Exact(1e-6), start=full.latent).latent)
    assert np.corrcoef(own, refitted)[0, 1] > 0.999


def _some(load, n):
    X, y = load(return_X_y=True)
    return X[:n], y[:n]


def test_groups_go_with_folds_of_refitting():
    problem, full = fit_set(load_iris, "shared", 0.1, 30.0)
    folds = np.random.default_rng(0).integers(0, 10, 150)
    own = losses(problem, ExactExpansion(problem, full, folds).leave_out())
    refitted = losses(problem, exact_leave_one_out(problem, Exact(1e-6), folds, full.latent).latent)
    assert np.corrcoef(own, refitted)[0, 1] > 0.99


def test_groups_of_one_are_points():
    alone = Setting(tying="separate", weights="random")
    permuted = replace(alone.criterion(), groups=np.random.default_rng(0).permutation(leaving.N))
    other = permuted.evaluate(alone.bind(alone.specification()), None, leaving.TOLERANCE)
    assert other.value == pytest.approx(evaluate(alone).value, rel=1e-12)
    np.testing.assert_allclose(alone.specification().collect(other.gradient), gradient(alone), rtol=1e-9)


def test_points_without_weight_are_predictions():
    setting = Setting(weights="zeros", n_classes=2)
    problem = setting.problem()
    full = Exact(1e-12).fit(problem)
    without = problem.weights[0] == 0
    own = ExactExpansion(problem, full).leave_out()
    assert without.any()
    np.testing.assert_array_equal(own[:, without], full.latent[0][:, without])


def test_points_without_weight_change_nothing():
    setting = Setting(weights="zeros")
    criterion, covariance = setting.criterion(), setting.bind(setting.specification())
    changed = np.where(criterion.weights == 0, np.roll(criterion.targets, 1, axis=0), criterion.targets)
    other = replace(criterion, targets=changed).evaluate(covariance, None, leaving.TOLERANCE)
    assert other.value == evaluate(setting).value
    np.testing.assert_array_equal(setting.specification().collect(other.gradient), gradient(setting))


def repeated(n_times, weights):
    """Each of some points several times: grouped with their copies, they are one point of more weight."""
    setting = Setting("matern52")
    X = np.repeat(setting.bind(setting.specification()).operators[0].X, n_times, axis=0)
    covariance = setting.specification().bind(Choice("dense", np.dtype(float), "", 1e8).points(X))
    targets = np.repeat(setting.criterion().targets, n_times, axis=1)
    groups = np.repeat(np.arange(leaving.N), n_times)
    criterion = LeaveOneOut(
        Softmax(),
        targets,
        np.full(len(groups), weights),
        leaving.SOLVER,
        groups,
        policy=LeaveOneOutPolicy(missed=0.0),
    )
    return criterion.evaluate(covariance, None, leaving.TOLERANCE)


def test_copies_left_out_together_are_one_point_of_their_weight():
    once, thrice = repeated(1, 3.0), repeated(3, 1.0)
    assert thrice.value == pytest.approx(once.value, rel=1e-9)
    own, other = (Setting("matern52").specification().collect(part.gradient) for part in (once, thrice))
    np.testing.assert_allclose(other, own, atol=1e-8 * np.abs(own).max())


def test_unfinished_fit_is_not_usable():
    setting = Setting()
    short = replace(setting.criterion(), solver=Exact(1e-9, Budget(newton=1)))
    evaluation = short.evaluate(setting.bind(setting.specification()), None, 1e-9)
    assert evaluation.outcome is Outcome.OUT_OF_STEPS and not evaluation.usable and evaluation.state.size == 0


def test_iterative_solver_gives_the_same_numbers():
    setting = Setting("matern32", "separate")
    other = replace(setting.criterion(), solver=Newton(1e-10)).evaluate(
        setting.bind(setting.specification()), None, 1e-10
    )
    assert other.value == pytest.approx(evaluate(setting).value, rel=1e-8)
    own = gradient(setting)
    np.testing.assert_allclose(setting.specification().collect(other.gradient), own, atol=1e-6 * np.abs(own).max())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("variance", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("rate", [1e-3, 0.4, 1e3])
def test_huge_variances_give_finite_numbers(rate, variance, n_classes):
    setting = Setting(tying="scaled", n_classes=n_classes)
    own = setting.specification()
    covariance = setting.bind(replace(own, kernels=(Gaussian(rate),), variances=(variance,) * n_classes))
    evaluation = replace(setting.criterion(), solver=Exact(1e-3)).evaluate(covariance, None, 1e-3)
    if evaluation.outcome.converged:
        assert np.isfinite(evaluation.value)
        assert np.isfinite(own.collect(evaluation.gradient)).all()
