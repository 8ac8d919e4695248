"""Latents scaled by how much is open at each point."""

import numpy as np
import pytest

from logikern.numerics.simplex import soft_maximum
from logikern.numerics.temperature import Temperature, normalised_entropy

TEMPERATURES = [Temperature(0.8, 1.6), Temperature(1.5, 0.4), Temperature(0.7, 0.7)]
every_temperature = pytest.mark.parametrize("temperature", TEMPERATURES, ids=str)


def latents(n_classes=5, n=40):
    return 2.0 * np.random.default_rng(0).standard_normal((n_classes, n))


def entropies(latent):
    probabilities = soft_maximum(latent).probabilities
    return -(probabilities * np.log(probabilities)).sum(axis=0)


def test_neutral_one_changes_nothing():
    latent = latents()
    assert Temperature().apply(latent) is latent and Temperature().pull_back(latent, latent) is latent


def test_equal_numbers_are_a_temperature():
    np.testing.assert_allclose(Temperature(0.7, 0.7).apply(latents()), 0.7 * latents(), rtol=1e-14)


@every_temperature
def test_scale_is_linear_in_the_entropy(temperature):
    open_ = entropies(latents()) / np.log(5)
    scale = temperature.certain * (1 - open_) + temperature.uncertain * open_
    np.testing.assert_allclose(temperature.apply(latents()), scale * latents(), rtol=1e-12)


@every_temperature
def test_order_of_classes_stays(temperature):
    assert np.array_equal(temperature.apply(latents()).argsort(axis=0), latents().argsort(axis=0))


def test_normalised_entropy_runs_from_certain_to_unknown():
    latent = np.array([[0.0, 0.0, 800.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    first, second, third = normalised_entropy(latent)
    assert first == pytest.approx(1.0) and 0 < second < 1 and third == pytest.approx(0.0, abs=1e-12)


@every_temperature
def test_gradient_is_pulled_back_as_differences_say(temperature):
    latent, weights = latents(n=6), np.random.default_rng(1).standard_normal((5, 6))
    weights -= weights.mean(axis=0)

    def value(at):
        return float((weights * temperature.apply(at)).sum())

    expected, step = np.empty_like(latent), 1e-6
    for place in np.ndindex(latent.shape):
        moved = np.zeros_like(latent)
        moved[place] = step
        expected[place] = (value(latent + moved) - value(latent - moved)) / (2 * step)
    np.testing.assert_allclose(temperature.pull_back(latent, weights), expected, rtol=1e-6, atol=1e-7)


@every_temperature
def test_batches_are_sharpened_one_by_one(temperature):
    batch = np.stack([latents(), 3 * latents()])
    np.testing.assert_array_equal(temperature.apply(batch)[1], temperature.apply(batch[1]))
