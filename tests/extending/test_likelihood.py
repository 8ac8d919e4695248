"""A likelihood of one's own: several yes-or-no labels per point."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import expit

from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.likelihoods.base import Expansion, Likelihood
from logikern.likelihoods.curvature import PointwiseCurvature
from tests.extending.problems import problem


@dataclass(frozen=True)
class Bernoulli(Likelihood):
    """-log P = sum_i w_i sum_c (log(1 + exp(u_ic)) - t_ic u_ic), targets t between 0 and 1."""

    def loss_and_gradient(self, latent, targets, weights):
        loss = np.einsum("bn,bn->b", weights, self.losses(latent, targets))
        return loss, (expit(latent) - targets) * weights[:, None, :]

    def expand(self, latent, targets, weights):
        scale = np.sqrt(expit(latent) * expit(-latent) * weights[:, None, :])
        return Expansion(*self.loss_and_gradient(latent, targets, weights), PointwiseCurvature(scale, None))

    def losses(self, latent, targets):
        return (np.logaddexp(0.0, latent) - targets * latent).sum(axis=1)

    def derivatives_along(self, latent, direction, targets, weights):
        first = np.einsum("bn,bcn,bcn->b", weights, expit(latent) - targets, direction)
        return first, np.einsum("bn,bcn,bcn->b", weights, expit(latent) * expit(-latent), direction**2)

    def third_derivative(self, latent, products):
        return products * (1.0 - 2.0 * expit(latent))


def several_labels():
    """Each class or not, independently."""
    usual = problem()
    targets = (np.random.default_rng(1).random(usual.targets.shape) < 0.4).astype(float)
    return replace(usual, likelihood=Bernoulli(), targets=targets)


@pytest.mark.parametrize("solver", [Newton(tolerance=1e-9), Exact(tolerance=1e-9)], ids=["newton", "exact"])
def test_solvers_fit_a_new_likelihood(solver):
    own = several_labels()
    found = solver.fit(own)
    assert found.outcome.converged
    # At the optimum, dual = targets - probabilities.
    latent = own.covariance.matmul(found.dual)
    np.testing.assert_allclose(found.dual[0], own.targets - expit(latent[0]), atol=1e-8)


def test_gradient_of_the_new_likelihood_matches_differences():
    own, step = several_labels(), 1e-6
    latent, direction = np.random.default_rng(2).standard_normal((2, 1, *own.targets.shape))
    _, gradient = own.likelihood.loss_and_gradient(latent, own.targets, own.weights)
    higher, lower = (own.loss(latent + move * direction) for move in (step, -step))
    np.testing.assert_allclose(np.sum(gradient * direction), (higher - lower)[0] / (2 * step), rtol=1e-6)
