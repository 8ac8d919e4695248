"""The best temperature of held-out latents, and what it does to the gradient of a criterion."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize

from logikern.criteria.leave_one_out.criterion import LeaveOneOut, LeaveOneOutPolicy
from logikern.criteria.temperature import TemperaturePolicy, TemperatureScaling
from logikern.fitting.newton.dense import Exact
from logikern.likelihoods.coarse import CoarseSoftmax
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.temperature import Temperature
from logikern.structure.targets import from_labels
from tests.criteria import catalogue
from tests.structure.trees import TREES

CASES = [
    catalogue.Case("gaussian", "shared"),
    catalogue.Case("rational quadratic", "separate", "random", "overlapping"),
    catalogue.Case("linear", "scaled", "zeros", "leave some out", soft=True),
    *catalogue.COUPLED[::7],
]
POSITIVE = [(1e-9, None)] * 2
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def overconfident(n=200, n_classes=4, seed=0):
    """Latents three times as large as they should be, their labels drawn from what they should be, and weights."""
    random = np.random.default_rng(seed)
    latent = random.standard_normal((n_classes, n)) * random.uniform(0.3, 3.0, n)
    probabilities = np.exp(latent) / np.exp(latent).sum(axis=0)
    labels = np.array([random.choice(n_classes, p=own) for own in probabilities.T])
    return 3.0 * latent, from_labels(labels, n_classes), random.uniform(0.2, 2.0, n)


def objective(numbers, latent, targets, weights, likelihood=None):
    """What the temperature minimises, written out anew."""
    sharpened = Temperature(*numbers).apply(latent)
    losses = (likelihood or Softmax()).losses(sharpened[None], targets)[0]
    return (
        weights @ losses
        + sum(number - 1.0 - np.log(number) for number in numbers) / TemperaturePolicy().prior_scale ** 2
    )


def test_best_temperature_is_the_one_that_another_optimiser_finds():
    data = overconfident()
    found = TemperatureScaling(Softmax(), learn=True).score(*data).temperature
    options = {"args": data, "method": "Nelder-Mead", "bounds": POSITIVE, "tol": 1e-10}
    expected = scipy.optimize.minimize(objective, [1.0, 1.0], **options)
    assert (found.certain, found.uncertain) == pytest.approx(tuple(expected.x), rel=1e-4)


def test_latents_that_are_too_large_are_made_smaller():
    found = TemperatureScaling(Softmax(), learn=True).score(*overconfident(2000)).temperature
    assert found.certain == pytest.approx(1 / 3, abs=0.1)


def test_temperature_is_worth_its_cost():
    latent, targets, weights = overconfident()
    plain, sharp = (
        TemperatureScaling(Softmax(), sharpen).score(latent, targets, weights) for sharpen in (False, True)
    )
    assert weights @ sharp.losses < weights @ plain.losses - 10.0


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e5])
@pytest.mark.parametrize("seed", range(3))
def test_latents_of_any_size_have_a_temperature_no_worse_than_another_optimiser(scale, seed):
    random = np.random.default_rng(seed)
    latent = scale * random.standard_normal((50, 200)) * random.uniform(0.01, 1, 200) ** 2
    data = latent, from_labels(random.integers(0, 50, 200), 50), np.ones(200)
    found = TemperatureScaling(Softmax(), learn=True).score(*data).temperature
    options = {"args": data, "method": "Nelder-Mead", "bounds": POSITIVE, "options": {"maxfev": 4000, "fatol": 1e-8}}
    other = scipy.optimize.minimize(objective, [1 / scale, 1 / scale], **options)
    assert objective((found.certain, found.uncertain), *data) <= other.fun * (1 + 1e-6)


def test_little_data_say_little_about_temperature():
    latent, targets, weights = overconfident(3)
    found = TemperatureScaling(Softmax(), learn=True).score(latent, targets, 0.01 * weights).temperature
    assert (found.certain, found.uncertain) == pytest.approx((1.0, 1.0), abs=0.05)


@pytest.mark.parametrize("sharpen", [False, True])
def test_gradient_matches_differences_though_the_temperature_moves(sharpen):
    latent, targets, weights = overconfident(30)
    scaling = TemperatureScaling(Softmax(), sharpen)
    gradient = scaling.score(latent, targets, weights).gradient
    direction = np.random.default_rng(3).standard_normal(latent.shape)
    ends = [scaling.score(latent + step * direction, targets, weights).losses for step in (1e-5, -1e-5)]
    assert float((gradient * direction).sum()) == pytest.approx(weights @ (ends[0] - ends[1]) / 2e-5, rel=1e-5)


def test_coarse_labels_have_their_best_temperature_too():
    tree = TREES["ragged"]
    random = np.random.default_rng(0)
    n = 60
    targets = from_labels(random.integers(0, len(tree.labels), n), len(tree.labels))
    latent, weights = 4.0 * random.standard_normal((tree.n_classes, n)), np.ones(n)
    likelihood = CoarseSoftmax(tree)
    found = TemperatureScaling(likelihood, learn=True).score(latent, targets, weights).temperature
    data = (latent, targets, weights, likelihood)
    options = {"args": data, "method": "Nelder-Mead", "bounds": POSITIVE, "tol": 1e-10}
    expected = scipy.optimize.minimize(objective, [0.5, 0.5], **options)
    assert (found.certain, found.uncertain) == pytest.approx(tuple(expected.x), rel=1e-3)


@every_case
def test_gradient_of_cross_validation_matches_differences(case):
    specification, criterion = case.specification(), replace(case.criterion(), sharpen=True)
    found = criterion.evaluate(case.bind(specification), None, catalogue.TOLERANCE)
    assert not found.temperature.is_neutral
    own = specification.collect(found.gradient)
    exact = replace(criterion, solver=Exact(catalogue.TOLERANCE))
    expected = slopes(specification, lambda at: exact.evaluate(case.bind(at), found.state, 1e-9).value)
    np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-5 * np.abs(own).max())


@pytest.mark.parametrize("case", CASES[:3], ids=str)
def test_gradient_of_leave_one_out_matches_differences(case):
    weights = np.maximum(case.point_weights(), 0.1)
    criterion = LeaveOneOut(
        Softmax(), case.targets(), weights, Exact(1e-12), policy=LeaveOneOutPolicy(missed=0.0), sharpen=True
    )
    specification = case.specification()
    found = criterion.evaluate(case.bind(specification), None, 1e-12)
    assert not found.temperature.is_neutral
    own = specification.collect(found.gradient)
    expected = slopes(specification, lambda at: criterion.evaluate(case.bind(at), found.state, 1e-12).value)
    np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-5 * np.abs(own).max())


def slopes(specification, value_at, step=1e-3):
    """Of the value by each log parameter, from two values."""
    logs = specification.log_parameters
    found = []
    for axis in step * np.eye(len(logs)):
        high, low = (value_at(specification.with_log_parameters(logs + sign * axis)) for sign in (1, -1))
        found.append((high - low) / (2 * step))
    return found


@every_case
def test_value_is_the_weighted_mean_of_the_losses(case):
    criterion = replace(case.criterion(), sharpen=True)
    found = criterion.evaluate(case.bind(case.specification()), None, catalogue.TOLERANCE)
    assert found.value == pytest.approx(np.average(found.losses, weights=criterion.loss_weights), rel=1e-8)
