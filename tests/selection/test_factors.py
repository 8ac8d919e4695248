"""Where a search for factors begins, its prior, and rows that judge it."""

import numpy as np
import pytest

from logikern.kernels import Gaussian
from logikern.selection.factors import AUTO, first_loadings, insert_curvature, steepest_directions
from logikern.selection.policy import USUAL
from logikern.selection.prior import NestedPrior, NormalDeviations, NormalPrior, PartedPrior
from logikern.structure.coupling import Coupling
from logikern.structure.specification import Specification
from logikern.structure.tying import tie
from tests.criteria.catalogue import N_CLASSES
from tests.criteria.test_learned_coupling import CRITERIA, POINTS


def value(loadings, variance=2.0):
    mixing = Coupling(loadings)
    specification = Specification((Gaussian(0.4),), (variance,), 1.0, tie("shared", mixing), mixing)
    return CRITERIA["cv"]().evaluate(specification.bind(POINTS), None, 1e-10)


@pytest.mark.parametrize("variance", [0.3, 2.0, 30.0])
def test_criterion_falls_along_the_first_direction_as_its_slope_says(variance):
    start = value(np.zeros((N_CLASSES, 1)), variance)
    directions, slopes = steepest_directions(start.gradient.mixing)
    assert (slopes > 0).all() and (np.diff(slopes) <= 0).all()
    step = 1e-2
    for direction, slope in zip(directions.T, slopes, strict=True):
        change = value(step * direction[:, None], variance).value - start.value
        # A change of second order in the step, of fourth order after that.
        assert change == pytest.approx(-0.5 * step**2 * slope, rel=1e-2)


def test_directions_leave_out_what_all_classes_share():
    matrix = np.random.default_rng(0).standard_normal((5, 5))
    directions, _ = steepest_directions(matrix)
    np.testing.assert_allclose(directions.sum(axis=0), 0.0, atol=1e-12)


def test_number_of_factors_follows_the_slopes():
    directions = np.eye(6)
    assert first_loadings(directions, np.array([8.0, 7.0, 1.0, 0.1, 0.0, 0.0]), AUTO).shape == (6, 2)
    assert first_loadings(directions, np.ones(6), AUTO).shape == (6, USUAL.most_factors)
    assert first_loadings(directions, np.array([8.0, 7.0, 1.0, 0.1, 0.0, 0.0]), 3).shape == (6, 3)
    assert first_loadings(directions[:, :0], np.zeros(0), AUTO).size == 0


def test_prior_of_two_kinds_has_the_gradient_of_its_value():
    coarse, deviations = NormalPrior(np.array([1.5, 0.5])), (NormalDeviations(1.0), NormalDeviations(2.0))
    nested = NestedPrior(coarse, np.array([0, 0, 1]), deviations)
    prior = PartedPrior(np.array([False, True, False, True, False]), NormalPrior(0.3), nested)
    at = np.random.default_rng(0).standard_normal(5)
    found = prior.pull(at)
    differences = [(prior.pull(at + move).value - prior.pull(at - move).value) / 2e-6 for move in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(found.gradient, differences, rtol=1e-6)
    assert found.value == pytest.approx(0.5 * np.sum(at[[1, 3]] ** 2) / 0.09 + nested.pull(at[[0, 2, 4]]).value)


def test_curvature_of_other_parameters_is_kept():
    inverse = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = insert_curvature(inverse, slice(1, 4), np.array([0.25, 0.1]))
    np.testing.assert_array_equal(found[np.ix_([0, 4], [0, 4])], inverse)
    np.testing.assert_array_equal(found[1:4, 1:4], 2.0 * np.eye(3))
    assert insert_curvature(None, slice(1, 4), np.ones(1)) is None
