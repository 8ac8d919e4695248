"""What every likelihood owes: derivatives that match differences, point by point and weight by weight."""

import numpy as np
import pytest

from tests.likelihoods import catalogue

every_likelihood = pytest.mark.parametrize("case", catalogue.ALL, ids=str)
with_null_directions = pytest.mark.parametrize("case", catalogue.ALL[:2], ids=str)

SHAPE = (catalogue.N_BATCH, catalogue.N_CLASSES, catalogue.N_POINTS)
SIZE = catalogue.N_CLASSES * catalogue.N_POINTS


def latents(seed=0, scale=2.0):
    return scale * np.random.default_rng(seed).standard_normal(SHAPE)


def expand(case, latent):
    return case.likelihood.expand(latent, case.targets, catalogue.weights())


def loss(case, latent):
    return case.likelihood.loss_and_gradient(latent, case.targets, catalogue.weights())[0]


def gradient(case, latent):
    return case.likelihood.loss_and_gradient(latent, case.targets, catalogue.weights())[1]


def by_entry(function, latent, step=1e-5):
    """Central differences of a function of the batch by each entry (C n) of its members, first axis."""
    moves = step * np.eye(SIZE).reshape(SIZE, 1, *SHAPE[1:])
    return np.stack([(function(latent + move) - function(latent - move)) / (2 * step) for move in moves])


def dense_curvature(curvature, member):
    """W, (C n, C n): the curvature applied to unit functions, as V V'."""
    units = np.eye(SIZE).reshape(SIZE, *SHAPE[1:])
    members = np.full(SIZE, member)
    adjoint = curvature.take_members(members).root_adjoint(units.copy())
    return curvature.take_members(members).root(adjoint).reshape(SIZE, SIZE)


@every_likelihood
def test_gradient_matches_differences(case):
    differences = by_entry(lambda latent: loss(case, latent), latents())  # (C n, B)
    np.testing.assert_allclose(gradient(case, latents()), differences.T.reshape(SHAPE), atol=1e-8)


@every_likelihood
def test_curvature_matches_differences(case):
    differences = by_entry(lambda latent: gradient(case, latent), latents())  # (C n, B, C, n)
    curvature = expand(case, latents()).curvature
    for member in range(catalogue.N_BATCH):
        expected = differences[:, member].reshape(SIZE, SIZE)
        np.testing.assert_allclose(dense_curvature(curvature, member), expected, atol=1e-8)


@every_likelihood
def test_curvature_is_positive_semidefinite(case):
    curvature = expand(case, latents(scale=20.0)).curvature
    for member in range(catalogue.N_BATCH):
        assert np.linalg.eigvalsh(dense_curvature(curvature, member))[0] > -1e-13


@with_null_directions
def test_null_directions_have_unit_length(case):
    null = expand(case, latents(scale=20.0)).curvature.null
    np.testing.assert_allclose((null**2).sum(axis=1), 1.0, rtol=1e-14)


@every_likelihood
def test_projector_is_idempotent(case):
    curvature = expand(case, latents()).curvature
    once = curvature.project(latents(1))
    np.testing.assert_allclose(curvature.project(once.copy()), once, atol=1e-14)


@every_likelihood
def test_root_and_its_adjoint_are_transposed(case):
    curvature = expand(case, latents()).curvature
    projected, other = curvature.project(latents(1)), latents(2)
    np.testing.assert_allclose(
        np.sum(curvature.root(projected) * other), np.sum(projected * curvature.root_adjoint(other)), rtol=1e-12
    )


@every_likelihood
def test_root_of_some_members_is_theirs(case):
    curvature = expand(case, latents()).curvature
    some = np.array([2, 0])
    np.testing.assert_array_equal(
        curvature.take_members(some).root_adjoint(latents(1)[some]), curvature.root_adjoint(latents(1))[some]
    )


@every_likelihood
def test_expansion_has_the_same_loss(case):
    np.testing.assert_array_equal(expand(case, latents()).loss, loss(case, latents()))


@every_likelihood
def test_expansion_has_the_same_gradient(case):
    np.testing.assert_array_equal(expand(case, latents()).gradient, gradient(case, latents()))


@every_likelihood
def test_weighted_losses_of_points_add_up_to_the_loss(case):
    losses = case.likelihood.losses(latents(), case.targets)
    np.testing.assert_allclose((catalogue.weights() * losses).sum(axis=1), loss(case, latents()), rtol=1e-13)


@every_likelihood
def test_first_slope_matches_differences(case):
    latent, direction, step = latents(), latents(1), 1e-5
    expected = (loss(case, latent + step * direction) - loss(case, latent - step * direction)) / (2 * step)
    first, _ = case.likelihood.derivatives_along(latent, direction, case.targets, catalogue.weights())
    np.testing.assert_allclose(first, expected, rtol=1e-7)


@every_likelihood
def test_second_slope_matches_differences(case):
    latent, direction, step = latents(), latents(1), 1e-5

    def first(at):
        return case.likelihood.derivatives_along(at, direction, case.targets, catalogue.weights())[0]

    expected = (first(latent + step * direction) - first(latent - step * direction)) / (2 * step)
    _, second = case.likelihood.derivatives_along(latent, direction, case.targets, catalogue.weights())
    np.testing.assert_allclose(second, expected, rtol=1e-7)


@every_likelihood
def test_curvature_bends_as_differences_say(case):
    latent, left, right = latents(), latents(1), latents(2)

    def roots(at, functions):
        return expand(case, at).curvature.root_adjoint(functions.copy())

    def weighted(at):
        return (roots(at, left) * roots(at, right)).sum(axis=(1, 2))

    differences = by_entry(weighted, latent)  # (C n, B)
    bent = case.likelihood.third_derivative(latent, roots(latent, left) * roots(latent, right))
    np.testing.assert_allclose(bent, differences.T.reshape(SHAPE), rtol=1e-7, atol=1e-7)


@every_likelihood
def test_points_of_weight_zero_have_no_loss(case):
    latent = latents()
    moved = latent.copy()
    moved[1, :, ::2] += 7.0 * latents(3)[1, :, ::2]  # the second weighting is zero at even points
    np.testing.assert_allclose(loss(case, moved)[1], loss(case, latent)[1], rtol=1e-14)


@every_likelihood
def test_weights_count_like_repeated_points(case):
    latent, targets = latents()[:1], case.targets
    counts = np.array([1, 3, 0, 2, 1, 1])
    weighted, _ = case.likelihood.loss_and_gradient(latent, targets, counts[None].astype(float))
    repeated, _ = case.likelihood.loss_and_gradient(
        np.repeat(latent, counts, axis=2), np.repeat(targets, counts, axis=1), np.ones((1, counts.sum()))
    )
    np.testing.assert_allclose(weighted, repeated, rtol=1e-13)


@every_likelihood
def test_latents_are_left_alone(case):
    latent = latents()
    expand(case, latent)
    case.likelihood.derivatives_along(latent, latents(1), case.targets, catalogue.weights())
    np.testing.assert_array_equal(latent, latents())


@every_likelihood
def test_targets_are_left_alone(case):
    before = case.targets.copy()
    expand(case, latents())
    np.testing.assert_array_equal(case.targets, before)


@every_likelihood
def test_large_latents_give_finite_expansions(case):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        expansion = expand(case, latents(scale=1e4))
    parts = (expansion.loss, expansion.gradient, expansion.curvature.scale, expansion.curvature.null)
    assert all(np.isfinite(part).all() for part in parts if part is not None)


@every_likelihood
def test_curvature_is_the_same_everywhere_where_it_is_said_to_be(case):
    first, second = (expand(case, latents(seed)).curvature.scale for seed in (0, 1))
    assert case.likelihood.is_quadratic == np.allclose(first, second)


def duals(case):
    """Any, but zero where there is no weight: elsewhere the conjugate is infinite."""
    drawn = np.random.default_rng(9).standard_normal(SHAPE)
    return np.where(catalogue.weights()[:, None, :] > 0, drawn, 0.0)


with_gap = pytest.mark.parametrize("case", [case for case in catalogue.ALL if case.name == "squared"], ids=str)


@with_gap
def test_gap_is_that_of_no_other_latents(case):
    own, dual = latents(), duals(case)
    gap = case.likelihood.gap(dual, own, case.targets, catalogue.weights())
    for seed in range(1, 20):
        other = latents(seed)
        bound = loss(case, own) - loss(case, other) + np.einsum("bcn,bcn->b", dual, own - other)
        assert (bound <= gap).all()


@with_gap
def test_gap_closes_where_the_dual_is_minus_the_gradient(case):
    own = latents()
    gap = case.likelihood.gap(-gradient(case, own), own, case.targets, catalogue.weights())
    np.testing.assert_allclose(gap, 0.0, atol=1e-25)
