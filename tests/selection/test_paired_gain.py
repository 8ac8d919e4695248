"""The gain of one model over another, case by case, and its standard error."""

import numpy as np
import pytest

from logikern.selection.judgement import paired_gain


def test_paired_gain_is_a_mean_with_its_standard_error():
    generator = np.random.default_rng(0)
    before, after = generator.random((2, 30))
    saved = before - after
    gain, noise = paired_gain(before, after, np.ones(30), np.arange(30))
    assert gain == pytest.approx(saved.mean()) and noise == pytest.approx(saved.std(ddof=1) / 30**0.5)


def test_weighted_gain_equals_repetition():
    generator = np.random.default_rng(1)
    before, after = generator.random((2, 12))
    counts = generator.integers(1, 5, 12)
    weighted = paired_gain(before, after, counts.astype(float), np.arange(12))
    repeated = np.repeat(before, counts), np.repeat(after, counts)
    assert weighted == pytest.approx(
        paired_gain(*repeated, np.ones(counts.sum()), np.arange(counts.sum())), rel=1e-12
    )


@pytest.mark.parametrize("repetitions", [2, 5])
def test_point_held_out_several_times_is_one_case(repetitions):
    generator = np.random.default_rng(1)
    once = *generator.random((2, 12)), generator.uniform(0.1, 2.0, 12), 3 * np.arange(12)
    often = (np.tile(values, repetitions) for values in once)
    assert paired_gain(*often) == pytest.approx(paired_gain(*once), rel=1e-12)


def test_noise_is_the_spread_of_gains():
    """Of points held out between no and four times, whose losses vary from point to point and from fold to fold."""
    generator = np.random.default_rng(0)
    points = np.repeat(np.arange(300), generator.integers(0, 5, 300))
    found = []
    for _ in range(500):
        losses = generator.standard_normal(300)[points] + 0.5 * generator.standard_normal(len(points))
        found.append(paired_gain(losses, np.zeros(len(points)), np.ones(len(points)), points))
    gains, noises = np.array(found).T
    # The standard deviation of 500 gains is known to 3 %.
    assert np.mean(noises) == pytest.approx(gains.std(), rel=0.1)


def test_gain_of_light_weights_is_finite():
    light = np.array([1e-3, 1e-3])
    gain, noise = paired_gain(np.array([1.0, 2.0]), np.array([0.5, 2.5]), light, np.arange(2))
    assert gain == 0.0 and 0 < noise < np.inf
