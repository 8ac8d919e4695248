"""Criteria of coupled classes: their derivatives by the loadings, against differences of tight fits."""

import numpy as np
import pytest

from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.leave_one_out.criterion import LeaveOneOut
from logikern.criteria.neighbourhoods import SeveralNeighbourhoods
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.kernels import Gaussian
from logikern.likelihoods.softmax import Softmax
from logikern.operators.choose import Choice
from logikern.structure.coupling import Coupling
from logikern.structure.specification import Specification
from logikern.structure.targets import from_labels
from logikern.structure.tying import tie
from tests.criteria import catalogue
from tests.criteria.catalogue import N_CLASSES, labels, points

MIXING = Coupling(0.7 * np.random.default_rng(3).standard_normal((N_CLASSES, 2)))
TARGETS = from_labels(labels(), N_CLASSES)
POINTS = Choice("dense", np.dtype(float), "", 1e9).points(points())


def folds():
    return catalogue.Case().criterion().folds


CRITERIA = {
    "cv": lambda: CrossValidation(Softmax(), TARGETS, folds(), Newton(1e-10)),
    "cv, dense": lambda: CrossValidation(Softmax(), TARGETS, folds(), Exact(1e-10)),
    "loo": lambda: LeaveOneOut(Softmax(), TARGETS, np.ones(len(points())), Exact(1e-10)),
}


def specification(name):
    tying = tie(name, MIXING)
    kernels = tuple(Gaussian(0.4 * (1 + number)) for number in range(tying.n_kernels))
    return Specification(kernels, tuple(2.0 * (1 + n) for n in range(tying.n_variances)), 1.0, tying, MIXING)


@pytest.mark.parametrize("tying", ["shared", "scaled", "separate"])
@pytest.mark.parametrize("name", CRITERIA)
def test_gradient_by_loadings_matches_differences(name, tying):
    criterion, own, step = CRITERIA[name](), specification(tying), 1e-5
    evaluated = criterion.evaluate(own.bind(POINTS), None, 1e-10)
    places, origin = own.mixing_places, own.log_parameters
    found = own.collect(evaluated.gradient)[places]

    def value(at):
        return criterion.evaluate(own.with_log_parameters(at).bind(POINTS), None, 1e-10).value

    moves = step * np.eye(len(origin))[places]
    expected = [(value(origin + move) - value(origin - move)) / (2 * step) for move in moves]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


def test_gradient_over_neighbourhoods_is_the_mean_of_theirs():
    criterion, own = CRITERIA["cv"](), specification("shared")
    several = SeveralNeighbourhoods((criterion, criterion), np.array([0, len(points()), 2 * len(points())]))
    alone = criterion.evaluate(own.bind(POINTS), None, 1e-10).gradient

    class Twice:
        parts = [own.bind(POINTS)] * 2

    np.testing.assert_allclose(several.evaluate(Twice(), None, 1e-10).gradient.mixing, alone.mixing, rtol=1e-8)
