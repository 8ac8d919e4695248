"""A solver of one's own: gradient descent in function space."""

from dataclasses import dataclass

import numpy as np

from logikern.fitting.newton.dense import Exact
from logikern.fitting.problem import FitResult, Solver
from logikern.numerics.outcome import Outcome
from tests.extending.problems import N_POINTS, problem


@dataclass(frozen=True)
class GradientDescent(Solver):
    """dual <- dual - step (dual + gradient of the likelihood), for all weightings together."""

    tolerance: float = 1e-8
    max_steps: int = 5000

    def fit(self, problem, start=None, callback=None):
        dual = np.zeros(problem.shape) if start is None else -problem.gradient(np.zeros(problem.shape), start)
        # The curvature of the softmax is at most 1/2, and the trace bounds the eigenvalues of the covariance.
        step = 1.0 / (1.0 + 0.5 * problem.covariance.diagonal().sum(axis=1).max())
        n_products = 0
        while n_products < self.max_steps:
            n_products += 1
            latent = problem.covariance.matmul(dual)
            gradient = problem.gradient(dual, latent)
            norms = np.abs(gradient).max(axis=(1, 2))
            if norms.max() < self.tolerance:
                break
            dual -= step * gradient
        outcomes = tuple(Outcome.CONVERGED if norm < self.tolerance else Outcome.OUT_OF_STEPS for norm in norms)
        return FitResult(dual, latent, norms, outcomes, (), n_products)


def two_weightings():
    return problem(weights=np.stack([np.ones(N_POINTS), 1.0 * (np.arange(N_POINTS) % 3 != 0)]))


def test_new_solver_finds_the_same_optimum():
    found, expected = GradientDescent().fit(two_weightings()), Exact(tolerance=1e-10).fit(two_weightings())
    assert found.outcome.converged
    np.testing.assert_allclose(found.dual, expected.dual, atol=1e-6)


def test_new_solver_resumes_from_a_dual():
    optimum = Exact(tolerance=1e-10).fit(two_weightings())
    assert GradientDescent().resume(two_weightings(), optimum.dual).n_products == 1
