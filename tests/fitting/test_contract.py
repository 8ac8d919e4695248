"""What every solver owes on every problem: the optimum, and an honest report."""

from functools import cache

import numpy as np
import pytest

from logikern.fitting.units import usual_weights
from logikern.numerics.outcome import Outcome
from tests.fitting import catalogue

every_fit = pytest.mark.parametrize("case, solver", catalogue.FITS, ids=str)
# Claims about records, which depend on the solver more than on the problem: a seventh of the fits has every solver.
some_fits = pytest.mark.parametrize("case, solver", catalogue.FITS[::7], ids=str)

# Newton and exact duals agree to this.
AGREEMENT = 1e-6


@cache
def build(name):
    return catalogue.BY_NAME[name].build()


@cache
def fit(name, solver):
    return catalogue.SOLVERS[solver].fit(build(name))


@cache
def dense_covariance(name):
    return catalogue.dense_covariance(build(name))


def rounding(problem):
    """Of the gradient: products in another order differ by 1e-12, and the likelihood multiplies by weights."""
    return 1e-10 + 1e-12 * problem.weights.max()


def image(case, dual):
    """K~ dual from dense algebra."""
    return (dual.reshape(len(dual), -1) @ dense_covariance(case.name)).reshape(dual.shape)


@every_fit
def test_fit_converges(case, solver):
    assert fit(case.name, solver).outcome is Outcome.CONVERGED


@every_fit
def test_dual_agrees_with_the_exact_one(case, solver):
    expected = fit(case.name, "exact").dual
    np.testing.assert_allclose(fit(case.name, solver).dual, expected, rtol=0, atol=AGREEMENT)


@every_fit
def test_dual_is_minus_the_gradient_of_the_likelihood(case, solver):
    problem, result = build(case.name), fit(case.name, solver)
    latent = image(case, result.dual)
    usual = max(1.0, float(np.median(problem.weights[problem.weights > 0])))
    np.testing.assert_allclose(
        problem.gradient(result.dual, latent), 0.0, atol=2 * usual * catalogue.TOLERANCE + rounding(problem)
    )


@every_fit
def test_latents_are_the_image_of_the_dual(case, solver):
    result = fit(case.name, solver)
    np.testing.assert_allclose(result.latent, image(case, result.dual), rtol=1e-9, atol=1e-9)


@every_fit
def test_dual_sums_to_zero_over_classes(case, solver):
    dual = fit(case.name, solver).dual
    np.testing.assert_allclose(dual.sum(axis=1), 0.0, atol=1e-8)


@every_fit
def test_points_of_weight_zero_have_dual_zero(case, solver):
    dual = fit(case.name, solver).dual
    without = np.broadcast_to((build(case.name).weights == 0)[:, None, :], dual.shape)
    assert (dual[without] == 0.0).all()


@every_fit
def test_penalised_loss_does_not_fall_in_any_direction(case, solver):
    problem, result = build(case.name), fit(case.name, solver)
    dense = dense_covariance(case.name)
    generator = np.random.default_rng(0)
    for member, dual in enumerate(result.dual):
        at = dual.ravel()
        value = catalogue.penalised_loss(problem, dense, at, member)
        for size in (1e-3, 1.0):
            moved = at + size * generator.standard_normal(at.size)
            # The value itself is rounded at 1e-14 of its size.
            assert catalogue.penalised_loss(problem, dense, moved, member) >= value - 1e-12 * abs(value)


@some_fits
def test_loss_of_the_last_step_is_the_penalised_loss(case, solver):
    problem, result = build(case.name), fit(case.name, solver)
    expected = sum(
        catalogue.penalised_loss(problem, dense_covariance(case.name), dual.ravel(), member)
        for member, dual in enumerate(result.dual)
    )
    assert result.trace[-1].loss == pytest.approx(expected, rel=1e-9, abs=1e-9)


@some_fits
def test_gradient_norm_is_that_of_the_dual(case, solver):
    problem, result = build(case.name), fit(case.name, solver)
    expected = np.abs(problem.gradient(result.dual, image(case, result.dual))).max(axis=(1, 2))
    # Near the optimum the dual is what is left of the targets.
    usual = usual_weights(problem.weights)
    size = np.minimum(np.abs(result.dual).max(axis=(1, 2)), usual)
    np.testing.assert_allclose(result.gradient_norm * size, expected, atol=rounding(problem), rtol=1e-5)


@pytest.mark.parametrize("case, solver", [fit for fit in catalogue.FITS if fit[1] != "smo"], ids=str)
def test_loss_never_rises(case, solver):
    # In the dual it is the lower bound that never falls: see test_smo.py.
    losses = np.array([step.loss for step in fit(case.name, solver).trace])
    assert (np.diff(losses) <= 1e-10 * np.abs(losses[:-1])).all()


@some_fits
def test_steps_are_numbered(case, solver):
    trace = fit(case.name, solver).trace
    assert [step.step for step in trace] == list(range(len(trace)))


@some_fits
def test_products_are_counted(case, solver):
    result = fit(case.name, solver)
    counts = [step.products for step in result.trace]
    assert counts == sorted(counts) and counts[-1] == result.n_products
