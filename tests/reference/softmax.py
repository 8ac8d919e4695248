"""Losses of latents (C, n): softmax with soft or coarse targets, and squared; the optimality of a dual."""

import numpy as np

# The smallest part of the usual weight that is a unit of the gradient, where duals are in double and in single.
SMALLEST, SMALLEST_IN_SINGLE = 1e-8, 5e-3


def log_softmax(latent: np.ndarray) -> np.ndarray:
    """log P(class), (C, n)."""
    centred = latent - latent.max(axis=0)
    return centred - np.log(np.exp(centred).sum(axis=0))


def softmax(latent: np.ndarray) -> np.ndarray:
    """P(class), (C, n)."""
    return np.exp(log_softmax(latent))


def sharpen(latent: np.ndarray, certain: float, uncertain: float) -> np.ndarray:
    """Latents times a temperature that goes from `certain` to `uncertain` with the entropy."""
    logs = log_softmax(latent)
    entropy = -(np.exp(logs) * logs).sum(axis=0) / np.log(len(latent))
    return (certain + (uncertain - certain) * entropy) * latent


def complete(latent: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Probabilities within the set of classes that each row is known to belong to, (C, n).

    With them as targets the softmax loss has the gradient of -log sum_(c in set) pi_c.
    """
    own = np.where(inside > 0, latent, -np.inf)
    return softmax(own)


def residual(dual: np.ndarray, latent: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """dual + gradient of the loss at the latents, (C, n): zero at the optimum."""
    return dual + weights * (softmax(latent) - targets)


def relative_norm(
    residual: np.ndarray, gradient: np.ndarray, weights: np.ndarray, smallest: float = SMALLEST
) -> float:
    """Largest component of the residual, in the unit that `NewtonStep.gradient_norm` has.

    The unit is the usual weight (its median if that is above one, but no more than the largest), times the largest
    component of the loss's gradient where that is below the usual weight, but no less than `smallest`.
    """
    positive = weights[weights > 0]
    usual = min(max(1.0, float(np.median(positive))), float(positive.max()))
    unit = usual * float(np.clip(np.abs(gradient).max() / usual, smallest, 1.0))
    return float(np.abs(residual).max()) / unit


def relative_norm_per_weight(
    dual: np.ndarray, gradient: np.ndarray, weights: np.ndarray, smallest: float = SMALLEST
) -> float:
    """The same per unit of weight, by which conjugate gradients in the function space judge themselves."""
    unit = float(np.clip(np.abs(gradient / weights).max(), smallest, 1.0))
    return float(np.abs((dual + gradient) / weights).max()) / unit
