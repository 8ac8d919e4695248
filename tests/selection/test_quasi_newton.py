"""Bounded quasi-Newton steps on functions whose minimum is known."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from logikern.selection.quasi_newton import (
    FIRST_RADIUS,
    LARGEST_RADIUS,
    SMALLEST_RADIUS,
    Trial,
    advance,
    begin,
    finished,
)

WIDE = 9.0


def rosenbrock(point):
    """Scaled so that steps of a few units matter, as for log parameters."""
    x, y = point
    return (1 - x) ** 2 + 10 * (y - x * x) ** 2, np.array([-2 * (1 - x) - 40 * x * (y - x * x), 20 * (y - x * x)])


def quadratic(scales, centre):
    def function(point):
        away = point - centre
        return 0.5 * float(scales @ away**2), scales * away

    return function


def rotated(point):
    """Condition 1e4, along no axis."""
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    hessian = turn @ np.diag([1e-2, 1.0, 10.0, 100.0]) @ turn.T
    away = point - np.array([1.0, -2.0, 0.5, 1.5])
    return 0.5 * float(away @ hessian @ away), hessian @ away


class Case(NamedTuple):
    function: object
    start: np.ndarray
    minimum: np.ndarray


CASES = {
    "rosenbrock": Case(rosenbrock, np.array([-1.2, 1.0]), np.ones(2)),
    "sphere": Case(quadratic(np.ones(3), np.full(3, 2.0)), np.zeros(3), np.full(3, 2.0)),
    "scales from 1e-2 to 1e2": Case(
        quadratic(np.logspace(-2, 2, 5), np.linspace(-3, 3, 5)), np.zeros(5), np.linspace(-3, 3, 5)
    ),
    "condition 1e4, turned": Case(rotated, np.zeros(4), np.array([1.0, -2.0, 0.5, 1.5])),
    "one parameter": Case(quadratic(np.array([1e-3]), np.array([4.0])), np.zeros(1), np.array([4.0])),
    "value in millions": Case(quadratic(np.full(2, 1e6), np.ones(2)), np.zeros(2), np.ones(2)),
}
every_case = pytest.mark.parametrize("name", CASES)


class Run(NamedTuple):
    position: object
    points: list
    radii: list
    ended: bool


def minimise(function, start, bounds=None, worth=1e-12, steps=200, usable=lambda point: True):
    """Advance until finished; all points asked for, and the bound on each step."""
    bounds = bounds or (start - WIDE, start + WIDE)
    points, radii = [start], []

    def trial(point):
        points.append(point)
        value, gradient = function(point)
        return Trial(value, gradient, True) if usable(point) else Trial(np.inf, np.zeros(len(point)), False)

    position = begin(start, Trial(*function(start), True))
    for _ in range(steps):
        if finished(position, bounds, worth):
            return Run(position, points, radii, True)
        radii.append(position.radius)
        position = advance(position, trial, bounds, worth)
    return Run(position, points, radii, False)


@every_case
def test_minimum_is_found(name):
    case = CASES[name]
    position = minimise(case.function, case.start).position
    np.testing.assert_allclose(position.point, case.minimum, atol=1e-3)


@every_case
def test_search_ends_by_itself(name):
    case = CASES[name]
    assert minimise(case.function, case.start).ended


@every_case
def test_search_is_deterministic(name):
    case = CASES[name]
    first, second = (minimise(case.function, case.start) for _ in range(2))
    assert np.array_equal(np.array(first.points), np.array(second.points))


@every_case
def test_value_belongs_to_the_point(name):
    case = CASES[name]
    position = minimise(case.function, case.start, steps=7).position
    value, gradient = case.function(position.point)
    assert position.value == value and np.array_equal(position.gradient, gradient)


@every_case
def test_accepted_values_fall(name):
    case = CASES[name]
    values = [minimise(case.function, case.start, steps=steps).position.value for steps in range(12)]
    assert (np.diff(values) <= 0).all()


@every_case
def test_trials_stay_within_the_bounds(name):
    case = CASES[name]
    low, high = case.start - 0.3, case.start + 0.7
    points = np.array(minimise(case.function, case.start, (low, high)).points)
    assert (points >= low - 1e-12).all() and (points <= high + 1e-12).all()


def test_minimum_beyond_a_bound_is_found_on_the_bound():
    function = quadratic(np.array([1.0, 50.0]), np.array([5.0, 0.5]))
    position = minimise(function, np.zeros(2), (np.full(2, -2.0), np.full(2, 2.0))).position
    np.testing.assert_allclose(position.point, [2.0, 0.5], atol=1e-3)


def test_minimum_of_coupled_parameters_on_a_bound():
    hessian = np.array([[2.0, 1.5], [1.5, 2.0]])

    def function(point):
        away = point - np.array([3.0, 0.0])
        return 0.5 * float(away @ hessian @ away), hessian @ away

    position = minimise(function, np.zeros(2), (np.full(2, -1.0), np.full(2, 1.0))).position
    # With the first at its bound of 1, the second has its minimum at 1.5 * 2 / 2, beyond its own.
    np.testing.assert_allclose(position.point, [1.0, 1.0], atol=1e-3)


@every_case
def test_no_trial_moves_a_parameter_beyond_the_radius(name):
    case = CASES[name]
    moves = []
    position = begin(case.start, Trial(*case.function(case.start), True))
    bounds = (case.start - WIDE, case.start + WIDE)

    def trial(point):
        moves.append(np.abs(point - position.point).max() / position.radius)
        return Trial(*case.function(point), True)

    for _ in range(20):
        position = advance(position, trial, bounds, 1e-12)
    assert max(moves) <= 1 + 1e-12


@pytest.mark.parametrize("steepness", [1e-8, 1.0, 1e8])
def test_first_step_is_the_first_radius_however_steep(steepness):
    function = quadratic(np.array([1.0, 0.1]) * steepness, np.full(2, 1e3))
    points = minimise(function, np.zeros(2), (np.full(2, -1e4), np.full(2, 1e4)), worth=0.0, steps=1).points
    assert np.abs(points[1] - points[0]).max() == pytest.approx(FIRST_RADIUS)


def test_radius_grows_no_further_than_its_largest():
    slope = quadratic(np.ones(2), np.full(2, 1e3))
    run = minimise(slope, np.zeros(2), (np.full(2, -1e4), np.full(2, 1e4)), steps=50)
    assert max(run.radii) == LARGEST_RADIUS


def beyond(limit):
    return lambda point: bool(point[0] < limit)


def test_unusable_trials_never_enter_the_point():
    function = quadratic(np.ones(2), np.array([5.0, 0.0]))
    position = minimise(function, np.zeros(2), usable=beyond(1.7)).position
    assert position.point[0] < 1.7 and position.value == function(position.point)[0]


def test_unusable_trial_shrinks_the_radius():
    position = begin(np.zeros(2), Trial(1.0, np.array([1.0, 0.0]), True))
    bounds = (np.full(2, -WIDE), np.full(2, WIDE))
    failed = advance(position, lambda point: Trial(np.inf, np.zeros(2), False), bounds, 1e-3)
    assert failed.radius == pytest.approx(0.25 * position.radius)


def test_unusable_trial_changes_nothing_but_the_radius():
    position = begin(np.zeros(2), Trial(1.0, np.array([1.0, 0.5]), True))
    bounds = (np.full(2, -WIDE), np.full(2, WIDE))
    failed = advance(position, lambda point: Trial(np.nan, np.full(2, np.nan), False), bounds, 1e-3)
    assert replace(failed, radius=position.radius).__dict__ == position.__dict__


def test_search_goes_on_after_an_unusable_trial():
    function = quadratic(np.ones(2), np.array([1.5, 0.3]))
    # Only the overshooting trials fail.
    position = minimise(function, np.zeros(2), usable=beyond(1.6)).position
    np.testing.assert_allclose(position.point, [1.5, 0.3], atol=1e-3)


def test_search_ends_where_every_trial_is_unusable():
    run = minimise(quadratic(np.ones(2), np.ones(2)), np.zeros(2), usable=lambda point: False)
    assert run.ended and len(run.radii) <= np.ceil(np.log(FIRST_RADIUS / SMALLEST_RADIUS) / np.log(4)) + 1


def test_trial_that_rises_is_not_accepted():
    position = begin(np.zeros(1), Trial(1.0, np.array([1.0]), True))
    bounds = (np.full(1, -WIDE), np.full(1, WIDE))
    risen = advance(position, lambda point: Trial(2.0, np.array([-5.0]), True), bounds, 1e-3)
    assert risen.point == 0.0 and risen.value == 1.0


def test_trial_that_rises_shrinks_the_radius():
    position = begin(np.zeros(1), Trial(1.0, np.array([1.0]), True))
    bounds = (np.full(1, -WIDE), np.full(1, WIDE))
    risen = advance(position, lambda point: Trial(2.0, np.array([-5.0]), True), bounds, 1e-3)
    # The parabola through 1, slope -1 and 2 has its minimum at a quarter of the step.
    assert risen.radius == pytest.approx(0.25)


def test_trial_that_brings_nothing_is_not_accepted():
    position = begin(np.zeros(1), Trial(1.0, np.array([1.0]), True))
    bounds = (np.full(1, -WIDE), np.full(1, WIDE))
    level = advance(position, lambda point: Trial(1.0, np.array([0.1]), True), bounds, 1e-3)
    assert level.point == 0.0


def test_first_step_measures_the_curvature():
    case = quadratic(np.full(3, 7.0), np.array([5.0, 1.0, -2.0]))
    position = begin(np.zeros(3), Trial(*case(np.zeros(3)), True))
    position = advance(position, lambda point: Trial(*case(point), True), (np.full(3, -WIDE), np.full(3, WIDE)), 1e-9)
    np.testing.assert_allclose(position.inverse_hessian, np.eye(3) / 7, rtol=0, atol=1e-12)


def test_search_is_over_at_the_minimum():
    position = begin(np.zeros(2), Trial(1.0, np.zeros(2), True))
    assert finished(position, (np.full(2, -WIDE), np.full(2, WIDE)), 1e-3)


def test_search_is_over_where_all_slopes_lead_out_of_bounds():
    position = begin(np.zeros(2), Trial(1.0, np.array([3.0, -2.0]), True))
    assert finished(position, (np.array([0.0, -1.0]), np.array([1.0, 0.0])), 1e-3)


def test_search_is_over_after_two_small_steps():
    # A slow but endless descent, whose steps promise more than they bring.
    position = begin(np.zeros(1), Trial(1.0, np.array([1.0]), True))
    bounds = (np.full(1, -WIDE), np.full(1, WIDE))
    for _ in range(2):
        assert not finished(position, bounds, 1e-2)
        value = position.value - 2e-3
        position = advance(position, lambda point, value=value: Trial(value, np.array([1.0]), True), bounds, 1e-2)
    assert finished(position, bounds, 1e-2)


def test_large_step_between_small_ones_lets_the_search_go_on():
    position = begin(np.zeros(1), Trial(1.0, np.array([1.0]), True))
    bounds = (np.full(1, -WIDE), np.full(1, WIDE))
    for decrease in (2e-3, 0.3, 2e-3):
        value = position.value - decrease
        position = advance(position, lambda point, value=value: Trial(value, np.array([1.0]), True), bounds, 1e-2)
    assert not finished(position, bounds, 1e-2)


def test_nothing_to_learn_is_over_at_once():
    position = begin(np.zeros(0), Trial(1.0, np.zeros(0), True))
    assert finished(position, (np.zeros(0), np.zeros(0)), 1e-3)
