import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from logikern.likelihoods.softmax import LARGEST_LEAD, Softmax
from tests.likelihoods import catalogue


def latents():
    shape = (catalogue.N_BATCH, catalogue.N_CLASSES, catalogue.N_POINTS)
    return np.random.default_rng(0).standard_normal(shape)


def test_loss_is_the_weighted_cross_entropy():
    targets, weights = catalogue.distributions(), catalogue.weights()
    loss, _ = Softmax().loss_and_gradient(latents(), targets, weights)
    expected = -np.einsum("bn,cn,bcn->b", weights, targets, log_softmax(latents(), axis=1))
    np.testing.assert_allclose(loss, expected, rtol=1e-13)


def test_gradient_is_weighted_probabilities_minus_targets():
    targets, weights = catalogue.distributions(), catalogue.weights()
    _, gradient = Softmax().loss_and_gradient(latents(), targets, weights)
    expected = weights[:, None] * (softmax(latents(), axis=1) - targets)
    np.testing.assert_allclose(gradient, expected, atol=1e-14)


def test_gradient_sums_to_zero_over_classes():
    _, gradient = Softmax().loss_and_gradient(latents(), catalogue.labels(), catalogue.weights())
    np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-14)


def test_loss_of_equal_latents_is_log_of_the_number_of_classes():
    loss, _ = Softmax().loss_and_gradient(
        np.zeros_like(latents()), catalogue.labels(), np.ones_like(catalogue.weights())
    )
    np.testing.assert_allclose(loss, catalogue.N_POINTS * np.log(catalogue.N_CLASSES), rtol=1e-14)


def test_loss_of_a_certain_and_wrong_latent_is_its_margin():
    latent = np.array([1e4, 0.0]).reshape(1, 2, 1)
    loss, _ = Softmax().loss_and_gradient(latent, np.array([[0.0], [1.0]]), np.ones((1, 1)))
    assert loss[0] == 1e4


def test_targets_that_are_half_believed_are_halfway_to_the_same_for_all():
    for targets in (catalogue.labels(), catalogue.distributions()):
        latent = Softmax().smoothed_label_latents(targets)
        np.testing.assert_allclose(softmax(latent, axis=0), 0.5 * targets + 0.5 / catalogue.N_CLASSES, rtol=1e-12)
        np.testing.assert_allclose(latent.sum(axis=0), 0.0, atol=1e-12)


def test_predictions_that_lead_are_kept_and_others_are_corrected():
    latent = np.array([[3.0, 3.0, -9.0, 0.5], [0.0, 0.0, 9.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    targets = np.eye(3)[[0, 0, 0, 0]].T
    corrected = Softmax().correct_predictions(latent, targets)
    lead = corrected[0] - corrected[1:].max(axis=0)
    np.testing.assert_allclose(lead, [3.0, 3.0, 1.75, 1.75])  # the median of 3, 3, -18 and 0.5
    np.testing.assert_allclose(corrected[1:] - corrected[1], latent[1:] - latent[1])


@pytest.mark.parametrize("lead, expected", [(50.0, LARGEST_LEAD), (-50.0, 0.0)])
def test_corrected_leads_are_moderate(lead, expected):
    latent = np.zeros((2, 5))
    latent[0] = [lead, lead, lead, 0.0, -100.0]
    corrected = Softmax().correct_predictions(latent, np.eye(2)[np.zeros(5, dtype=int)].T)
    assert (corrected[0] - corrected[1])[-1] == pytest.approx(expected)
