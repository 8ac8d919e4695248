"""What is special to conjugate gradients in the function space: their cost, the squared loss, its gap."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from logikern import KernelLogisticClassifier
from logikern.fitting.functional_cg import KernelGradient
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.kernels import Gaussian, Precomputed, RationalQuadratic, training_points
from logikern.likelihoods.coarse import CoarseSoftmax
from logikern.likelihoods.squared import Squared
from logikern.numerics.outcome import Outcome
from tests.fitting import catalogue
from tests.kernels.catalogue import N_POINTS, table
from tests.likelihoods.poisson import Poisson
from tests.structure.trees import TREES


def regression(weights=None, **options):
    """Numbers for three outputs."""
    targets = np.random.default_rng(0).standard_normal((3, N_POINTS))
    problem = catalogue.make_problem(Gaussian(0.7), table(), targets, weights, **options)
    return replace(problem, likelihood=Squared())


def penalised_losses(problem, dual):
    latent = problem.covariance.matmul(dual)
    loss, _ = problem.likelihood.loss_and_gradient(latent, problem.targets, problem.weights)
    return loss + 0.5 * np.einsum("bcn,bcn->b", dual, latent)


def gaps(problem, result):
    return problem.likelihood.gap(result.dual, result.latent, problem.targets, problem.weights)


@pytest.mark.parametrize("name", ["shared", "several weightings", "balanced tree, level"])
def test_a_step_takes_one_product(name):
    result = KernelGradient().fit(catalogue.BY_NAME[name].build())
    steps = [step.products for step in result.trace]
    # Besides, latents are recomputed once before they are believed, for each weighting at its own time.
    assert steps[-1] <= len(steps) - 1 + len(result.outcomes)


def test_steps_are_no_longer_than_one():
    # The penalty alone has curvature one in the function space.
    result = KernelGradient(1e-8).fit(catalogue.BY_NAME["large variance"].build())
    assert max(step.step_length for step in result.trace) <= 1.0 + 1e-9


@pytest.mark.parametrize("variance", [1e-2, 2.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_loss_is_that_of_one_linear_system(variance, weighted):
    problem = regression(catalogue.weightings() if weighted else None, variances=variance)
    result = KernelGradient(1e-9).fit(problem)
    assert result.outcome is Outcome.CONVERGED
    # Conditions of up to 1e6 lie between a gap and the dual.
    np.testing.assert_allclose(result.dual, Exact(1e-12).fit(problem).dual, atol=1e-6)


@pytest.mark.parametrize("n_distinct", [1, 2, 4])
def test_squared_loss_takes_a_step_for_each_eigenvalue(n_distinct):
    generator = np.random.default_rng(1)
    basis = np.linalg.qr(generator.standard_normal((N_POINTS, N_POINTS)))[0]
    matrix = (basis * 10.0 ** (np.arange(N_POINTS) % n_distinct)) @ basis.T
    problem = catalogue.make_problem(
        Precomputed(), training_points(0.5 * (matrix + matrix.T)), generator.standard_normal((1, N_POINTS)),
        bias_variance=0.0,
    )  # fmt: skip
    result = KernelGradient(1e-8).fit(replace(problem, likelihood=Squared()))
    assert result.trace[-1].step == n_distinct


@pytest.mark.parametrize("steps", [1, 3, 10, 30])
def test_the_minimum_is_within_the_gap(steps):
    problem = regression(catalogue.weightings(), variances=100.0)
    result = KernelGradient(1e-12, Budget(newton=steps)).fit(problem)
    best = penalised_losses(problem, Exact(1e-12).fit(problem).dual)
    excess = penalised_losses(problem, result.dual) - best
    assert (excess <= gaps(problem, result) + 1e-10).all() and (gaps(problem, result) > 0).all()


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_function_is_as_near_as_the_gap_says(tolerance):
    problem = regression(variances=100.0)
    result, best = KernelGradient(tolerance).fit(problem), Exact(1e-12).fit(problem)
    difference = result.dual - best.dual
    distance = np.vdot(difference, problem.covariance.matmul(difference))
    assert distance <= 2 * tolerance**2 * penalised_losses(problem, result.dual)[0]


def test_targets_of_zero_are_met_at_once():
    problem = replace(regression(), targets=np.zeros((3, N_POINTS)))
    result = KernelGradient().fit(problem)
    assert result.outcome is Outcome.CONVERGED and not result.dual.any()


def test_counts_are_fitted():
    targets = np.random.default_rng(2).poisson(3.0, (2, N_POINTS)).astype(float)
    problem = replace(catalogue.make_problem(Gaussian(0.7), table(), targets), likelihood=Poisson())
    dual = KernelGradient(1e-9).fit(problem).dual
    np.testing.assert_allclose(dual, Exact(1e-10).fit(problem).dual, atol=1e-6)


def test_labels_of_inner_nodes_end_where_newton_does():
    tree = TREES["balanced"]
    nodes = np.random.default_rng(3).integers(0, len(tree.labels), N_POINTS)
    problem = catalogue.make_problem(Gaussian(0.7), table(), np.eye(len(tree.labels))[:, nodes], mixing=tree)
    problem = replace(problem, likelihood=CoarseSoftmax(tree))
    result = KernelGradient(1e-8).fit(problem)
    assert result.outcome is Outcome.CONVERGED
    assert (np.diff([step.loss for step in result.trace]) <= 1e-12).all()
    np.testing.assert_allclose(result.dual, Newton(1e-9).fit(problem).dual, atol=1e-5)


def test_single_precision_goes_on_in_double():
    problem = regression(variances=1e4, dtype=np.float32)
    result = KernelGradient(1e-7).fit(problem)
    assert result.outcome is Outcome.CONVERGED
    assert [step.step for step in result.trace] == list(range(len(result.trace)))
    np.testing.assert_allclose(result.dual, Exact(1e-12).fit(problem).dual, atol=1e-4)


def test_a_dual_is_gone_on_from():
    problem = catalogue.BY_NAME["several weightings"].build()
    best = Exact(1e-10).fit(problem).dual
    given = best.copy()
    result = KernelGradient(1e-6).resume(problem, given)
    assert result.trace[-1].step == 0 and result.outcome is Outcome.CONVERGED
    np.testing.assert_array_equal(given, best)
    halfway = KernelGradient(1e-9).resume(problem, 0.5 * best)
    np.testing.assert_allclose(halfway.dual, best, atol=1e-6)


def test_tolerance_below_single_precision_ends_as_a_stall():
    """Coefficients in single precision on a nearly singular kernel: steps that change nothing are not repeated."""
    generator = np.random.default_rng(5)
    inputs, labels = generator.uniform(-500, 500, (60, 1)), generator.integers(0, 3, 60)
    kernel = Gaussian(1e-4) + 4.0 * RationalQuadratic(1e-5, 2.0)
    settings = {"criterion": None, "solver": "kcg", "precision": "single", "state_precision": "single"}
    model = KernelLogisticClassifier(kernel, variance=20.0, tol=1e-7, **settings)
    with pytest.warns(ConvergenceWarning):
        model.fit(inputs, labels)
    assert model.outcome_ is Outcome.STALLED and model.n_iter_ < 1500  # 6288 where they are
