import tracemalloc

import numpy as np
import pytest

from logikern.fitting.newton.iterative import Newton
from logikern.fitting.preconditioning.adaptive import (
    POLICY,
    DiagonalConditioning,
    LowRankConditioning,
    preconditioner_bytes,
)
from logikern.kernels import Gaussian
from tests.fitting import catalogue

POINTS = np.random.default_rng(0).standard_normal((120, 3))


def problem(variances=1e3, weights=None, rate=0.3):
    return catalogue.make_problem(Gaussian(rate), POINTS, catalogue.labels(120, 4), weights, variances=variances)


def fit(conditioning, tolerance=1e-4, **options):
    return Newton(tolerance=tolerance, conditioning=conditioning).fit(problem(**options))


def test_low_rank_takes_far_fewer_products_than_the_diagonal():
    low_rank, diagonal = fit(LowRankConditioning()), fit(DiagonalConditioning())
    assert low_rank.n_products < 0.3 * diagonal.n_products


def test_higher_rank_takes_fewer_products():
    counts = [fit(LowRankConditioning(rank=rank)).n_products for rank in (5, 80)]
    assert counts[1] < counts[0]


def test_equal_seeds_give_equal_fits():
    first, second = (fit(LowRankConditioning(seed=3)) for _ in range(2))
    np.testing.assert_array_equal(first.dual, second.dual)


@pytest.mark.parametrize("staleness", [0.0, 0.003, 0.3])
def test_reuse_does_not_change_the_optimum(staleness):
    expected = fit(LowRankConditioning(staleness=0.0), tolerance=1e-9).dual
    dual = fit(LowRankConditioning(staleness=staleness), tolerance=1e-9).dual
    np.testing.assert_allclose(dual, expected, atol=1e-6)


def test_reuse_in_a_batch_does_not_change_the_optimum():
    # Weightings finish one after another, so a preconditioner is used again for some of its members.
    weights = np.stack([np.ones(120), np.arange(120) % 2.0, np.arange(120) % 5 * 20.0, np.full(120, 1e-3)])
    together = fit(LowRankConditioning(staleness=0.5), tolerance=1e-9, weights=weights)
    alone = [
        fit(LowRankConditioning(), tolerance=1e-9, weights=weights[member : member + 1]).dual[0]
        for member in range(4)
    ]
    np.testing.assert_allclose(together.dual, alone, atol=1e-6)


@pytest.mark.parametrize("rank", [0, 1, 120, 1000])
def test_any_rank_converges(rank):
    assert fit(LowRankConditioning(rank=rank)).outcome.converged


def test_no_memory_still_converges():
    assert fit(LowRankConditioning(memory=1.0)).outcome.converged


@pytest.mark.parametrize("n_batch", [1, 5])
def test_rank_keeps_to_the_memory(n_batch):
    covariance, memory = problem().covariance, preconditioner_bytes(4, 120, 1, n_batch, 6)
    assert POLICY.affordable_rank(covariance, n_batch, np.inf) > 6
    assert [POLICY.affordable_rank(covariance, n_batch, factor * memory) for factor in (1.01, 0.99)] == [6, 5]


@pytest.mark.parametrize("n_batch", [1, 5])
def test_preconditioner_takes_no_more_than_its_bytes(n_batch):
    weights = np.random.default_rng(0).random((n_batch, 120))
    own, rank = problem(weights=weights), 40
    condition = LowRankConditioning(rank=rank).prepare(own.covariance)
    curvature = own.likelihood.expand(np.zeros(own.shape), own.targets, own.weights).curvature
    tracemalloc.start()
    condition(curvature, np.arange(n_batch))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    beside = 8 * own.weights.size * 4 * 20  # arrays of the size of the functions
    assert peak <= preconditioner_bytes(4, 120, 1, n_batch, rank) + beside


def test_rank_keeps_to_the_number_of_points():
    assert POLICY.affordable_rank(problem().covariance, 1, np.inf) <= 120


def test_reuse_for_some_weightings_is_theirs():
    weights = np.stack([np.ones(120), np.arange(120) % 2.0, np.arange(120) % 5 * 20.0, np.full(120, 1e-3)])
    own = problem(weights=weights)
    latent = np.random.default_rng(1).standard_normal(own.shape)
    everyone, some = np.arange(4), np.array([1, 3])
    condition = LowRankConditioning(rank=5, staleness=0.1).prepare(own.covariance)

    def expand(members):
        part = own.restrict(members)
        return part.likelihood.expand(latent[members], part.targets, part.weights).curvature

    residual = expand(everyone).project(np.random.default_rng(2).standard_normal(own.shape))
    expected = condition(expand(everyone), everyone).solve(residual, everyone)[some]
    reused = condition(expand(some), some).solve(residual[some], np.arange(2))
    np.testing.assert_allclose(reused, expected, rtol=1e-10, atol=1e-12)
