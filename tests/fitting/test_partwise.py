"""A preconditioner for each block of points leads to the optimum of the exact solver, coupled or not."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.preconditioning.adaptive import LowRankConditioning, PartwiseConditioner
from logikern.fitting.problem import Problem
from logikern.kernels import Gaussian, Laplacian
from logikern.likelihoods.softmax import Softmax
from logikern.operators.choose import BlockLayout, Choice
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tying import tie
from tests.fitting import catalogue
from tests.structure.trees import TREES

N = 60
X = np.random.default_rng(0).standard_normal((N, 3))
EDGES = np.array([0, 25, 26, N])
TOLERANCE = 1e-10
TREE = next(iter(TREES.values()))
MODELS = {
    "shared": (Flat(3), "shared", (Gaussian(0.7),)),
    "two classes": (Flat(2), "shared", (Gaussian(0.7),)),
    "separate": (Flat(3), "separate", (Gaussian(0.7), Laplacian(0.5), Gaussian(2.0))),
    "tree": (TREE, "level", (Gaussian(0.7),)),
}


def problem(model, rank, weights=None):
    mixing, tying, kernels = MODELS[model]
    tied = tie(tying, mixing)
    variances = tuple(3.0 + number for number in range(tied.n_variances))
    points = Choice("dense", np.dtype(float), "", 1e8).points(X, layout=BlockLayout(EDGES, rank))
    covariance = Specification(kernels, variances, 2.0, tied, mixing).bind(points)
    weights = np.ones((1, N)) if weights is None else weights
    return Problem(covariance, Softmax(), catalogue.labels(N, mixing.n_classes), weights)


@pytest.mark.parametrize("rank", [0, 8])
@pytest.mark.parametrize("model", MODELS)
def test_optimum_is_that_of_the_exact_solver(model, rank):
    given = problem(model, rank)
    found = Newton(TOLERANCE, conditioning=LowRankConditioning(rank=10)).fit(given)
    exact = Exact(TOLERANCE).fit(given)
    assert found.outcome.converged
    np.testing.assert_allclose(found.dual, exact.dual, rtol=0, atol=1e-7)


def test_weightings_are_fitted_together():
    weights = catalogue.weightings(N)
    found = Newton(TOLERANCE, conditioning=LowRankConditioning(rank=10)).fit(problem("shared", 8, weights))
    for number, own in enumerate(weights):
        alone = Exact(TOLERANCE).fit(problem("shared", 8, own[None]))
        np.testing.assert_allclose(found.dual[number], alone.dual[0], rtol=0, atol=1e-7)


def test_blocks_are_conditioned_one_by_one():
    given = problem("shared", 8)
    prepared = LowRankConditioning(memory=3e6).prepare(given.covariance)
    assert isinstance(prepared, PartwiseConditioner)
    assert [(own.start, own.stop) for own in prepared.slices] == [(0, 25), (25, 26), (26, N)]
    assert {own.settings.memory for own in prepared.conditioners} == {1e6}


def test_factors_of_full_rank_solve_independent_blocks_at_once():
    """Without coupling, a preconditioner of full rank is the inverse: conjugate gradients take few products."""
    given = problem("shared", 0)
    full = Newton(TOLERANCE, conditioning=LowRankConditioning(rank=35)).fit(given)
    rough = Newton(TOLERANCE, conditioning=LowRankConditioning(rank=2)).fit(given)
    assert full.n_products < rough.n_products


def test_parts_of_a_covariance_are_those_of_its_operators():
    covariance = problem("separate", 8).covariance
    assert [part.n_points for part in covariance.parts] == [25, 1, 34]
    assert all(len(part.operators) == 3 for part in covariance.parts)
    whole = replace(covariance, operators=covariance.parts[0].operators)
    assert whole.parts == [whole]
