"""The criterion of numbers: the minimum of the squared error, in units of a log likelihood."""

from functools import cache

import numpy as np
import pytest

from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.leave_one_out.criterion import LeaveOneOut, LeaveOneOutPolicy
from logikern.criteria.noise import ProfiledNoise, unexplained
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.likelihoods.squared import Squared
from logikern.numerics.outcome import Outcome
from tests.criteria import catalogue, leaving

SETTINGS = tuple(setting for setting in leaving.ALL if setting.likelihood == "squared" and not setting.tree)
every_setting = pytest.mark.parametrize("setting", SETTINGS, ids=str)


def criterion(setting):
    return ProfiledNoise(setting.criterion(), setting.n_classes)


def value_at(setting, log_parameters):
    specification = setting.specification().with_log_parameters(log_parameters)
    return criterion(setting).evaluate(setting.bind(specification), None, leaving.TOLERANCE).value


@cache
def evaluate(setting):
    return criterion(setting).evaluate(setting.bind(setting.specification()), None, leaving.TOLERANCE)


@every_setting
def test_gradient_matches_differences(setting):
    at = setting.specification().log_parameters
    own = setting.specification().collect(evaluate(setting).gradient)
    direction = np.random.default_rng(5).standard_normal(len(at))
    high, low = (value_at(setting, at + step * direction) for step in (1e-4, -1e-4))
    assert own @ direction == pytest.approx((high - low) / 2e-4, rel=1e-5, abs=1e-5 * np.linalg.norm(own))


@every_setting
def test_value_is_the_weighted_mean_of_the_losses(setting):
    own = evaluate(setting)
    assert own.value == pytest.approx(np.average(own.losses, weights=criterion(setting).loss_weights), rel=1e-12)


@every_setting
def test_value_tells_the_mean_squared_error(setting):
    losses = setting.criterion().evaluate(setting.bind(setting.specification()), None, leaving.TOLERANCE).value
    expected = 2.0 * losses / setting.n_classes
    assert unexplained(evaluate(setting).value, setting.n_classes) == pytest.approx(expected, rel=1e-6)


def test_scale_of_the_targets_moves_the_value_alone():
    setting = SETTINGS[0]
    inner = setting.criterion()
    scaled = LeaveOneOut(
        Squared(),
        7.0 * inner.targets,
        inner.weights,
        leaving.SOLVER,
        inner.groups,
        policy=LeaveOneOutPolicy(missed=0.0),
    )
    other = ProfiledNoise(scaled, setting.n_classes).evaluate(
        setting.bind(setting.specification()), None, leaving.TOLERANCE
    )
    own = evaluate(setting)
    # What is added to the noise keeps its size.
    assert other.value - own.value == pytest.approx(setting.n_classes * np.log(7.0), rel=1e-6)
    collect = setting.specification().collect
    np.testing.assert_allclose(collect(other.gradient), collect(own.gradient), rtol=1e-6)


def test_folds_are_judged_likewise():
    case = catalogue.Case()
    targets = np.random.default_rng(7).standard_normal((3, catalogue.N_POINTS))
    folds = CrossValidation(Squared(), targets, case.folds(), Exact(1e-11))
    covariance = case.bind(case.specification())
    plain, own = (one.evaluate(covariance, None, 1e-11) for one in (folds, ProfiledNoise(folds, 3)))
    assert own.value == pytest.approx(1.5 * np.log(2.0 * plain.value / 3), rel=1e-6)


def test_unfinished_fit_is_not_usable():
    setting = SETTINGS[0]
    inner = setting.criterion()
    short = LeaveOneOut(
        Squared(), inner.targets, inner.weights, Exact(1e-9, Budget(newton=0)), policy=LeaveOneOutPolicy(missed=0.0)
    )
    found = ProfiledNoise(short, 1).evaluate(setting.bind(setting.specification()), None, 1e-9)
    assert not found.usable and found.outcome is Outcome.OUT_OF_STEPS
