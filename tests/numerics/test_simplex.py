import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

from logikern.numerics.simplex import log_probabilities, soft_maximum

LATENT = np.random.default_rng(0).standard_normal((2, 4, 5))


def test_log_total_is_log_sum_exp():
    np.testing.assert_allclose(soft_maximum(LATENT).log_total, logsumexp(LATENT, axis=1), rtol=1e-14)


def test_probabilities_are_the_softmax():
    np.testing.assert_allclose(soft_maximum(LATENT).probabilities, softmax(LATENT, axis=1), rtol=1e-14)


def test_log_probabilities_are_the_log_softmax():
    np.testing.assert_allclose(log_probabilities(LATENT), log_softmax(LATENT, axis=1), rtol=1e-13)


def test_batch_axis_is_optional():
    np.testing.assert_array_equal(soft_maximum(LATENT[0]).probabilities, soft_maximum(LATENT).probabilities[0])


@pytest.mark.parametrize("size", [1e4, -1e4, 1e300])
def test_large_latents_give_finite_probabilities(size):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        soft = soft_maximum(size * LATENT)
    assert np.isfinite(soft.probabilities).all()


def test_large_latents_give_the_largest_as_log_total():
    np.testing.assert_allclose(soft_maximum(1e4 * LATENT).log_total, 1e4 * LATENT.max(axis=1), rtol=1e-12)


def test_large_latents_give_finite_log_probabilities():
    latent = np.array([[1e4, -1e4], [0.0, 1e4]])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        np.testing.assert_array_equal(log_probabilities(latent), [[0.0, -2e4], [-1e4, 0.0]])


def test_equal_latents_share_evenly():
    np.testing.assert_allclose(soft_maximum(np.full((3, 2), 1e4)).probabilities, 1 / 3, rtol=1e-15)


def test_latents_are_left_alone():
    before = LATENT.copy()
    soft_maximum(LATENT)
    np.testing.assert_array_equal(LATENT, before)
