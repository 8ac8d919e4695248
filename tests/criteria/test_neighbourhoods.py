"""One criterion over several neighbourhoods: the mean of their criteria, with the gradient of the mean."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import folds_from_splits
from logikern.criteria.neighbourhoods import SeveralNeighbourhoods
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.likelihoods.softmax import Softmax
from logikern.numerics.outcome import Outcome
from logikern.operators.choose import BlockLayout, Choice
from tests.criteria import catalogue
from tests.structure.trees import TREES

TOLERANCE = 1e-9
EDGES = np.array([0, 9, 20, 30])
N = 30
CASES = {
    "shared": catalogue.Case(n=N),
    "weights": catalogue.Case(n=N, weights="random"),
    "separate": catalogue.Case("laplacian", "separate", "random", n=N),
    "rates of inputs": catalogue.Case("rates of inputs", "scaled", n=N, soft=True),
    "tree": catalogue.Case("gaussian", "level", n=N, tree=next(iter(TREES))),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
PARTS = [slice(start, stop) for start, stop in zip(EDGES[:-1], EDGES[1:], strict=True)]


def single(case, part, solver=None, sharpen=False):
    """The criterion of one neighbourhood alone, in three folds."""
    n, weights = part.stop - part.start, case.point_weights()[part]
    places = np.arange(n)
    splits = [(places[places % 3 != fold], places[places % 3 == fold]) for fold in range(3)]
    targets = np.ascontiguousarray(case.targets()[:, part])
    solver = solver or Newton(TOLERANCE)
    return CrossValidation(Softmax(), targets, folds_from_splits(splits, weights), solver, sharpen=sharpen)


def several(case, solver=None, sharpen=False):
    return SeveralNeighbourhoods(tuple(single(case, part, solver, sharpen) for part in PARTS), EDGES)


def covariance(specification, layout=BlockLayout(EDGES)):  # noqa: B008
    return specification.bind(Choice("dense", np.dtype(float), "", 1e8).points(catalogue.points(N), layout=layout))


def evaluate(case, specification=None, start=None, solver=None, sharpen=False):
    specification = specification or case.specification()
    return several(case, solver, sharpen).evaluate(covariance(specification), start, TOLERANCE)


@every_case
def test_value_and_losses_are_those_of_single_criteria(case):
    found, specification = evaluate(case), case.specification()
    alone = []
    for part in PARTS:
        points = Choice("dense", np.dtype(float), "", 1e8).points(catalogue.points(N)[part])
        alone.append(single(case, part).evaluate(specification.bind(points), None, TOLERANCE))
    totals = [single(case, part).loss_weights.sum() for part in PARTS]
    assert found.value == pytest.approx(np.average([own.value for own in alone], weights=totals), rel=1e-9)
    np.testing.assert_allclose(found.losses, np.concatenate([own.losses for own in alone]), rtol=0, atol=1e-8)


@every_case
def test_value_is_the_weighted_mean_of_the_losses(case):
    found, criterion = evaluate(case), several(case)
    assert found.value == pytest.approx(np.average(found.losses, weights=criterion.loss_weights), rel=1e-8)
    np.testing.assert_array_equal(np.sort(criterion.loss_points), np.arange(N))
    np.testing.assert_allclose(case.point_weights()[criterion.loss_points], criterion.loss_weights)


@pytest.mark.parametrize("sharpen", [False, True])
@every_case
def test_gradient_matches_differences(case, sharpen):
    specification, first = case.specification(), evaluate(case, solver=Exact(TOLERANCE), sharpen=sharpen)
    own, step = specification.collect(first.gradient), 1e-3
    expected = []
    for move in step * np.eye(len(own)):
        ends = [specification.with_log_parameters(specification.log_parameters + sign * move) for sign in (1, -1)]
        high, low = (evaluate(case, end, first.state, Exact(TOLERANCE), sharpen).value for end in ends)
        expected.append((high - low) / (2 * step))
    np.testing.assert_allclose(own, expected, rtol=1e-5, atol=2e-5 * np.abs(own).max())


@every_case
def test_start_does_not_change_the_value(case):
    first = evaluate(case)
    elsewhere = 3.0 * np.random.default_rng(6).standard_normal(first.state.shape)
    moved = evaluate(case, start=elsewhere)
    assert moved.usable and moved.value == pytest.approx(first.value, rel=1e-7)


def test_temperature_is_the_mean_of_those_of_the_parts():
    case = CASES["shared"]
    found, specification = evaluate(case, sharpen=True).temperature, case.specification()
    own = []
    for part in PARTS:
        points = Choice("dense", np.dtype(float), "", 1e8).points(catalogue.points(N)[part])
        own.append(single(case, part, sharpen=True).evaluate(specification.bind(points), None, TOLERANCE).temperature)
    shares = np.diff(EDGES) / N
    assert not found.is_neutral
    assert np.log(found.certain) == pytest.approx(shares @ np.log([one.certain for one in own]), abs=1e-6)
    assert np.log(found.uncertain) == pytest.approx(shares @ np.log([one.uncertain for one in own]), abs=1e-6)


def test_failure_of_one_part_is_that_of_all():
    case = CASES["shared"]
    good = several(case)
    slow = replace(good.criteria[1], solver=replace(Newton(TOLERANCE), budget=replace(Newton().budget, newton=1)))
    found = replace(good, criteria=(good.criteria[0], slow, good.criteria[2])).evaluate(
        covariance(case.specification()), None, TOLERANCE
    )
    assert not found.usable and found.outcome is not Outcome.CONVERGED
