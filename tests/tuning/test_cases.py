"""Noise and priors go by the rows held out; gains come from finer models."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, RepeatedKFold

from logikern import KernelRegressor
from logikern.estimators._inputs.weights import weight_unit
from tests.tuning.samples import MOONS, NAMES, SIDES, X, tuned


def scaled_verdict(**settings):
    return tuned(**{"ard": False, "kernel": "linear", "tying": "scaled", **settings}).fit(X, NAMES).verdicts_[1]


def test_rows_held_out_repeatedly_are_counted_once():
    splitters = KFold(5, shuffle=True, random_state=0), RepeatedKFold(n_splits=5, n_repeats=6, random_state=0)
    once, often = (scaled_verdict(cv=cv) for cv in splitters)
    # Six losses of a row are nearly the same one; independent ones would have 0.41 of its standard error.
    assert often.noise > 0.7 * once.noise


def in_units_of(unit, y, estimator, **settings):
    """Weights times a unit, and variances over it: the same model."""
    weights = np.random.default_rng(0).uniform(0.1, 1.0, len(X))
    own = {"variance": 30.0 / unit, "bias_variance": 16.0 / unit, "random_state": 0, **settings}
    return estimator(**own).fit(X, y, sample_weight=unit * weights)


@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_same_model_has_the_same_search_in_a_smaller_unit_of_weights(criterion):
    own, other = (in_units_of(unit, NAMES, tuned, criterion=criterion) for unit in (1.0, 1e-3))
    assert [record.stage for record in other.trace_] == [record.stage for record in own.trace_]
    for mine, theirs in zip(own.verdicts_, other.verdicts_, strict=True):
        assert (theirs.value, theirs.noise) == pytest.approx((mine.value, mine.noise), rel=1e-6, nan_ok=True)
        assert theirs.kept == mine.kept
    np.testing.assert_allclose(1e-3 * other.variances_, own.variances_, rtol=1e-6)


def test_same_regression_has_the_same_search_in_a_smaller_unit_of_weights():
    y = X[:, 1] + 0.3 * np.random.default_rng(0).standard_normal(len(X))
    own, other = (in_units_of(unit, y, KernelRegressor, ard=False) for unit in (1.0, 1e-3))
    assert other.criterion_value_ == pytest.approx(own.criterion_value_, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-5, 1e-3])
def test_defaults_learn_from_weights_in_a_small_unit(unit):
    """The prior of the constant stays what it is, so that the model is not quite the same."""
    own, other = (tuned(ard=False).fit(X, NAMES, np.full(len(X), one)) for one in (1.0, unit))
    assert [verdict.kept for verdict in other.verdicts_] == [verdict.kept for verdict in own.verdicts_]
    assert log_loss(NAMES, other.predict_proba(X)) == pytest.approx(log_loss(NAMES, own.predict_proba(X)), abs=0.02)


@pytest.mark.parametrize(
    "weights, unit",
    [
        ([1.0, 1.0, 1.0], 1.0),
        ([1.0, 3.0, 2.0], 1.0),
        ([0.2, 0.2, 0.2], 0.2),
        ([1.0, 1.0, 1e-9], 1.0),
        ([1e-300, 1e-300], 1e-300),
    ],
)
def test_weights_count_as_rows_unless_they_are_small(weights, unit):
    assert weight_unit(np.array(weights)) == pytest.approx(unit, rel=1e-6)


@pytest.mark.parametrize("noise", [0.2, 0.3, 0.4])
def test_same_model_of_two_classes_gains_nothing(noise):
    """A variance per class, asked for: the search ends where it began."""
    points = MOONS + noise * np.random.default_rng(0).standard_normal(MOONS.shape)
    verdict = tuned(tying="scaled", ard=False).fit(points, SIDES).verdicts_[1]
    # As far as the first search has converged, to a thousandth of its criterion.
    assert verdict.gain == pytest.approx(0.0, abs=1e-3 * verdict.value)


def test_two_outputs_may_have_two_variances():
    points = load_iris().data
    Y = np.stack([np.sin(points[:, 0]), 10.0 * points[:, 1]], axis=1)
    model = KernelRegressor(tying="auto", ard=False, random_state=0).fit(points, Y)
    assert [verdict.stage for verdict in model.verdicts_] == ["shared", "scaled"]
