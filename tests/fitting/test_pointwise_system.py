"""What is special to Newton systems solved point by point."""

import numpy as np
import pytest

from logikern.fitting.newton.iterative import Newton
from logikern.fitting.newton.joint import joint_covariance
from logikern.fitting.newton.systems import IterativeSystem, Response, StoppingRule
from logikern.fitting.pointwise.schedule import POLICY, PointwisePolicy
from logikern.fitting.pointwise.solver import PointwiseAscent
from logikern.fitting.pointwise.system import PointwiseSystem
from logikern.fitting.preconditioning.adaptive import DiagonalConditioning
from logikern.fitting.problem import no_callback
from tests.fitting.texts import build, optimum


class NeverNeeded:
    def solve(self, *_):
        pytest.fail("another system was asked")


def system_of(name, otherwise=NeverNeeded, policy=POLICY):
    problem = build(name)
    curvature = problem.expand(optimum(name).latent).curvature
    return problem, curvature, PointwiseSystem(problem.covariance, curvature, otherwise, policy=policy)


def dense_response(problem, curvature, functions):
    """R f of each weighting by dense algebra."""
    _, n_classes, n = problem.shape
    found = []
    joint = joint_covariance(problem.covariance)
    for scale, null, own in zip(curvature.scale, curvature.null, functions, strict=True):
        W = np.zeros((n_classes, n, n_classes, n))
        for i in range(n):
            projector = np.eye(n_classes) - np.outer(null[:, i], null[:, i])
            W[:, i, :, i] = scale[:, i, None] * projector * scale[:, i]
        W = W.reshape(n_classes * n, n_classes * n)
        found.append(np.linalg.solve(np.eye(len(W)) + W @ joint, W @ own.ravel()).reshape(n_classes, n))
    return np.stack(found)


@pytest.mark.parametrize(
    "name", ["flat", "variances of classes", "chain", "weightings", "equal texts", "distributions", "without bias"]
)
def test_response_is_that_of_dense_algebra(name):
    problem, curvature, system = system_of(name, lambda: IterativeSystem(problem.covariance, curvature, plain, 500))
    plain = Newton(conditioning=DiagonalConditioning()).conditioning.prepare(problem.covariance)(curvature, None)
    functions = np.random.default_rng(0).standard_normal(problem.shape)
    response = system.response(functions, np.full(len(functions), 1e-10))
    wanted = dense_response(problem, curvature, functions)
    np.testing.assert_allclose(response.value, wanted, atol=1e-8)
    np.testing.assert_allclose(response.image, problem.covariance.matmul(wanted), atol=1e-7)


def test_few_rounds_are_enough_where_points_share_little():
    problem, _, system = system_of("chain")
    constant = np.random.default_rng(0).standard_normal(problem.shape)
    constant -= constant.mean(axis=1, keepdims=True)
    response = system.solve(constant, StoppingRule(np.full(1, 1e-3)))
    assert response.n_products <= 40  # a round is up to eight of visits and one to look


def test_rounds_go_on_while_residuals_halve():
    early = PointwisePolicy(system_rounds=1, system_halving_rounds=1)
    problem, curvature, system = system_of("chain", policy=early)
    constant = np.random.default_rng(0).standard_normal(problem.shape)
    constant -= constant.mean(axis=1, keepdims=True)
    response = system.solve(constant, StoppingRule(np.full(1, 1e-3)))
    wanted = constant - dense_response(problem, curvature, problem.covariance.matmul(constant))
    np.testing.assert_allclose(response.value, wanted, atol=1e-2)


def test_what_creeps_is_left_to_another_system():
    asked = []

    class Other:
        def __init__(self, problem, curvature):
            self.problem, self.curvature = problem, curvature

        def solve(self, residual, rule):
            asked.append(np.abs(residual).max())
            value = residual - dense_response(self.problem, self.curvature, self.problem.covariance.matmul(residual))
            return Response(value, self.problem.covariance.matmul(value), 7)

    problem, curvature, system = system_of("both", lambda: Other(problem, curvature))
    constant = np.random.default_rng(0).standard_normal(problem.shape)
    constant -= constant.mean(axis=1, keepdims=True)
    response = system.solve(constant, StoppingRule(np.full(len(constant), 1e-9)))
    assert asked
    wanted = constant - dense_response(problem, curvature, problem.covariance.matmul(constant))
    np.testing.assert_allclose(response.value, wanted, atol=1e-6)


def test_order_of_visits_follows_the_seed_of_newton(monkeypatch):
    monkeypatch.setattr(PointwiseAscent, "fit", lambda *arguments: optimum("flat"))
    problem = build("flat")
    fit = Newton(seed=5, pointwise=PointwisePolicy(worthwhile_from=0)).begin(problem, None, no_callback, 1e-4)
    curvature = problem.expand(optimum("flat").latent).curvature
    assert fit.make_system(curvature, np.arange(1)).seed == 5
