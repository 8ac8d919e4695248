"""Weightings in lock-step, held-out points, repeated points and warm starts."""

from functools import cache

import numpy as np
import pytest

from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.kernels import Gaussian
from logikern.numerics.outcome import Outcome
from tests.fitting import catalogue
from tests.kernels.catalogue import N_POINTS, table

every_solver = pytest.mark.parametrize("solver", catalogue.SOLVERS)
BATCHES = ("several weightings", "several weightings of separate kernels", "weighted distributions")


@cache
def optimum(name):
    problem = catalogue.BY_NAME[name].build()
    return problem, catalogue.EXACT.fit(problem)


@pytest.mark.parametrize("name", BATCHES)
@every_solver
def test_weightings_in_lock_step_equal_those_alone(name, solver):
    problem = catalogue.BY_NAME[name].build()
    solve = catalogue.SOLVERS[solver].fit
    together = solve(problem).dual
    for member in range(len(together)):
        alone = solve(problem.restrict(np.array([member]))).dual[0]
        np.testing.assert_allclose(together[member], alone, atol=1e-7)


@every_solver
def test_order_of_weightings_does_not_matter(solver):
    problem = catalogue.BY_NAME["several weightings"].build()
    solve = catalogue.SOLVERS[solver].fit
    order = np.array([3, 1, 0, 2])
    np.testing.assert_allclose(solve(problem.restrict(order)).dual, solve(problem).dual[order], atol=1e-7)


@every_solver
def test_a_hopeless_weighting_leaves_the_others_alone(solver):
    weights = catalogue.weightings()
    weights[1, 4] = np.nan
    problem = catalogue.make_problem(Gaussian(0.7), table(), catalogue.labels(), weights)
    result = catalogue.SOLVERS[solver].fit(problem)
    expected = [Outcome.CONVERGED, Outcome.NOT_FINITE, Outcome.CONVERGED, Outcome.CONVERGED]
    assert list(result.outcomes) == expected


@every_solver
def test_held_out_latents_are_those_of_a_fit_without_the_points(solver):
    X, targets, kernel = table(), catalogue.labels(), Gaussian(0.7)
    kept = np.arange(N_POINTS) % 4 != 0
    solve = catalogue.SOLVERS[solver].fit
    latent = solve(catalogue.make_problem(kernel, X, targets, kept[None].astype(float))).latent[0]
    dual = solve(catalogue.make_problem(kernel, X[kept], targets[:, kept])).dual[0]
    # Variance 2 and bias variance 1 are those of `make_problem`.
    expected = dual @ (2.0 * kernel(X[kept], X[~kept]) + 1.0)
    np.testing.assert_allclose(latent[:, ~kept], expected, atol=1e-6)


@every_solver
def test_weights_count_like_repeated_points(solver):
    X, targets = table(), catalogue.labels()
    counts = np.random.default_rng(0).integers(0, 4, N_POINTS)
    solve = catalogue.SOLVERS[solver].fit
    weighted = solve(catalogue.make_problem(Gaussian(0.7), X, targets, counts[None].astype(float)))
    repeated = solve(
        catalogue.make_problem(Gaussian(0.7), np.repeat(X, counts, axis=0), np.repeat(targets, counts, axis=1))
    )
    np.testing.assert_allclose(np.repeat(weighted.latent[0], counts, axis=1), repeated.latent[0], atol=1e-6)


@every_solver
def test_labels_of_repeated_points_count_like_distributions(solver):
    X, n = table(), N_POINTS
    first, second = catalogue.labels(seed=1), catalogue.labels(seed=2)
    solve = catalogue.SOLVERS[solver].fit
    twice = solve(
        catalogue.make_problem(Gaussian(0.7), np.concatenate([X, X]), np.concatenate([first, second], axis=1))
    )
    mixed = solve(catalogue.make_problem(Gaussian(0.7), X, 0.5 * (first + second), np.full((1, n), 2.0)))
    np.testing.assert_allclose(twice.latent[0][:, :n], mixed.latent[0], atol=1e-6)


@pytest.mark.parametrize("weight", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("solver", [Newton(), Exact(tolerance=1e-4)], ids=["newton", "exact"])
def test_light_weights_are_fitted_as_well_as_those_of_one(solver, weight):
    # Weights times w and variances over w are the same model; weights that sum to one are common.
    X, targets, ones = table(), catalogue.labels(), np.ones((1, N_POINTS))
    plain = catalogue.make_problem(Gaussian(0.7), X, targets, ones)
    light = catalogue.make_problem(
        Gaussian(0.7), X, targets, weight * ones, variances=2.0 / weight, bias_variance=1.0 / weight
    )
    np.testing.assert_allclose(solver.fit(light).latent, catalogue.EXACT.fit(plain).latent, atol=1e-2)


STARTS = {
    "the optimum": lambda latent: latent,
    "half of it": lambda latent: 0.5 * latent,
    "a million times it": lambda latent: 1e6 * latent,
    "its opposite": lambda latent: -latent,
    "noise": lambda latent: np.random.default_rng(0).standard_normal(latent.shape),
    "zero": np.zeros_like,
    "another fold's": lambda latent: latent[::-1],
    "all of one class": lambda latent: latent + 1e3 * np.eye(3)[0][:, None],
}


@pytest.mark.parametrize("start", STARTS)
@every_solver
def test_start_does_not_change_the_optimum(solver, start):
    problem, expected = optimum("several weightings")
    result = catalogue.SOLVERS[solver].fit(problem, STARTS[start](expected.latent))
    np.testing.assert_allclose(result.dual, expected.dual, atol=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
@every_solver
def test_start_of_another_variance_gives_the_optimum(solver, factor):
    problem, expected = optimum("shared")
    other = catalogue.make_problem(Gaussian(0.7), table(), catalogue.labels(), variances=2.0 * factor)
    start = catalogue.EXACT.fit(other).latent
    np.testing.assert_allclose(catalogue.SOLVERS[solver].fit(problem, start).dual, expected.dual, atol=1e-6)


@every_solver
def test_points_of_weight_zero_have_dual_zero_from_any_start(solver):
    problem, expected = optimum("several weightings")
    start = np.random.default_rng(0).standard_normal(expected.latent.shape)
    dual = catalogue.SOLVERS[solver].fit(problem, start).dual
    assert (dual[np.broadcast_to((problem.weights == 0)[:, None, :], dual.shape)] == 0.0).all()


@every_solver
def test_start_at_the_optimum_saves_steps(solver):
    problem, expected = optimum("shared")
    solve = catalogue.SOLVERS[solver].fit
    assert len(solve(problem, expected.latent).trace) < len(solve(problem).trace)


@every_solver
def test_start_is_left_alone(solver):
    problem, expected = optimum("shared")
    start = expected.latent.copy()
    catalogue.SOLVERS[solver].fit(problem, start)
    np.testing.assert_array_equal(start, expected.latent)
