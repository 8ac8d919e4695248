"""The recursions over chains, against enumeration of all label sequences."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.numerics.parallel import TILES, own_threads
from logikern.sequences.chains import Chains, infer
from logikern.sequences.likelihood import ChainLikelihood, count_transitions
from tests.sequences.enumeration import counts_of, enumerate_chains
from tests.sequences.samples import chains_of, draw_sequences

LENGTHS, N_LABELS = (1, 2, 4, 3), 3
WEIGHTS = np.array([1.0, 0.5, 2.0, 0.0])
CHAINS = Chains(np.array([0, 1, 3, 7, 10]), N_LABELS)


def draw_field(scale, seed=0):
    return scale * np.random.RandomState(seed).randn(*CHAINS.shape)


@pytest.mark.parametrize("scale", [0.0, 2.0, 400.0])
def test_partition_sums_and_expectations_are_those_of_enumeration(scale):
    """At the largest scale, products of exponentials underflow."""
    field = draw_field(scale)
    found, wanted = infer(CHAINS, field), enumerate_chains(field, LENGTHS, WEIGHTS)
    np.testing.assert_allclose(found.log_partition, wanted.log_partition, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(found.expect(WEIGHTS), wanted.expected, atol=1e-10)


@pytest.mark.parametrize("scale", [0.0, 2.0, 400.0])
def test_derivative_of_expectations_is_the_covariance_of_counts(scale):
    field, direction = draw_field(scale), draw_field(1.0, seed=1)
    wanted = enumerate_chains(field, LENGTHS, WEIGHTS).covariance @ direction.ravel()
    found = infer(CHAINS, field).differentiate(WEIGHTS, direction)
    np.testing.assert_allclose(found.ravel(), wanted, atol=1e-9)


def test_derivative_matches_differences():
    field, direction, step = draw_field(2.0), draw_field(1.0, seed=1), 1e-5
    ahead, behind = (infer(CHAINS, field + sign * step * direction).expect(WEIGHTS) for sign in (1, -1))
    np.testing.assert_allclose(
        infer(CHAINS, field).differentiate(WEIGHTS, direction), (ahead - behind) / (2 * step), atol=1e-8
    )


def test_split_and_join_are_adjoint():
    field, random = draw_field(1.0), np.random.RandomState(1)
    per_place, pairs = random.randn(CHAINS.n_positions, N_LABELS), random.randn(N_LABELS, N_LABELS)
    scores, transition = CHAINS.split(field)
    left = np.vdot(scores, per_place) + np.vdot(transition, pairs)
    assert left == pytest.approx(np.vdot(field, CHAINS.join(per_place, pairs)))


def test_scores_are_inner_products_with_counts():
    field, labels = draw_field(2.0), np.random.RandomState(1).randint(N_LABELS, size=CHAINS.n_positions)
    parts = np.split(labels, CHAINS.offsets[1:-1])
    counts = [
        counts_of(own, begin, CHAINS.n_positions, N_LABELS)
        for own, begin in zip(parts, CHAINS.offsets[:-1], strict=True)
    ]
    np.testing.assert_allclose(CHAINS.scores_of(field, labels), [np.vdot(field, one) for one in counts])
    np.testing.assert_allclose(CHAINS.count(labels, WEIGHTS), np.tensordot(WEIGHTS, counts, axes=1))


def test_best_labels_have_the_largest_score_of_all():
    field = draw_field(2.0)
    best = CHAINS.scores_of(field, CHAINS.best_labels(field))
    random = np.random.RandomState(1)
    tried = [CHAINS.scores_of(field, random.randint(N_LABELS, size=CHAINS.n_positions)) for _ in range(5000)]
    np.testing.assert_allclose(best, np.max(tried, axis=0))  # 81 sequences at most: all are tried


def test_draws_have_the_frequencies_of_marginals_and_pairs():
    field, n = draw_field(1.0), 40_000
    posterior = infer(CHAINS, field)
    drawn = posterior.draw(n, np.random.RandomState(0))
    counts = np.mean([CHAINS.count(labels, np.ones(4)) for labels in drawn[:4000]], axis=0)
    np.testing.assert_allclose(counts, posterior.expect(np.ones(4)), atol=0.06)
    for label in range(N_LABELS):
        np.testing.assert_allclose(np.mean(drawn == label, axis=0), posterior.marginals[:, label], atol=0.012)


@pytest.mark.parametrize("piecewise", [0.0, 0.7])
def test_gradient_and_curvature_of_the_likelihood_match_differences(piecewise):
    random = np.random.RandomState(1)
    labels, mean = random.randint(N_LABELS, size=CHAINS.n_positions), random.randn(N_LABELS, N_LABELS + 2)
    likelihood = ChainLikelihood(CHAINS, labels, WEIGHTS, mean, piecewise)
    field, direction, step = draw_field(1.0), draw_field(1.0, seed=2), 1e-5
    at = [field + sign * step * direction for sign in (1, -1)]
    losses = [likelihood.loss(likelihood.infer(one), one) for one in at]
    gradients = [likelihood.gradient(likelihood.infer(one)) for one in at]
    found = likelihood.infer(field)
    slope = np.vdot(likelihood.gradient(found), direction)
    assert slope == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-7)
    np.testing.assert_allclose(
        likelihood.curve(found, direction), (gradients[0] - gradients[1]) / (2 * step), atol=1e-8
    )


def test_prior_mean_is_the_logarithm_of_relative_frequencies():
    labels = np.array([0, 0, 1, 0, 1, 2, 0, 1, 1, 2])
    mean = count_transitions(CHAINS, labels, np.ones(4), 0.5).value
    shares = (np.bincount(labels) + 1) / (len(labels) + 3)
    # Label 1 follows label 0 twice, and nothing else does.
    assert mean[0, 1] == pytest.approx(np.log((2 + 0.5 * shares[1]) / 2.5 / shares[1]))
    assert mean[0, 2] == pytest.approx(np.log(0.5 / 2.5))
    assert mean[2, -1] == pytest.approx(
        np.log((1 + 0.5 * shares[2]) / 4.5 / shares[2])
    )  # the last label of one chain


def test_prior_mean_vanishes_for_many_pseudo_observations():
    labels = np.array([0, 0, 1, 0, 1, 2, 0, 1, 1, 2])
    assert not count_transitions(CHAINS, labels, np.ones(4), np.inf).value.any()
    np.testing.assert_allclose(count_transitions(CHAINS, labels, np.ones(4), 1e12).value, 0.0, atol=1e-9)


def test_derivative_of_the_prior_mean_matches_differences():
    labels = np.array([0, 0, 1, 0, 1, 2, 0, 1, 1, 2])
    at = [count_transitions(CHAINS, labels, WEIGHTS, 0.5 * np.exp(step)).value for step in (1e-6, -1e-6)]
    found = count_transitions(CHAINS, labels, WEIGHTS, 0.5).derivative
    np.testing.assert_allclose(found, (at[0] - at[1]) / 2e-6, atol=1e-8)


def test_parts_for_threads_do_not_change_the_distribution(monkeypatch):
    X, y = draw_sequences(40)
    chains, labels, _ = chains_of(X, y)
    field, weights = np.random.RandomState(0).randn(2, *chains.shape), np.random.RandomState(1).uniform(size=40)
    assert len(chains.parts) == 1
    whole = infer(chains, field[0])
    monkeypatch.setattr("logikern.sequences.chains.TILES", replace(TILES, fewest_entries=100))
    divided, _, _ = chains_of(X, y)
    assert len(divided.parts) > 4
    with own_threads(2):
        parts = infer(divided, field[0])
        np.testing.assert_array_equal(parts.marginals, whole.marginals)
        np.testing.assert_array_equal(parts.log_partition, whole.log_partition)
        np.testing.assert_allclose(parts.expect(weights), whole.expect(weights), atol=1e-12)
        np.testing.assert_allclose(
            parts.differentiate(weights, field[1]), whole.differentiate(weights, field[1]), atol=1e-12
        )
        np.testing.assert_array_equal(divided.best_labels(field[0]), chains.best_labels(field[0]))
