"""Latents scaled by how much is open at each point."""

import numpy as np
import pytest

from logikern.numerics.sharpness import Sharpness, normalised_entropy
from logikern.numerics.simplex import soft_maximum

SHARPNESSES = [Sharpness(0.8, 1.6), Sharpness(1.5, 0.4), Sharpness(0.7, 0.7)]
every_sharpness = pytest.mark.parametrize("sharpness", SHARPNESSES, ids=str)


def latents(n_classes=5, n=40):
    return 2.0 * np.random.default_rng(0).standard_normal((n_classes, n))


def entropies(latent):
    probabilities = soft_maximum(latent).probabilities
    return -(probabilities * np.log(probabilities)).sum(axis=0)


def test_neutral_one_changes_nothing():
    latent = latents()
    assert Sharpness().apply(latent) is latent and Sharpness().pull_back(latent, latent) is latent


def test_equal_numbers_are_a_temperature():
    np.testing.assert_allclose(Sharpness(0.7, 0.7).apply(latents()), 0.7 * latents(), rtol=1e-14)


@every_sharpness
def test_scale_is_linear_in_the_entropy(sharpness):
    entropy = entropies(latents()) / np.log(5)
    scale = sharpness.certain * (1 - entropy) + sharpness.uncertain * entropy
    np.testing.assert_allclose(sharpness.apply(latents()), scale * latents(), rtol=1e-12)


@every_sharpness
def test_order_of_classes_stays(sharpness):
    assert np.array_equal(sharpness.apply(latents()).argsort(axis=0), latents().argsort(axis=0))


def test_openness_runs_from_certain_to_unknown():
    latent = np.array([[0.0, 0.0, 800.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    first, second, third = normalised_entropy(latent)
    assert first == pytest.approx(1.0) and 0 < second < 1 and third == pytest.approx(0.0, abs=1e-12)


@every_sharpness
def test_gradient_is_pulled_back_as_differences_say(sharpness):
    latent, weights = latents(n=6), np.random.default_rng(1).standard_normal((5, 6))
    weights -= weights.mean(axis=0)

    def value(at):
        return float((weights * sharpness.apply(at)).sum())

    expected, step = np.empty_like(latent), 1e-6
    for place in np.ndindex(latent.shape):
        moved = np.zeros_like(latent)
        moved[place] = step
        expected[place] = (value(latent + moved) - value(latent - moved)) / (2 * step)
    np.testing.assert_allclose(sharpness.pull_back(latent, weights), expected, rtol=1e-6, atol=1e-7)


@every_sharpness
def test_batches_are_sharpened_one_by_one(sharpness):
    batch = np.stack([latents(), 3 * latents()])
    np.testing.assert_array_equal(sharpness.apply(batch)[1], sharpness.apply(batch[1]))
