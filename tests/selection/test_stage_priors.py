"""A stage gains by what sets it apart from the coarser one, not by its prior."""

import numpy as np
import pytest

from logikern.selection.growth import _Growth
from logikern.selection.inheritance import trace_parameters
from logikern.selection.policy import USUAL
from logikern.selection.refinement import with_relevance
from tests.selection.samples import EXACT, Bowl, first_model, grow_on, log, plan, rung, start


def grow(log_variance, names=("shared", "scaled"), **settings):
    """With so few cases that the prior holds the first model far from the minimum of the criterion."""
    criterion = Bowl(log_variance=np.array(log_variance), n_points=1)
    own_plan = plan(*names, compare=False, **settings)
    return grow_on([rung(criterion)], own_plan)


def mean_gain():
    """The prior of the mean follows the model before, which frees it a little.

    The first mean minimises 3 (mean - 3)^2 + (mean / s)^2, the second 3 (mean - 3)^2 + ((mean - first) / g)^2.
    """
    shortfall = 3.0 / (1.0 + 3.0 * USUAL.variance_scale**2)
    left = 1.0 / (1.0 + 3.0 * USUAL.grown_variance_scale**2)
    return 1.5 * shortfall**2 * (1.0 - left**2)


def test_classes_that_agree_gain_next_to_nothing():
    scaled = grow([3.0, 3.0, 3.0]).verdicts[1]
    assert scaled.gain == pytest.approx(mean_gain(), abs=1e-5) and mean_gain() < 0.01


def test_classes_that_differ_gain_by_their_differences_alone():
    learned = grow([1.0, 3.0, 5.0])
    shared = grow([3.0, 3.0, 3.0]).specification.log_parameters
    logs = learned.specification.log_parameters
    # The mean stays; differences of two shrink by the prior, 1 + 1 / 1.5^2 to 1, and save what they then explain.
    assert logs[1:4].mean() == pytest.approx(shared[1:4].mean(), abs=1e-3)
    difference = 2.0 / (1.0 + 1.0 / 1.5**2)
    np.testing.assert_allclose(logs[1:4] - logs[1:4].mean(), [-difference, 0.0, difference], atol=1e-3)
    assert learned.verdicts[1].gain == pytest.approx(4.0 - (2.0 - difference) ** 2 + mean_gain(), abs=1e-3)


def test_model_stays_where_it_was_found_if_it_is_finished_on_the_same_rows():
    criterion = Bowl(log_variance=np.array([1.0, 3.0, 5.0]), n_points=1)
    own_plan = plan("shared", "scaled", compare=False)
    found = grow_on([rung(criterion)], own_plan).specification.log_parameters
    again = grow_on([rung(criterion), rung(criterion)], own_plan).specification.log_parameters
    np.testing.assert_allclose(again, found, atol=0.02)


class Eager(Bowl):
    """A criterion whose best variance is e^5 times as large if classes have kernels of their own."""

    def evaluate(self, covariance, start, tolerance):
        self.log_variance = 5.0 * (len(covariance.operators) > 1)
        return super().evaluate(covariance, start, tolerance)


def test_variance_of_a_finer_model_stays_near_that_of_the_one_before():
    learned = grow_on([rung(Eager(n_points=1))], plan("shared", "separate", compare=False))
    # The variance before was 1, at which the prior has its centre. With one case, the mean minimises
    # 3 (mean - 5)^2 + (mean / 0.5)^2.
    assert np.log(learned.specification.variances) == pytest.approx(15 / 7, abs=1e-3)


@pytest.mark.parametrize("tying, origins", [("scaled", [0, 1, 1, 1, 2]), ("separate", [0, 0, 0, 1, 1, 1, 2])])
def test_parameters_are_traced_to_the_coarser_model(tying, origins):
    assert trace_parameters(start(), start(tying)).tolist() == origins


def test_many_columns_share_a_spread_of_rates():
    # Nine columns have the scale of few ones; from there on squared deviations of all add up to the same.
    assert USUAL.scale_of_rates(4) == USUAL.scale_of_rates(9) == USUAL.relevance_scale
    assert 36 * USUAL.scale_of_rates(36) ** 2 == pytest.approx(USUAL.relevance_spread**2)


def test_rates_of_columns_are_held_by_their_spread():
    growth = _Growth(plan("shared", relevance=True, n_inputs=36), EXACT, log(), first_model([rung(Bowl())]))
    model = with_relevance(start("shared"), 36)
    shift = np.zeros(37)
    shift[:2] = 1.0, -1.0
    pull = growth.task("rate per column", model).prior.pull(shift)
    assert pull.value == pytest.approx(4.0 * np.log1p((1.0 / 0.5) ** 2 / 3.0))
