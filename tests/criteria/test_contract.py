"""What the criterion owes at every setting: the value of separate fits, and its exact gradient."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from logikern.criteria.folds import Folds
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from tests.criteria import catalogue

every_setting = pytest.mark.parametrize("case", catalogue.ALL, ids=str)
some_settings = pytest.mark.parametrize("case", catalogue.SOME, ids=str)

# Of issue "Learned hyperparameters", first point.
RELATIVE = 1e-5


@cache
def evaluate(case):
    return catalogue.evaluate(case)


def gradient(case):
    return case.specification().collect(evaluate(case).gradient)


@cache
def separate_losses(case):
    return np.concatenate(catalogue.held_out_losses(case))


def weights_of_held_out(case):
    return np.concatenate([case.point_weights()[held_out] for _, held_out in catalogue.splits(case.splitter)])


@every_setting
def test_gradient_matches_differences_along_a_direction(case):
    own = gradient(case)
    direction = np.random.default_rng(5).standard_normal(len(own))
    direction /= np.linalg.norm(direction)
    expected = catalogue.difference(case, direction, evaluate(case).state)
    assert abs(own @ direction - expected) <= RELATIVE * np.linalg.norm(own)


@some_settings
def test_gradient_matches_differences_in_every_component(case):
    own = gradient(case)
    expected = [catalogue.difference(case, axis, evaluate(case).state) for axis in np.eye(len(own))]
    np.testing.assert_allclose(own, expected, rtol=RELATIVE, atol=RELATIVE * np.abs(own).max())


@some_settings
def test_value_is_that_of_folds_fitted_alone(case):
    expected = np.average(separate_losses(case), weights=weights_of_held_out(case))
    # A gradient of 1e-9 leaves latents that wrong, times the largest eigenvalue of the kernel.
    assert evaluate(case).value == pytest.approx(expected, rel=1e-7)


@some_settings
def test_losses_are_those_of_folds_fitted_alone(case):
    expected = separate_losses(case)[weights_of_held_out(case) > 0]
    np.testing.assert_allclose(evaluate(case).losses, expected, rtol=0, atol=1e-6)


@every_setting
def test_value_of_accurate_fits_is_the_weighted_mean_of_the_losses(case):
    weights = case.criterion().loss_weights
    assert evaluate(case).value == pytest.approx(np.average(evaluate(case).losses, weights=weights), rel=1e-8)


@some_settings
def test_value_of_rough_fits_is_corrected_to_that_of_accurate_ones(case):
    rough = catalogue.evaluate(case, Newton(1e-2), tolerance=1e-2)
    mean = np.average(rough.losses, weights=case.criterion().loss_weights)
    # The error that remains is of second order: fits of 25 points are about 1e-4 off before.
    error = abs(rough.value - evaluate(case).value)
    # A rough fit may happen to be accurate, so that nothing is left to correct.
    assert error <= 3e-5 and error < max(1e-6, abs(mean - evaluate(case).value))


@some_settings
def test_exact_solver_gives_the_same_gradient(case):
    exact = catalogue.evaluate(case, Exact(catalogue.TOLERANCE))
    np.testing.assert_allclose(
        case.specification().collect(exact.gradient), gradient(case), rtol=0, atol=1e-6 * np.abs(gradient(case)).max()
    )


@some_settings
def test_start_does_not_change_the_value(case):
    elsewhere = 3.0 * np.random.default_rng(6).standard_normal(evaluate(case).state.shape)
    moved = catalogue.evaluate(case, start=elsewhere)
    assert moved.usable and moved.value == pytest.approx(evaluate(case).value, rel=1e-7)


@every_setting
def test_losses_belong_to_the_points_held_out(case):
    weights, held_out = case.point_weights(), [held_out for _, held_out in catalogue.splits(case.splitter)]
    expected = np.concatenate([own[weights[own] > 0] for own in held_out])
    assert case.criterion().loss_points.tolist() == expected.tolist()


@pytest.mark.parametrize("case", catalogue.SOME[::9], ids=str)
def test_holding_out_every_point_three_times_changes_nothing(case):
    """Not even the temperature, which has a prior of its own."""
    once = replace(case.criterion(Exact(catalogue.TOLERANCE)), sharpen=True)
    often = replace(once, folds=Folds(*(np.tile(own, (3, 1)) for own in once.folds)))
    assert often.n_cases == pytest.approx(once.n_cases)
    (value, own), (expected, other) = (
        (found.value, case.specification().collect(found.gradient))
        for found in (one.evaluate(case.bind(case.specification()), None, 1e-9) for one in (once, often))
    )
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(own, other, rtol=1e-6, atol=1e-9)
