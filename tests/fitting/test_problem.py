import numpy as np

from logikern.fitting.problem import FitResult, max_norm
from logikern.numerics.outcome import Outcome
from tests.fitting import catalogue


def result(*outcomes):
    empty = np.zeros((len(outcomes), 2, 3))
    return FitResult(empty, empty, np.zeros(len(outcomes)), outcomes, (), 0)


def test_covariance_times_gradient_is_the_derivative_of_the_penalised_loss():
    problem = catalogue.BY_NAME["weighted distributions"].build()
    dense = catalogue.dense_covariance(problem)
    dual = np.random.default_rng(0).standard_normal(problem.shape)
    latent = problem.covariance.matmul(dual)
    derivative = problem.covariance.matmul(problem.gradient(dual, latent))
    step = 1e-6
    for member in range(problem.shape[0]):
        at = dual[member].ravel()
        differences = [
            catalogue.penalised_loss(problem, dense, at + move, member)
            - catalogue.penalised_loss(problem, dense, at - move, member)
            for move in step * np.eye(at.size)
        ]
        expected = np.array(differences) / (2 * step)
        # Losses of 1e3 are rounded at 1e-13, over a step of 1e-6.
        np.testing.assert_allclose(derivative[member].ravel(), expected, rtol=1e-6, atol=1e-5)


def test_restriction_keeps_the_weightings_named():
    problem = catalogue.BY_NAME["several weightings"].build()
    restricted = problem.restrict(np.array([2, 0]))
    np.testing.assert_array_equal(restricted.weights, problem.weights[[2, 0]])


def test_shape_is_batch_classes_points():
    assert catalogue.BY_NAME["several weightings"].build().shape == (4, 3, 24)


def test_norm_is_the_largest_absolute_value_of_each_member():
    values = np.array([[[1.0, -3.0]], [[2.0, 0.5]]])
    np.testing.assert_array_equal(max_norm(values), [3.0, 2.0])


def test_outcome_of_a_batch_is_the_first_that_is_not_convergence():
    outcomes = (Outcome.CONVERGED, Outcome.ROUNDING, Outcome.STALLED)
    assert result(*outcomes).outcome is Outcome.ROUNDING


def test_outcome_of_a_batch_that_converged_is_convergence():
    assert result(Outcome.CONVERGED, Outcome.CONVERGED).outcome is Outcome.CONVERGED
