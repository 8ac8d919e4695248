"""How many cases a criterion rests on."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import folds_from_splits
from logikern.criteria.leave_one_out.criterion import LeaveOneOut
from logikern.criteria.noise import ProfiledNoise
from logikern.fitting.newton.dense import Exact
from logikern.likelihoods.softmax import Softmax
from logikern.structure.targets import from_labels

N = 20
TARGETS = from_labels(np.arange(N) % 2, 2)


def cross_validation(splits, weights=None):
    weights = np.ones(N) if weights is None else weights
    return CrossValidation(Softmax(), TARGETS, folds_from_splits(splits, weights), Exact())


def leave_one_out(weights):
    return LeaveOneOut(Softmax(), TARGETS, weights, Exact())


ALL = list(KFold(5).split(TARGETS.T))


@pytest.mark.parametrize(
    "splits, n_cases",
    [
        (ALL, 20),
        (ALL[:1], 4),
        (list(RepeatedKFold(n_splits=5, n_repeats=3, random_state=0).split(TARGETS.T)), 20),
        (list(ShuffleSplit(1, test_size=0.1, random_state=0).split(TARGETS.T)), 2),
    ],
    ids=["every point once", "one fold of five", "every point three times", "a tenth"],
)
def test_every_point_held_out_is_one_case(splits, n_cases):
    assert cross_validation(splits).n_cases == pytest.approx(n_cases)


@pytest.mark.parametrize("splits", [ALL, ALL[:1], [*ALL, *ALL]], ids=["all", "one fold", "all twice"])
def test_weight_of_two_is_two_points(splits):
    weights = 1.0 + np.arange(N) % 3
    held_out = np.unique(np.concatenate([own for _, own in splits]))
    assert cross_validation(splits, weights).n_cases == pytest.approx(weights[held_out].sum())


def test_point_in_two_halves_is_one_point():
    halves = np.full(N, 0.5)
    assert leave_one_out(halves).n_cases == 0.5 * leave_one_out(np.ones(N)).n_cases == 10.0


def test_points_without_weight_are_no_cases():
    assert leave_one_out(np.where(np.arange(N) < 5, 1.0, 0.0)).n_cases == 5.0


def test_points_held_out_unequally_often_are_fewer_cases():
    """As a mean with unequal weights is noisier; and no parameter without effect gains more than it is charged."""
    generator = np.random.default_rng(0)
    criterion = cross_validation([*ALL, *ALL[:2], *ALL[:1]])
    shares = np.bincount(criterion.loss_points) / len(criterion.loss_points)
    # The minimum of sum_i s_i (x_i - m)^2 / 2 over m, for x of variance one, against m = 0 (Wilks).
    gains = 0.5 * (generator.standard_normal((20_000, N)) @ shares) ** 2
    assert criterion.n_cases < N and gains.mean() == pytest.approx(0.5 / criterion.n_cases, rel=0.05)


def test_noise_that_is_learned_leaves_the_cases():
    inner = cross_validation(ALL[:2])
    assert ProfiledNoise(inner, 1).n_cases == inner.n_cases == 8.0
