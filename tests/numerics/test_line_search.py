import numpy as np
import pytest
from scipy.special import expit

from logikern.numerics.line_search import Slope, convex_step_lengths

REDUCTION = 0.1


def logistic(centre, steepness):
    """f' = sigmoid(steepness (t - centre)) - 1/2: convex, of bounded slope, with its minimum at `centre`."""

    def slope(t):
        level = expit(steepness * (t - centre))
        return Slope(level - 0.5, steepness * level * (1 - level))

    return slope


def tail(centre, steepness):
    """A minimum where the sigmoid is still exponentially small, as for points of probability near one."""

    def slope(t):
        level = expit(steepness * (t - centre) - 7.0)
        return Slope(level - expit(-7.0), steepness * level * (1 - level))

    return slope


def exponential(centre, steepness):
    """f' = exp(steepness t) - exp(steepness centre): Newton from the right creeps."""

    def slope(t):
        level = np.exp(steepness * t)
        return Slope(level - np.exp(steepness * centre), steepness * level)

    return slope


def kink(centre, steepness):
    """|t - centre|, whose second derivative tells nothing."""
    return lambda t: Slope(np.sign(t - centre) * steepness, np.zeros_like(t))


SHAPES = (logistic, tail, exponential)


@pytest.mark.parametrize("centre", [1e-4, 1e-2, 0.3, 1.0, 2.5, 12.0])
@pytest.mark.parametrize("curvature", [1e-6, 1.0, 1e6])
def test_quadratic_is_minimised(centre, curvature):
    steps = convex_step_lengths(lambda t: Slope(curvature * (t - centre), np.full_like(t, curvature)), 1, REDUCTION)
    assert abs(steps[0] - centre) <= REDUCTION * centre


@pytest.mark.parametrize("centre", [1e-3, 0.03, 0.3, 0.9, 3.0, 10.0])
@pytest.mark.parametrize("steepness", [1.0, 20.0, 40.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_slope_falls_by_the_reduction(shape, steepness, centre):
    slope = shape(centre, steepness)
    steps = convex_step_lengths(slope, 1, REDUCTION)
    assert abs(slope(steps).first) <= REDUCTION * abs(slope(np.zeros(1)).first)


@pytest.mark.parametrize("steepness", [1e3, 1e5])
@pytest.mark.parametrize("centre", [1e-3, 0.3, 0.9, 10.0])
@pytest.mark.parametrize("shape", [logistic, tail])
def test_slope_of_a_saturated_line_falls_by_the_reduction(shape, centre, steepness):
    slope = shape(centre, steepness)
    steps = convex_step_lengths(slope, 1, REDUCTION)
    assert abs(slope(steps).first) <= REDUCTION * abs(slope(np.zeros(1)).first)


def test_kink_is_approached_from_the_side_that_descends():
    # No step settles, so what is returned must be known to descend.
    steps = convex_step_lengths(kink(0.3, 1.0), 1)
    assert 0.299 < steps[0] < 0.3


def test_too_few_evaluations_never_give_a_step_beyond_the_minimum():
    steps = convex_step_lengths(exponential(0.1, 40.0), 1, max_evaluations=2)
    assert steps[0] < 0.1


def test_a_finer_reduction_comes_closer():
    steps = convex_step_lengths(logistic(0.37, 10.0), 1, reduction=1e-8)
    np.testing.assert_allclose(steps, 0.37, rtol=1e-7)


@pytest.mark.parametrize("first", [0.0, 1.0, np.nan])
def test_step_is_zero_where_the_line_does_not_descend(first):
    steps = convex_step_lengths(lambda t: Slope(first + t, np.ones_like(t)), 1)
    assert steps[0] == 0.0


def test_step_is_bounded_where_the_line_descends_for_ever():
    steps = convex_step_lengths(lambda t: Slope(np.full_like(t, -1.0), np.zeros_like(t)), 1)
    assert 14.4 < steps[0] <= 16.0


def test_overflow_counts_as_too_far():
    steps = convex_step_lengths(
        lambda t: Slope(np.where(t > 0.2, np.nan, t - 0.1), np.where(t > 0.2, np.nan, 1.0)), 1, REDUCTION
    )
    np.testing.assert_allclose(steps, 0.1, rtol=REDUCTION)


def test_lines_are_independent():
    centres = np.array([1e-3, 0.2, 1.0, 7.0])
    together = convex_step_lengths(logistic(centres, 30.0), 4, REDUCTION)
    alone = [convex_step_lengths(logistic(centre, 30.0), 1, REDUCTION)[0] for centre in centres]
    np.testing.assert_array_equal(together, alone)


def test_newton_step_of_a_quadratic_needs_two_evaluations():
    calls = []

    def slope(t):
        calls.append(t)
        return Slope(t - 1.0, np.ones_like(t))

    convex_step_lengths(slope, 1)
    assert len(calls) == 2
