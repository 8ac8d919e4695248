"""Preconditioners against the inverse of I + V' K~ V, built densely, on the range of the projector."""

import numpy as np
import pytest

from logikern.fitting.preconditioning.low_rank import diagonal_fraction, factorise
from logikern.fitting.preconditioning.preconditioner import LowRank, diagonal_preconditioner
from logikern.kernels import Gaussian, Matern12
from logikern.numerics.pivoted_cholesky import LowRankFactor
from logikern.operators.dense import Dense
from logikern.structure.mixing import Flat
from logikern.structure.tying import tie
from tests.fitting import catalogue
from tests.kernels.catalogue import N_POINTS
from tests.structure.catalogue import ByMatrix
from tests.structure.trees import TREES

# No two rows of this table are equal, and Matern 1/2 is rough: factors of full rank are exact.
POINTS = np.random.default_rng(0).standard_normal((N_POINTS, 3))
ROUGH = (Matern12(0.5), Matern12(2.0))
EACH = np.array([0.5, 3.0, 20.0])

TYINGS = {
    "shared": {"kernel": ROUGH[0]},
    "without bias": {"kernel": ROUGH[0], "bias_variance": 0.0},
    "scaled": {"kernel": ROUGH[0], "variances": EACH},
    "groups": {"kernel": ROUGH, "assignment": (0, 1, 0), "variances": EACH},
    "large variance": {"kernel": ROUGH[0], "variances": 1e4},
}
for shape in TREES:
    of_levels = tie("level", TREES[shape])
    TYINGS[f"{shape} tree"] = {"kernel": ROUGH[0], "mixing": TREES[shape]} | {
        "variances": 0.5 * 3.0 ** np.array(of_levels.variance_of)
    }
    assignment = tuple(number % 2 for number in of_levels.kernel_of)
    TYINGS[f"{shape} tree, kernels"] = {"kernel": ROUGH[: max(assignment) + 1], "mixing": TREES[shape]} | {
        "assignment": assignment
    }
# Class functions that are any combinations of latent ones, with zeros among the loadings.
ANY = ByMatrix(np.array([[1.0, 0.0, -0.5, 2.0], [0.3, 0.0, 0.0, 1.0], [0.0, 2.0, 0.7, 0.0]]))
FOURFOLD = np.array([0.5, 3.0, 20.0, 1.0])
TYINGS["combinations"] = {"kernel": ROUGH[0], "mixing": ANY, "variances": FOURFOLD}
TYINGS["combinations, kernels"] = {
    "kernel": ROUGH,
    "mixing": ANY,
    "assignment": (0, 1, 0, 1),
    "variances": FOURFOLD,
    "bias_variance": 0.0,
}
every_tying = pytest.mark.parametrize("tying", TYINGS)
ALL = np.arange(4)


def make(tying):
    mixing = TYINGS[tying].get("mixing", Flat(3))
    labels = catalogue.labels(n_classes=mixing.n_classes)
    problem = catalogue.make_problem(points=POINTS, targets=labels, weights=catalogue.weightings(), **TYINGS[tying])
    latent = 2.0 * np.random.default_rng(1).standard_normal(problem.shape)
    curvature = problem.likelihood.expand(latent, problem.targets, problem.weights).curvature
    residual = curvature.project(np.random.default_rng(2).standard_normal(problem.shape))
    return problem, curvature, residual


def dense_systems(problem, curvature, covariance=None):
    dense = catalogue.dense_covariance(problem) if covariance is None else covariance
    roots = [catalogue.dense_root(curvature, member) for member in range(len(curvature.scale))]
    return [np.eye(len(dense)) + root.T @ dense @ root for root in roots]


def modelled_covariance(factors):
    """Mixing (v (F'F + residual on the diagonal)) Mixing' + bias 1 1', (C n, C n).

    Without a forest, residuals count within classes only.
    """
    mixing, n = factors.mixing, factors.residuals.shape[1]
    paths = mixing.forward(np.eye(mixing.n_latent)[:, :, None] + np.zeros(n))[..., 0]  # (P, C)
    dense = np.zeros((mixing.n_classes, n, mixing.n_classes, n))
    for path, own, deviation in zip(paths, factors.assignment, factors.deviations, strict=True):
        factor = factors.factors[own]
        between = path[:, None, None, None] * path[:, None]
        dense += between * (deviation**2 * factor.T @ factor)[:, None, :]
        within = between if mixing.forest is not None else between * np.eye(len(path))[:, None, :, None]
        dense += within * (deviation**2 * np.diag(factors.residuals[own]))[:, None, :]
    for index in range(mixing.n_classes):
        dense[index, :, index, :] += factors.bias_deviation**2
    return dense.reshape(mixing.n_classes * n, -1)


def solve_each(systems, residual):
    solutions = [np.linalg.solve(system, own.ravel()) for system, own in zip(systems, residual, strict=True)]
    return np.stack(solutions).reshape(residual.shape)


@every_tying
def test_full_rank_gives_the_inverse(tying):
    problem, curvature, residual = make(tying)
    factors = factorise(problem.covariance, N_POINTS, np.random.default_rng(0))
    expected = solve_each(dense_systems(problem, curvature), residual)
    np.testing.assert_allclose(LowRank(factors, curvature).solve(residual, ALL), expected, atol=1e-8)


@pytest.mark.parametrize("rank", [0, 1, 4, 12])
@every_tying
def test_any_rank_gives_the_inverse_of_its_model(tying, rank):
    problem, curvature, residual = make(tying)
    factors = factorise(problem.covariance, rank, np.random.default_rng(0))
    expected = solve_each(dense_systems(problem, curvature, modelled_covariance(factors)), residual)
    np.testing.assert_allclose(LowRank(factors, curvature).solve(residual, ALL), expected, atol=1e-8)


@pytest.mark.parametrize("rank", [0, 4, N_POINTS])
@every_tying
def test_part_of_what_the_factors_miss_is_on_the_diagonal(tying, rank):
    problem, _, _ = make(tying)
    factors = factorise(problem.covariance, rank, np.random.default_rng(0))
    for own, operator, residual in zip(factors.factors, problem.covariance.operators, factors.residuals, strict=True):
        missed = operator.diagonal() - np.einsum("rn,rn->n", own, own)
        left = missed > 1e-9
        shares = residual[left] / missed[left]
        np.testing.assert_allclose(shares, shares[:1].repeat(len(shares)))
        assert ((shares > 0) & (shares <= 1 + 1e-9)).all()
        assert left.any() == (rank < N_POINTS)


def stored(matrix):
    return Dense(Gaussian(), np.zeros((len(matrix), 1)), matrix)


def diagonal_fraction_of(matrix):
    found = LowRankFactor(np.zeros((0, len(matrix))), matrix.diagonal(), np.arange(0))
    return diagonal_fraction(stored(matrix), found, np.random.default_rng(0))


def test_all_of_a_diagonal_matrix_counts():
    assert diagonal_fraction_of(2.0 * np.eye(50)) == 1.0


def test_of_rows_that_are_all_alike_next_to_nothing_counts():
    assert diagonal_fraction_of(np.ones((50, 50))) == pytest.approx(np.sqrt(1 / 50))


def test_nothing_is_missed_by_a_factor_of_full_rank():
    matrix = np.eye(5)
    found = LowRankFactor(matrix, np.zeros(5), np.arange(5))
    assert diagonal_fraction(stored(matrix), found, np.random.default_rng(0)) == 1.0


@every_tying
def test_diagonal_is_that_of_the_system(tying):
    problem, curvature, residual = make(tying)
    diagonals = [system.diagonal() for system in dense_systems(problem, curvature)]
    expected = curvature.project(residual / np.stack(diagonals).reshape(residual.shape))
    preconditioner = diagonal_preconditioner(problem.covariance, curvature)
    np.testing.assert_allclose(preconditioner.solve(residual, ALL), expected, atol=1e-10)


def low_rank(problem, curvature):
    return LowRank(factorise(problem.covariance, 5, np.random.default_rng(0)), curvature)


def diagonal(problem, curvature):
    return diagonal_preconditioner(problem.covariance, curvature)


every_preconditioner = pytest.mark.parametrize("precondition", [low_rank, diagonal])


@every_preconditioner
@every_tying
def test_preconditioner_is_symmetric_and_positive(tying, precondition):
    problem, curvature, _ = make(tying)
    preconditioner = precondition(problem, curvature)
    size = residual_size = problem.shape[1] * problem.shape[2]
    units = np.eye(size).reshape(size, *problem.shape[1:])
    for member in range(problem.shape[0]):
        members = np.full(residual_size, member)
        projected = curvature.take_members(members).project(units.copy())
        matrix = preconditioner.solve(projected, members).reshape(size, size)
        matrix = projected.reshape(size, size) @ matrix
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
        assert np.linalg.eigvalsh(matrix)[0] > -1e-12


@every_preconditioner
@every_tying
def test_solution_stays_in_the_range_of_the_projector(tying, precondition):
    problem, curvature, residual = make(tying)
    solution = precondition(problem, curvature).solve(residual, ALL)
    np.testing.assert_allclose(curvature.project(solution.copy()), solution, atol=1e-11)


@every_preconditioner
def test_some_members_are_solved_as_among_all(precondition):
    problem, curvature, residual = make("groups")
    preconditioner = precondition(problem, curvature)
    some = np.array([3, 1])
    np.testing.assert_allclose(
        preconditioner.solve(residual[some], some), preconditioner.solve(residual, ALL)[some], rtol=1e-12
    )


@every_preconditioner
def test_residual_is_left_alone(precondition):
    problem, curvature, residual = make("groups")
    before = residual.copy()
    precondition(problem, curvature).solve(residual, ALL)
    np.testing.assert_array_equal(residual, before)


def test_single_factors_are_close_to_double_ones():
    problem, curvature, residual = make("scaled")
    single = catalogue.make_problem(
        points=POINTS,
        targets=catalogue.labels(),
        weights=catalogue.weightings(),
        dtype=np.float32,
        **TYINGS["scaled"],
    )
    solutions = [
        LowRank(factorise(own.covariance, N_POINTS, np.random.default_rng(0)), curvature).solve(residual, ALL)
        for own in (problem, single)
    ]
    # Of condition 1e2 at most: 1e-7 of rounding, times that, times some.
    np.testing.assert_allclose(solutions[1], solutions[0], atol=1e-3)


def test_smooth_kernels_of_float32_have_a_finite_preconditioner():
    # All but a few pivots are rounding errors here, and the variance makes them large.
    problem = catalogue.make_problem(Gaussian(1e-3), POINTS, catalogue.labels(), variances=1e4, dtype=np.float32)
    latent = np.random.default_rng(1).standard_normal(problem.shape)
    curvature = problem.likelihood.expand(latent, problem.targets, problem.weights).curvature
    factors = factorise(problem.covariance, N_POINTS, np.random.default_rng(0))
    residual = curvature.project(np.random.default_rng(2).standard_normal(problem.shape))
    solution = LowRank(factors, curvature).solve(residual, np.arange(1))
    assert np.isfinite(solution).all() and np.sum(solution * residual) > 0
