"""Fits and the held-out criterion, against dense algebra and finite differences."""

import numpy as np
import pytest

from logikern.numerics.outcome import Outcome
from logikern.selection.journal import Journal
from logikern.selection.search import SearchLog
from logikern.sequences.criterion import HeldOutChains
from logikern.sequences.hyperparameters import minimise
from logikern.sequences.likelihood import ChainLikelihood, count_transitions
from logikern.sequences.newton import ChainPolicy, NewtonSystem, fit_chains
from tests.sequences.enumeration import counts_of, enumerate_chains
from tests.sequences.samples import bind, chains_of, draw_sequences, specify

EXACT = ChainPolicy(adjoint_residual=1e-10)


def dense_covariance(covariance, shape):
    unit = np.eye(shape[0] * shape[1]).reshape(-1, *shape)
    return np.array([covariance.matmul(one).ravel() for one in unit])


def small_problem(piecewise=0.0, **others):
    X, y = draw_sequences(8, longest=4)
    chains, labels, rows = chains_of(X, y)
    specification = specify(**others)
    covariance = bind(specification, rows)
    weights = np.ones(chains.n_chains)
    weights[2] = 0.0
    mean = count_transitions(chains, labels, weights, 0.5).value
    return ChainLikelihood(chains, labels, weights, mean, piecewise), covariance, y, rows


@pytest.mark.parametrize("transition_variance", [0.0, 2.0, 1e4])
def test_fit_satisfies_the_conditions_of_the_optimum_by_enumeration(transition_variance):
    """The dual is observed minus expected counts, and the latent field its image: this holds at the optimum only."""
    likelihood, covariance, y, _ = small_problem(transition_variance=transition_variance)
    fit = fit_chains(likelihood, covariance, 1e-9, 60)
    chains, lengths = likelihood.chains, [len(labels) for labels in y]
    field = fit.latent.copy()
    field[:, chains.n_positions :] += likelihood.mean
    observed = sum(
        weight * counts_of(labels, begin, chains.n_positions, 3)
        for weight, labels, begin in zip(likelihood.weights, y, chains.offsets[:-1], strict=True)
    )
    expected = enumerate_chains(field, lengths, likelihood.weights).expected
    assert fit.outcome is Outcome.CONVERGED
    np.testing.assert_allclose(fit.dual, observed - expected, atol=1e-8)
    dense = dense_covariance(covariance, chains.shape)
    np.testing.assert_allclose(fit.latent.ravel(), dense @ fit.dual.ravel(), atol=1e-8)


def test_covariance_is_the_kernel_and_independent_transitions():
    likelihood, covariance, _, rows = small_problem()
    dense = dense_covariance(covariance, likelihood.chains.shape).reshape(*likelihood.chains.shape * 2)
    n = len(rows)
    gram = 3.0 * np.exp(-0.25 * ((rows[:, None] - rows) ** 2).sum(axis=2)) + 1.0
    np.testing.assert_allclose(dense[1, :n, 1, :n], gram, atol=1e-12)
    assert not dense[0, :, 1].any()
    np.testing.assert_allclose(dense[2, n:, 2, n:], 2.0 * np.eye(5))


@pytest.mark.parametrize("piecewise", [0.0, 0.7])
def test_solve_is_that_of_dense_algebra(piecewise):
    likelihood, covariance, _, _ = small_problem(piecewise)
    shape = likelihood.chains.shape
    random = np.random.RandomState(0)
    found = likelihood.infer(random.randn(*shape))
    unit = np.eye(shape[0] * shape[1]).reshape(-1, *shape)
    curvature = np.array([likelihood.curve(found, one).ravel() for one in unit])
    np.testing.assert_allclose(curvature, curvature.T, atol=1e-12)
    dense, constant = dense_covariance(covariance, shape), random.randn(*shape)
    wanted = np.linalg.solve(np.eye(len(dense)) + curvature @ dense, constant.ravel())
    solved = NewtonSystem(likelihood, covariance, found).respond(constant, 1e-12, EXACT)
    np.testing.assert_allclose(solved.value.ravel(), wanted, atol=1e-8)
    np.testing.assert_allclose(solved.image.ravel(), dense @ wanted, atol=1e-8)


def test_warm_start_finds_the_same_optimum():
    likelihood, covariance, _, _ = small_problem(0.5)
    cold = fit_chains(likelihood, covariance, 1e-9, 60)
    start = cold.latent + 0.5 * np.random.RandomState(0).randn(*cold.latent.shape)
    warm = fit_chains(likelihood, covariance, 1e-9, 60, start)
    np.testing.assert_allclose(warm.latent, cold.latent, atol=1e-7)


def test_loss_falls_with_every_step():
    likelihood, covariance, _, _ = small_problem(variance=100.0)
    losses = [step.loss for step in fit_chains(likelihood, covariance, 1e-8, 60).trace]
    assert all(np.diff(losses) <= 1e-10 * losses[0])


WEIGHTS = np.random.RandomState(5).choice([0.0, 0.5, 1.0, 3.0], 14)


def criterion(tolerance=1e-10, policy=EXACT, weights=None):
    X, y = draw_sequences(14)
    chains, labels, rows = chains_of(X, y)
    held_out = np.arange(chains.n_chains) % 3 == np.arange(3)[:, None]
    return HeldOutChains(chains, labels, held_out, tolerance, policy=policy, weights=weights), rows


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("tying", ["shared", "separate"])
def test_gradient_of_the_criterion_matches_differences(tying, weights):
    judge, rows = criterion(weights=weights)
    start = specify(tying=tying, pseudocount=0.7, piecewise=0.4)

    def evaluate(values):
        own = start.with_log_parameters(values)
        return own, judge.evaluate(bind(own, rows), own.pseudocount, own.piecewise)

    origin, step = start.log_parameters, 1e-4
    own, found = evaluate(origin)
    gradient = own.collect(found)
    for number in range(len(origin)):
        shift = step * np.eye(len(origin))[number]
        slope = (evaluate(origin + shift)[1].value - evaluate(origin - shift)[1].value) / (2 * step)
        assert gradient[number] == pytest.approx(slope, abs=2e-7), number


@pytest.mark.parametrize("own_weights", [np.ones(14), WEIGHTS], ids=["equal", "weighted"])
def test_value_of_the_criterion_is_the_loss_of_held_out_sequences(own_weights):
    judge, rows = criterion(weights=own_weights)
    own = specify(pseudocount=0.7, piecewise=0.4)
    total, covariance = 0.0, bind(own, rows)
    for held_out in judge.held_out:
        weights = own_weights * ~held_out
        mean = count_transitions(judge.chains, judge.labels, weights, 0.7).value
        likelihood = ChainLikelihood(judge.chains, judge.labels, weights, mean, 0.4)
        fit = fit_chains(likelihood, covariance, 1e-10, 60)
        lengths, field = np.diff(judge.chains.offsets), fit.latent.copy()
        field[:, judge.chains.n_positions :] += mean
        totals = enumerate_chains(field, lengths, weights).log_partition
        total += own_weights[held_out] @ (totals - judge.chains.scores_of(field, judge.labels))[held_out]
    found = judge.evaluate(covariance, own.pseudocount, own.piecewise)
    assert found.value == pytest.approx(total / (own_weights @ np.diff(judge.chains.offsets)), abs=1e-9)


def test_rough_fits_are_corrected():
    own = specify(pseudocount=0.7, piecewise=0.4)
    exact, rows = criterion()
    rough, _ = criterion(0.05)
    values = [judge.evaluate(bind(own, rows), own.pseudocount, own.piecewise).value for judge in (exact, rough)]
    assert values[1] == pytest.approx(values[0], abs=1e-4)


def test_search_lowers_the_criterion_and_keeps_fixed_values():
    judge, rows = criterion(0.01, ChainPolicy())
    start = specify(rate=20.0, variance=300.0, transition_variance=0.0)
    points = bind_points(start, rows)
    log = SearchLog(Journal(), lambda record: None)
    found = minimise(judge, start, points, log)
    assert log.records[-1].best < log.records[0].value - 0.05
    assert found.transition_variance == 0.0 and np.isinf(found.pseudocount)
    assert found.positions.bias_variance == pytest.approx(start.positions.bias_variance)


def bind_points(specification, rows):
    from logikern.operators.choose import choose

    return choose(specification.positions.kernels, rows, precision="double").points(rows)


def test_directions_far_from_the_optimum_are_rough():
    """The optimum is the same, with fewer products than with accurate directions."""
    X, y = draw_sequences(150)
    chains, labels, rows = chains_of(X, y)
    likelihood = ChainLikelihood(chains, labels, np.ones(150), np.zeros((3, 5)), 0.5)
    covariance = bind(specify(rate=5.0, variance=1000.0), rows)
    rough, accurate = (
        fit_chains(likelihood, covariance, 1e-4, 100, policy=policy)
        for policy in (ChainPolicy(), ChainPolicy(last_gain=1e-6, first_products=500))
    )
    assert rough.outcome.converged and accurate.outcome.converged
    assert rough.n_products < 0.8 * accurate.n_products
    np.testing.assert_allclose(rough.dual, accurate.dual, atol=1e-3)
