"""A solver of one's own: gradient descent in function space."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from logikern import KernelLogisticClassifier
from logikern.fitting.newton.dense import Exact
from logikern.fitting.problem import FitResult, Solver
from logikern.numerics.outcome import Outcome
from tests.extending.problems import N_POINTS, labels, points, problem


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


def test_estimator_fits_by_the_new_solver():
    own, usual = (
        KernelLogisticClassifier(solver=solver, variance=1.0, criterion=None).fit(points(), labels())
        for solver in (GradientDescent(), "exact")
    )
    np.testing.assert_allclose(own.predict_proba(points()), usual.predict_proba(points()), atol=1e-5)
    assert own.outcome_.converged and "GradientDescent" in str(own.plan_)


def test_stream_continues_by_the_new_solver():
    model = KernelLogisticClassifier(solver=GradientDescent(), rate=0.5, variance=2.0)
    for part in (slice(0, 15), slice(15, None)):
        model.partial_fit(points()[part], labels()[part], classes=[0, 1, 2])
    whole = KernelLogisticClassifier(criterion=None, rate=0.5, variance=2.0).fit(points(), labels())
    np.testing.assert_allclose(model.predict_proba(points()), whole.predict_proba(points()), atol=1e-4)


def test_solver_that_ends_early_warns():
    model = KernelLogisticClassifier(solver=GradientDescent(max_steps=2), criterion=None)
    with pytest.warns(ConvergenceWarning, match="gradient norm"):
        model.fit(points(), labels())


def test_class_instead_of_a_solver_is_refused():
    with pytest.raises(ValueError, match="or a Solver, but is"):
        KernelLogisticClassifier(solver=GradientDescent).fit(points(), labels())
