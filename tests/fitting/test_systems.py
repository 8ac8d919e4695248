"""The response R = (I + W K~)^-1 W against dense algebra."""

import numpy as np
import pytest

from logikern.fitting.newton.dense import dense_blocks
from logikern.fitting.newton.systems import ExactSystem, IterativeSystem, StoppingRule
from logikern.fitting.preconditioning.low_rank import factorise
from logikern.fitting.preconditioning.preconditioner import LowRank, diagonal_preconditioner
from logikern.kernels import Linear
from tests.fitting import catalogue

TREES = (
    "balanced tree, separate",
    "weightings of a tree",
    "weighted distributions of a tree",
    "large variance of a tree",
)
COMBINATIONS = ("two coupled classes", "combinations")
NAMES = (
    "shared",
    "separate",
    "groups",
    "weighted distributions",
    "large variance",
    "1 points of 2 classes",
    *TREES,
)
every_problem = pytest.mark.parametrize("name", NAMES)


def exact(problem, curvature):
    return ExactSystem(dense_blocks(problem.covariance), curvature)


def low_rank(problem, curvature):
    factors = factorise(problem.covariance, 5, np.random.default_rng(0))
    return IterativeSystem(problem.covariance, curvature, LowRank(factors, curvature), 2000)


def diagonal(problem, curvature):
    preconditioner = diagonal_preconditioner(problem.covariance, curvature)
    return IterativeSystem(problem.covariance, curvature, preconditioner, 2000)


every_system = pytest.mark.parametrize("make", [exact, low_rank, diagonal])
PAIRS = [
    *((name, make) for make in (exact, low_rank, diagonal) for name in NAMES),
    *((name, make) for make in (exact, diagonal) for name in COMBINATIONS),
]
every_pair = pytest.mark.parametrize("name, make", PAIRS)


def expand(problem, scale=2.0):
    latent = scale * np.random.default_rng(1).standard_normal(problem.shape)
    return problem.likelihood.expand(latent, problem.targets, problem.weights).curvature


def functions(problem):
    return np.random.default_rng(2).standard_normal(problem.shape)


def respond(name, make, tolerance=1e-11):
    problem = catalogue.BY_NAME[name].build()
    curvature = expand(problem)
    response = make(problem, curvature).response(functions(problem), np.full(problem.shape[0], tolerance))
    return problem, curvature, response


@every_pair
def test_response_is_that_of_dense_algebra(name, make):
    problem, curvature, response = respond(name, make)
    dense = catalogue.dense_covariance(problem)
    for member, function in enumerate(functions(problem)):
        root = catalogue.dense_root(curvature, member)
        weight = root @ root.T
        expected = np.linalg.solve(np.eye(len(dense)) + weight @ dense, weight @ function.ravel())
        np.testing.assert_allclose(response.value[member].ravel(), expected, atol=1e-8)


@every_pair
def test_image_is_the_covariance_times_the_response(name, make):
    problem, _, response = respond(name, make)
    np.testing.assert_allclose(response.image, problem.covariance.matmul(response.value), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5])
@pytest.mark.parametrize("make", [low_rank, diagonal])
@every_problem
def test_residual_is_within_the_tolerance(name, make, tolerance):
    problem, curvature, response = respond(name, make, tolerance)
    dense = catalogue.dense_covariance(problem)
    for member, function in enumerate(functions(problem)):
        root = catalogue.dense_root(curvature, member)
        weight = root @ root.T
        value = response.value[member].ravel()
        residual = value + weight @ (dense @ value - function.ravel())
        assert np.abs(residual).max() <= 1.001 * tolerance


@every_system
def test_response_sums_to_zero_over_classes(make):
    _, _, response = respond("separate", make)
    np.testing.assert_allclose(response.value.sum(axis=1), 0.0, atol=1e-10)


@every_system
def test_points_of_weight_zero_do_not_respond(make):
    problem, _, response = respond("weighted distributions", make)
    without = np.broadcast_to((problem.weights == 0)[:, None, :], problem.shape)
    assert (response.value[without] == 0.0).all()


@pytest.mark.parametrize("make", [low_rank, diagonal])
def test_looser_tolerances_take_fewer_products(make):
    counts = [respond("large variance", make, tolerance)[2].n_products for tolerance in (1e-2, 1e-9)]
    assert counts[0] < counts[1]


def gain(dense, weight, constant, value):
    """By how much a step lowers the quadratic model."""
    image = dense @ value
    return image @ constant - 0.5 * image @ value - 0.5 * image @ weight @ image


@pytest.mark.parametrize("guessed", [False, True])
@every_pair
def test_solve_matches_dense_algebra(name, make, guessed):
    problem = catalogue.BY_NAME[name].build()
    curvature, constant = expand(problem), functions(problem)
    guess = np.random.default_rng(4).standard_normal(problem.shape) if guessed else None
    found = make(problem, curvature).solve(constant, StoppingRule(np.full(problem.shape[0], 1e-11)), guess)
    dense = catalogue.dense_covariance(problem)
    for member, own in enumerate(constant):
        root = catalogue.dense_root(curvature, member)
        expected = np.linalg.solve(np.eye(len(dense)) + root @ root.T @ dense, own.ravel())
        np.testing.assert_allclose(found.value[member].ravel(), expected, atol=1e-8)
        np.testing.assert_allclose(found.image[member].ravel(), dense @ expected, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("share", [0.3, 0.01])
@pytest.mark.parametrize("make", [low_rank, diagonal])
@every_problem
def test_no_more_than_a_share_of_what_can_be_gained_is_left(name, make, share):
    problem = catalogue.BY_NAME[name].build()
    curvature, constant = expand(problem), functions(problem)
    nothing = np.zeros(problem.shape[0])
    found = make(problem, curvature).solve(constant, StoppingRule(nothing, nothing + share))
    dense = catalogue.dense_covariance(problem)
    for member, own in enumerate(constant):
        root = catalogue.dense_root(curvature, member)
        weight = root @ root.T
        best = np.linalg.solve(np.eye(len(dense)) + weight @ dense, own.ravel())
        most = gain(dense, weight, own.ravel(), best)
        seen = gain(dense, weight, own.ravel(), found.value[member].ravel())
        assert most / (1 + share) * (1 - 1e-9) <= seen <= most * (1 + 1e-9)


@pytest.mark.parametrize("make", [low_rank, diagonal])
def test_what_may_be_left_saves_products(make):
    problem = catalogue.BY_NAME["large variance"].build()
    system, tolerance = make(problem, expand(problem)), np.full(problem.shape[0], 1e-9)
    counts = [
        system.solve(functions(problem), StoppingRule(tolerance, share)).n_products
        for share in (tolerance + 0.1, None)
    ]
    assert counts[0] < counts[1]


@pytest.mark.parametrize("make", [low_rank, diagonal])
def test_a_solve_that_is_cut_short_keeps_its_image(make):
    problem = catalogue.BY_NAME["large variance"].build()
    curvature, constant = expand(problem), functions(problem)
    found = make(problem, curvature).solve(constant, StoppingRule(np.zeros(problem.shape[0]), most=3))
    assert found.n_products == 4
    images = found.value.reshape(len(constant), -1) @ catalogue.dense_covariance(problem)
    np.testing.assert_allclose(found.image.reshape(images.shape), images, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("make", [low_rank, diagonal])
def test_a_right_guess_takes_no_solve(make):
    problem = catalogue.BY_NAME["separate"].build()
    system, tolerance = make(problem, expand(problem)), np.full(problem.shape[0], 1e-11)
    image = system.solve(functions(problem), StoppingRule(tolerance)).image
    assert system.solve(functions(problem), StoppingRule(tolerance + 1e-8), image).n_products == 1


def test_certain_points_are_harmless():
    # Latents of 1e4 make probabilities exactly zero and one: no formula may divide by them.
    problem = catalogue.BY_NAME["separate"].build()
    curvature = expand(problem, scale=1e4)
    tolerance = np.full(problem.shape[0], 1e-10)
    values = [
        make(problem, curvature).response(functions(problem), tolerance).value for make in (exact, low_rank, diagonal)
    ]
    np.testing.assert_allclose(values[1:], [values[0]] * 2, atol=1e-8)


@pytest.mark.parametrize("name", ["shared", "scaled", "separate", "groups", "precomputed", "function", "features"])
def test_dense_blocks_are_those_of_the_covariance(name):
    problem = catalogue.BY_NAME[name].build()
    _, n_classes, n = problem.shape
    dense = catalogue.dense_covariance(problem).reshape(n_classes, n, n_classes, n)
    np.testing.assert_allclose(
        dense_blocks(problem.covariance), np.einsum("cncm->cnm", dense), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("name", TREES + COMBINATIONS)
def test_coupled_classes_are_one_dense_block(name):
    problem = catalogue.BY_NAME[name].build()
    expected = catalogue.dense_covariance(problem)[None]
    np.testing.assert_allclose(dense_blocks(problem.covariance), expected, rtol=1e-12, atol=1e-12)


def rough_points(n_classes=40, n=120):
    """Many classes of points that are far apart, in single precision throughout."""
    random = np.random.default_rng(0)
    points = random.standard_normal((n, 60)) + 0.5
    return catalogue.make_problem(Linear(), points, catalogue.labels(n, n_classes), variances=50.0, dtype=np.float32)


def test_rounding_outside_the_range_of_the_projector_does_not_count(monkeypatch):
    # In single precision something is left there that no step can remove.
    monkeypatch.setattr("logikern.structure.covariance.LARGE_STATE", 0)
    problem = rough_points()
    curvature, whole = expand(problem), problem.covariance.matmul(functions(problem).astype(np.float32))
    largest = np.abs(curvature.root_adjoint(whole)).max()
    response = low_rank(problem, curvature).response(whole, np.full(problem.shape[0], 3e-8 * largest))
    assert response.n_products < 200
