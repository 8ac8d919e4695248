"""How fits end when they do not converge: with a value, soon, and at a state that means what it says."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.fitting.functional_cg import KernelGradient
from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.newton.policy import NewtonPolicy
from logikern.fitting.pairwise.solver import Smo
from logikern.fitting.preconditioning.adaptive import DiagonalConditioning, LowRankConditioning
from logikern.fitting.problem import max_norm
from logikern.fitting.units import residual_sizes, usual_weights
from logikern.kernels import Gaussian, Precomputed, training_points
from logikern.numerics.outcome import Outcome
from tests.fitting import catalogue
from tests.reference.softmax import SMALLEST_IN_SINGLE, relative_norm, relative_norm_per_weight, residual, softmax

N_POINTS = 40
POINTS = np.random.default_rng(0).standard_normal((N_POINTS, 3))
MATRIX = Gaussian(0.5)(POINTS, POINTS)


def make(name, **changes):
    solvers = {
        "low rank": lambda: Newton(**changes),
        "low rank of 3": lambda: Newton(conditioning=LowRankConditioning(rank=3), **changes),
        "diagonal": lambda: Newton(conditioning=DiagonalConditioning(), **changes),
        "kernel gradient": lambda: KernelGradient(**changes),
        "smo": lambda: Smo(**changes),
        "exact": lambda: Exact(**changes),
    }
    return solvers[name]()


every_solver = pytest.mark.parametrize(
    "solver", ["low rank", "low rank of 3", "diagonal", "kernel gradient", "smo", "exact"]
)


def precomputed(matrix, variances=10.0, **options):
    return catalogue.make_problem(
        Precomputed(), training_points(matrix), catalogue.labels(N_POINTS), variances=variances, **options
    )


def replace_entry(value, i, j):
    matrix = MATRIX.copy()
    matrix[i, j] = matrix[j, i] = value
    return matrix


def random_symmetric():
    matrix = np.random.default_rng(1).standard_normal((N_POINTS, N_POINTS))
    return matrix + matrix.T


INDEFINITE = {
    "random": random_symmetric(),
    "negative": -MATRIX,
    "slightly negative": MATRIX - 1e-3 * np.eye(N_POINTS),
    "sigmoid": np.tanh(POINTS @ POINTS.T - 1.0),
    "negative on the diagonal": replace_entry(-1.0, 3, 3),
    "not symmetric": np.triu(MATRIX),
}
NOT_FINITE = {
    "missing": replace_entry(np.nan, 3, 5),
    "missing on the diagonal": replace_entry(np.nan, 3, 3),
    "infinite": replace_entry(np.inf, 3, 5),
    "infinite on the diagonal": replace_entry(np.inf, 3, 3),
    "all missing": np.full_like(MATRIX, np.nan),
}


@every_solver
def test_too_few_steps_are_told(solver):
    result = make(solver, tolerance=1e-8, budget=Budget(newton=1)).fit(precomputed(MATRIX))
    assert result.outcome is Outcome.OUT_OF_STEPS


@every_solver
def test_steps_keep_to_the_budget(solver):
    result = make(solver, tolerance=1e-8, budget=Budget(newton=2)).fit(precomputed(MATRIX))
    assert result.trace[-1].step == 2


@every_solver
def test_a_fit_cut_short_reports_the_gradient_of_its_dual(solver):
    # Carried along in single precision, latents of size 1e5 collect a rounding of 1e-2, which looks like progress.
    problem = precomputed(POINTS @ POINTS.T, variances=1e5)
    targets, weights = (array.astype(np.float32) for array in (problem.targets, problem.weights))
    result = make(solver, budget=Budget(newton=4)).fit(replace(problem, targets=targets, weights=weights))
    dual = result.dual.astype(np.float64)
    _, gradient = problem.likelihood.loss_and_gradient(
        problem.covariance.matmul(dual), problem.targets, problem.weights
    )
    norm = max_norm(gradient + dual) / residual_sizes(
        max_norm(gradient), usual_weights(problem.weights), result.dual.dtype
    )
    np.testing.assert_allclose(result.gradient_norm, norm, rtol=0.1)
    assert result.trace[-1].gradient_norm == result.gradient_norm[0]


def in_single(weights):
    """Coefficients, targets and weights in single precision, products in double, one operator for each class."""
    kernels, points = tuple(Precomputed() for _ in range(3)), training_points(MATRIX)
    problem = catalogue.make_problem(kernels, points, catalogue.labels(N_POINTS), assignment=(0, 1, 2))
    return replace(problem, targets=problem.targets.astype(np.float32), weights=weights.astype(np.float32))


@pytest.mark.parametrize("size", [0.003, 0.03, 0.3, 1.0])
@every_solver
def test_single_precision_is_judged_in_double(solver, size):
    # In single precision the gradient is rounded at 1e-7, and may be zero where it is not.
    weights = np.random.default_rng(0).uniform(0.1 * size, size, (1, N_POINTS))
    problem, tolerance = in_single(weights), 3e-8
    result = make(solver, tolerance=tolerance).fit(problem)
    dual, weights = result.dual[0].astype(np.float64), problem.weights[0].astype(np.float64)
    latent = 2.0 * dual @ MATRIX + dual.sum(axis=1, keepdims=True)
    gradient = weights * (softmax(latent) - problem.targets)
    true = relative_norm(residual(dual, latent, problem.targets, weights), gradient, weights, SMALLEST_IN_SINGLE)
    assert result.dual.dtype == np.float32
    assert result.gradient_norm[0] == pytest.approx(true, rel=1e-5)
    per_weight = relative_norm_per_weight(dual, gradient, weights, SMALLEST_IN_SINGLE)
    assert result.outcome.converged == ((per_weight if solver == "kernel gradient" else true) <= tolerance)


@every_solver
def test_no_steps_leave_the_start(solver):
    result = make(solver, budget=Budget(newton=0)).fit(precomputed(MATRIX))
    assert (result.dual == 0).all() and result.outcome is Outcome.OUT_OF_STEPS


@every_solver
def test_too_few_products_are_told(solver):
    result = make(solver, tolerance=1e-8, budget=Budget(products=3)).fit(precomputed(MATRIX))
    assert result.outcome is Outcome.OUT_OF_PRODUCTS


@pytest.mark.parametrize("solver", ["low rank", "diagonal"])
def test_a_bound_on_each_direction_does_not_prevent_convergence(solver):
    result = make(solver, budget=Budget(direction=3, newton=500)).fit(precomputed(MATRIX))
    assert result.outcome is Outcome.CONVERGED


# In the dual it is the lower bound that becomes better with every step.
@pytest.mark.parametrize("solver", ["low rank", "low rank of 3", "diagonal", "kernel gradient", "exact"])
def test_a_fit_cut_short_is_better_than_its_start(solver):
    result = make(solver, tolerance=1e-8, budget=Budget(newton=1)).fit(precomputed(MATRIX))
    assert result.trace[-1].loss < 0.9 * result.trace[0].loss


@pytest.mark.parametrize("matrix", NOT_FINITE)
@every_solver
def test_values_that_are_not_finite_are_told(solver, matrix):
    assert make(solver).fit(precomputed(NOT_FINITE[matrix])).outcome is Outcome.NOT_FINITE


@pytest.mark.parametrize("matrix", INDEFINITE)
@every_solver
def test_indefinite_matrix_ends_at_a_stationary_point_or_says_so(solver, matrix):
    problem = precomputed(INDEFINITE[matrix])
    result = make(solver).fit(problem)
    norm = np.abs(problem.gradient(result.dual, problem.covariance.accurate_matmul(result.dual))).max()
    assert (result.outcome is Outcome.CONVERGED) == (norm <= make(solver).tolerance)


@pytest.mark.parametrize("matrix", INDEFINITE)
@every_solver
def test_indefinite_matrix_ends_soon(solver, matrix):
    result = make(solver).fit(precomputed(INDEFINITE[matrix]))
    assert result.n_products < 2000


@pytest.mark.parametrize("matrix", INDEFINITE)
@every_solver
def test_indefinite_matrix_leaves_a_finite_dual(solver, matrix):
    assert np.isfinite(make(solver).fit(precomputed(INDEFINITE[matrix])).dual).all()


@every_solver
def test_a_tolerance_below_rounding_is_not_reached(solver):
    result = make(solver, tolerance=1e-30, budget=Budget(products=200)).fit(precomputed(MATRIX, 1e3))
    assert result.outcome is not Outcome.CONVERGED


@every_solver
def test_a_tolerance_below_rounding_still_gives_the_optimum(solver):
    problem = precomputed(MATRIX, variances=1e3)
    dual = make(solver, tolerance=1e-30, budget=Budget(newton=1000, direction=100, products=1000)).fit(problem).dual
    np.testing.assert_allclose(dual, Exact(tolerance=1e-10).fit(problem).dual, atol=1e-6)


@every_solver
def test_single_precision_reaches_a_gradient_below_its_own_rounding(solver):
    # Latents of size 100 are rounded at 1e-5: only products recomputed in double precision tell 1e-6.
    problem = precomputed(MATRIX.astype(np.float32), variances=1e3, dtype=np.float32)
    assert make(solver, tolerance=1e-6).fit(problem).outcome in (Outcome.CONVERGED, Outcome.ROUNDING)


@every_solver
def test_single_precision_latents_are_summed_in_double(solver):
    problem = precomputed(MATRIX.astype(np.float32), variances=1e3, dtype=np.float32)
    result = make(solver, tolerance=1e-3).fit(problem)
    np.testing.assert_allclose(result.latent, problem.covariance.accurate_matmul(result.dual), rtol=1e-10, atol=1e-10)


@every_solver
def test_callback_sees_every_step(solver):
    seen = []
    result = make(solver).fit(precomputed(MATRIX), callback=seen.append)
    assert tuple(seen) == result.trace


@every_solver
def test_callback_sees_the_start_first(solver):
    seen = []
    make(solver).fit(precomputed(MATRIX), callback=seen.append)
    # Three classes, evenly: log 3 a point, and no product yet.
    assert (seen[0].step, seen[0].products) == (0, 0)
    assert seen[0].loss == pytest.approx(N_POINTS * np.log(3))


@every_solver
def test_callback_may_stop_the_fit(solver):
    def stop(step):
        if step.step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(solver, tolerance=1e-8).fit(precomputed(MATRIX), callback=stop)


@every_solver
def test_fit_raises_no_warning(solver, recwarn):
    for matrix in (*INDEFINITE.values(), *NOT_FINITE.values(), 1e150 * MATRIX, 0 * MATRIX):
        make(solver).fit(precomputed(matrix))
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize(
    "solver, limit, value",
    [
        *[(solver, "short_step", 0.9) for solver in ("low rank", "diagonal", "exact")],
        *[(solver, "first_products", 2) for solver in ("low rank", "diagonal")],
    ],
)
def test_continuation_from_a_smaller_covariance_gives_the_same_fit(solver, limit, value):
    problem = catalogue.make_problem(Gaussian(0.5), POINTS, catalogue.labels(N_POINTS, 20), variances=100.0)
    directly = make(solver, tolerance=1e-8).fit(problem)
    around = make(solver, tolerance=1e-8, policy=NewtonPolicy(**{limit: value})).fit(problem)
    assert around.outcome is Outcome.CONVERGED
    assert around.trace != directly.trace
    assert [step.step for step in around.trace] == list(range(len(around.trace)))
    np.testing.assert_allclose(around.latent, directly.latent, atol=1e-5)
