"""Leave-one-out with kernel matrices known through a few of their rows."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.criteria.leave_one_out.criterion import (
    LeaveOneOutPolicy,
    choose_landmarks,
    find_landmarks,
    with_landmarks,
)
from logikern.criteria.leave_one_out.groups import partition
from logikern.criteria.leave_one_out.low_rank_posterior import LowRankPosterior
from logikern.criteria.leave_one_out.low_rank_system import LowRankSystems
from logikern.criteria.leave_one_out.posterior import ExactPosterior
from logikern.fitting.newton.contrasts import contrast_of
from logikern.fitting.newton.dense import Exact, dense_blocks
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.newton.systems import ExactSystem
from logikern.kernels import Gaussian
from logikern.operators.dense import dense
from logikern.operators.landmarks import enough_landmarks, landmarked
from tests.criteria import leaving
from tests.criteria.leaving import Setting
from tests.fitting import catalogue

SETTINGS = [own for own in leaving.ALL if np.isfinite(own.bias_variance) and not own.tree][::5]
some_settings = pytest.mark.parametrize("setting", SETTINGS, ids=str)
SMOOTH = [Setting("gaussian", tying, n_classes=n) for tying in ("shared", "separate") for n in (2, 3)]
NAMES = ("shared", "separate", "groups", "weighted distributions", "two classes", "large variance")
every_problem = pytest.mark.parametrize("name", NAMES)


def few(covariance, rank=6):
    return with_landmarks(covariance, choose_landmarks(covariance, rank))


def curvature_of(problem):
    latent = np.random.default_rng(1).standard_normal(problem.shape)
    return problem.likelihood.expand(latent, problem.targets, problem.weights).curvature


@some_settings
def test_gradient_is_that_of_the_approximate_value(setting):
    specification = setting.specification()
    criterion = replace(
        setting.criterion(), landmarks=choose_landmarks(setting.bind(specification), 6), solver=Exact(1e-11)
    )
    evaluation = criterion.evaluate(setting.bind(specification), None, 1e-11)
    own = specification.collect(evaluation.gradient)

    def value(shift):
        moved = specification.with_log_parameters(specification.log_parameters + shift)
        return criterion.evaluate(setting.bind(moved), evaluation.state, 1e-11).value

    expected = [(value(1e-4 * axis) - value(-1e-4 * axis)) / 2e-4 for axis in np.eye(len(own))]
    np.testing.assert_allclose(own, expected, atol=1e-5 * np.abs(own).max())


@some_settings
def test_all_points_as_landmarks_are_exact(setting):
    covariance = setting.bind(setting.specification())
    everything = tuple(np.arange(leaving.N) for _ in covariance.operators)
    exact = setting.evaluate()
    other = replace(setting.criterion(), landmarks=everything).evaluate(covariance, None, leaving.TOLERANCE)
    # A matrix of small rank is inverted with a jitter of 1e-9.
    assert other.value == pytest.approx(exact.value, rel=1e-6)


@pytest.mark.parametrize("setting", SMOOTH, ids=str)
def test_smooth_kernels_take_landmarks_by_themselves(setting):
    # The rest of the Gaussian after its linear part is small, and five of 15 points are few enough here.
    covariance, specification = smooth(setting)
    criterion = replace(setting.criterion(), policy=LeaveOneOutPolicy(1e-3, 0, largest_share=0.9))
    own = criterion.evaluate(covariance, None, 1e-9)
    exact = setting.criterion().evaluate(covariance, None, 1e-9)
    assert own.method.startswith("low rank") and exact.method == "exact"
    assert own.value == pytest.approx(exact.value, abs=1e-4)
    np.testing.assert_allclose(specification.collect(own.gradient), specification.collect(exact.gradient), atol=1e-3)


def smooth(setting):
    own = setting.specification()
    rates = tuple(Gaussian(1e-3 * (1 + number)) for number in range(len(own.kernels)))
    specification = replace(own, kernels=rates)
    return setting.bind(specification), specification


def test_rough_kernels_are_left_whole():
    setting = Setting()
    evaluation = replace(setting.criterion(), policy=LeaveOneOutPolicy(missed=1e-3, fewest_points=0)).evaluate(
        setting.bind(setting.specification()), None, 1e-8
    )
    assert evaluation.method == "exact"


def test_landmarks_of_the_user_are_told():
    setting = Setting()
    covariance = setting.bind(setting.specification())
    criterion = replace(setting.criterion(), landmarks=choose_landmarks(covariance, 5), solver=Newton(1e-6))
    assert criterion.evaluate(covariance, None, 1e-6).method == "low rank, from 5 landmarks"


@every_problem
def test_systems_answer_like_dense_ones(name):
    problem = catalogue.BY_NAME[name].build()
    covariance, curvature = few(problem.covariance), curvature_of(problem)
    functions = np.random.default_rng(2).standard_normal(problem.shape)
    tolerance = np.ones(problem.shape[0])
    own = LowRankSystems(covariance)(curvature, np.arange(problem.shape[0])).response(functions, tolerance)
    dense = ExactSystem(blocks_of(covariance), curvature).response(functions, tolerance)
    np.testing.assert_allclose(own.value, dense.value, atol=1e-7)
    np.testing.assert_allclose(own.image, dense.image, rtol=1e-6, atol=1e-6)


def blocks_of(covariance):
    """Blocks of a covariance, from its products."""
    n_classes, n = covariance.n_classes, covariance.n_points
    units = np.broadcast_to(np.eye(n)[:, None, :], (n, n_classes, n))
    return covariance.matmul(units).transpose(1, 0, 2).copy()


@every_problem
def test_posterior_is_that_of_dense_factors(name):
    problem = catalogue.BY_NAME[name].build()
    covariance = few(problem.covariance)
    latent = np.random.default_rng(1).standard_normal((1, *problem.shape[1:]))
    curvature = problem.likelihood.expand(latent, problem.targets, problem.weights[:1]).curvature
    contrast = contrast_of(curvature)
    groups = partition(np.arange(problem.shape[2]) // 2, problem.shape[2])
    own = LowRankPosterior(LowRankSystems(covariance).seen(contrast), contrast.curvature(curvature), groups)
    blocks = contrast.covariances(blocks_of(covariance))
    dense = ExactPosterior(blocks, contrast.curvature(curvature), groups)
    for ours, theirs in zip(own.batches, dense.batches, strict=True):
        np.testing.assert_allclose(ours.covariance, theirs.covariance, atol=1e-9 * np.abs(blocks).max())
        np.testing.assert_allclose(ours.shrinkage, theirs.shrinkage, atol=1e-8)


@pytest.mark.parametrize("name", ["shared", "linear", "features", "polynomial", "separate"])
def test_operators_contract_their_own_derivative(name):
    if name not in catalogue.BY_NAME:
        pytest.skip("no such problem")
    covariance = few(catalogue.BY_NAME[name].build().covariance)
    generator = np.random.default_rng(0)
    for operator in covariance.operators:
        left, right = generator.standard_normal((2, 3, operator.n_points))
        kernel, landmarks = operator.kernel, operator.nystrom.landmarks
        found = operator.contract_gradient(left, right)
        for index, axis in enumerate(np.eye(len(found))):
            values = [
                np.vdot(left, landmarked_at(kernel, operator.X, landmarks, step * axis).matmul(right))
                for step in (1e-5, -1e-5)
            ]
            assert found[index] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5, abs=1e-7)


def landmarked_at(kernel, X, landmarks, shift):
    moved = kernel.with_log_parameters(kernel.log_parameters + shift)
    return landmarked(dense(moved, X, np.dtype(float)), landmarks)


@every_problem
def test_operators_have_the_right_diagonal(name):
    covariance = catalogue.BY_NAME[name].build().covariance
    for operator, original in zip(few(covariance).operators, covariance.operators, strict=True):
        everything = np.arange(operator.n_points)
        np.testing.assert_allclose(operator.rows(everything).diagonal(), original.diagonal(), atol=1e-7)
        np.testing.assert_allclose(operator.matmul(np.eye(operator.n_points)), operator.rows(everything), atol=1e-12)
        np.testing.assert_allclose(operator.rows(everything[2:4]), operator.rows(everything)[2:4], atol=1e-12)


def test_enough_landmarks_miss_no_more_than_allowed():
    X = np.random.default_rng(0).standard_normal((80, 2))
    matrix = Gaussian(0.1)(X, X)
    landmarks = enough_landmarks(matrix, 1e-4, 40)
    rest = matrix - matrix[:, landmarks] @ np.linalg.solve(matrix[np.ix_(landmarks, landmarks)], matrix[landmarks])
    assert rest.diagonal().max() <= 1e-4
    assert enough_landmarks(matrix, 1e-4, len(landmarks) - 1) is None


def test_few_points_take_no_landmarks():
    covariance, _ = smooth(Setting())
    n_points = covariance.n_points
    few, many = (LeaveOneOutPolicy(fewest_points=n_points + more, largest_share=0.9) for more in (1, 0))
    assert find_landmarks(covariance, few) is None
    assert find_landmarks(covariance, many) is not None


def test_missing_nothing_takes_no_landmarks():
    setting = Setting("linear")
    assert find_landmarks(setting.bind(setting.specification()), LeaveOneOutPolicy(0.0)) is None


def test_blocks_of_the_whole_covariance_are_dense_ones():
    problem = catalogue.BY_NAME["separate"].build()
    np.testing.assert_allclose(blocks_of(problem.covariance), dense_blocks(problem.covariance), atol=1e-12)
