"""Intervals, against closed forms and scipy."""

import numpy as np
import pytest
from scipy import stats

from logikern.decisions.intervals import IntervalPolicy, bootstrap_means, wilson_intervals


def test_value_is_the_mean():
    values = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_allclose([own.value for own in bootstrap_means(values)], values.mean(axis=0))


def test_interval_of_many_rows_is_that_of_the_normal_distribution():
    values = np.random.default_rng(1).exponential(size=(4000, 1))
    (found,) = bootstrap_means(values)
    half = 1.96 * values.std() / np.sqrt(len(values))
    # The ends come from 1000 resamples: their own error is about a tenth of the half width.
    np.testing.assert_allclose([found.low, found.high], [found.value - half, found.value + half], atol=0.2 * half)


def test_interval_covers_the_truth_as_often_as_it_says():
    rng, policy = np.random.default_rng(2), IntervalPolicy(n_resamples=200)
    found = [bootstrap_means(rng.random((100, 1)), seed, policy)[0] for seed in range(300)]
    covered = np.mean([own.low <= 0.5 <= own.high for own in found])
    assert 0.90 < covered < 0.985  # 0.95, less about 0.01 for 200 resamples; standard error 0.013


def test_result_does_not_depend_on_the_size_of_batches():
    values = np.random.default_rng(3).random((30, 2))
    batches = [bootstrap_means(values, policy=IntervalPolicy(n_draws=size)) for size in (30, 300, 10**6)]
    assert batches[0] == batches[1] == batches[2]


@pytest.mark.parametrize(("n_right", "n_cases"), [(0, 5), (3, 7), (40, 40), (190, 200)])
def test_wilson_interval_is_that_of_scipy(n_right, n_cases):
    expected = stats.binomtest(n_right, n_cases).proportion_ci(method="wilson")
    low, high = wilson_intervals(np.array([n_right / n_cases]), np.array([n_cases]))
    np.testing.assert_allclose([low[0], high[0]], [expected.low, expected.high], atol=1e-6)


def test_rows_of_a_group_are_drawn_together():
    values = np.repeat(np.random.default_rng(0).random(50), 20)[:, None]
    groups = np.repeat(np.arange(50), 20)
    together, alone = bootstrap_means(values, groups=groups)[0], bootstrap_means(values[::20])[0]
    assert together.value == pytest.approx(alone.value)
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high))


def test_groups_of_any_size_have_the_mean_of_all_rows():
    values = np.arange(10.0)[:, None]
    found = bootstrap_means(values, groups=np.array(list("abbbbccccc")))[0]
    assert found.value == pytest.approx(4.5) and found.low < 4.5 < found.high
