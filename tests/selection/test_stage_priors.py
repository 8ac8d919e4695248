"""A stage gains by what sets it apart from the coarser one, not by its prior."""

import numpy as np
import pytest

from logikern.selection.growth import learn
from logikern.selection.inheritance import trace_parameters
from logikern.selection.search import Effort
from tests.selection.samples import Bowl, log, plan, rung, start

EXACT = Effort(relative_worth=1e-9)


def grow(log_variance, names=("shared", "scaled"), **settings):
    """With so few cases that the prior holds the first model far from the minimum of the criterion."""
    criterion = Bowl(log_variance=np.array(log_variance), n_points=1)
    own_plan = plan(*names, compare=False, **settings)
    return learn(start(), own_plan, [rung(criterion)], EXACT, log(), np.random.default_rng(0))


def test_classes_that_agree_gain_nothing():
    shared, scaled = grow([3.0, 3.0, 3.0]).verdicts
    assert scaled.gain == pytest.approx(0.0, abs=1e-6) and shared.value > 1.1


def test_classes_that_differ_gain_by_their_differences_alone():
    learned = grow([1.0, 3.0, 5.0])
    shared = grow([3.0, 3.0, 3.0]).specification.log_parameters
    logs = learned.specification.log_parameters
    # The mean stays; differences of two shrink by the prior, 1 + 1 / 1.5^2 to 1, and save what they then explain.
    assert logs[1:4].mean() == pytest.approx(shared[1:4].mean(), abs=1e-3)
    difference = 2.0 / (1.0 + 1.0 / 1.5**2)
    np.testing.assert_allclose(logs[1:4] - logs[1:4].mean(), [-difference, 0.0, difference], atol=1e-3)
    assert learned.verdicts[1].gain == pytest.approx(4.0 - (2.0 - difference) ** 2, abs=1e-3)


def test_prior_stays_where_a_model_is_finished():
    """On the same criterion it ends where it was found."""
    criterion = Bowl(log_variance=np.array([1.0, 3.0, 5.0]), n_points=1)
    rungs = [rung(criterion), rung(criterion)]
    own = log()
    learned = learn(start(), plan("shared", "scaled", compare=False), rungs, EXACT, own, np.random.default_rng(0))
    assert learned.value == pytest.approx(learned.verdicts[-1].value, abs=1e-6)


@pytest.mark.parametrize("tying, origins", [("scaled", [0, 1, 1, 1, 2]), ("separate", [0, 0, 0, 1, 1, 1, 2])])
def test_parameters_are_traced_to_the_coarser_model(tying, origins):
    assert trace_parameters(start(), start(tying)).tolist() == origins
