"""What held-out latents are worth: their losses, at the sharpness that suits them best if that is learned."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.likelihoods.base import Likelihood
from logikern.numerics.outcome import Array
from logikern.numerics.sharpness import Sharpness, normalised_entropy
from logikern.numerics.simplex import soft_maximum

# How far each number of a sharpness lies from one a priori: one over the root of the prior's curvature there.
PRIOR_SCALE = 0.5
MOST_STEPS = 60
# A step that promises to gain less per case is none. The part by which a number may fall in one.
FLAT, LARGEST_FALL = 1e-13, 0.5
# Of a step, in the order in which they are tried.
LENGTHS = tuple(0.5**power for power in range(20))


class Judged(NamedTuple):
    """Losses of points, without weights, (n,), their weighted sum's gradient by the latents, (C, n), the sharpness.

    What the sharpness costs a priori is part of the losses, the same for all points.
    """

    losses: Array
    gradient: Array
    sharpness: Sharpness


@dataclass(frozen=True)
class Judge:
    """Of latents at points that a fit has not seen.

    The losses of softmax probabilities are convex in both numbers of a sharpness. As it is the best one for these
    latents, a small change of them changes the losses as if it stayed (the envelope theorem): learning it costs a
    search for hyperparameters nothing but passes over the latents.

    Parameters
    ----------
    likelihood : Likelihood
        Of classes, if the sharpness is learned.
    sharpen : bool
        Whether it is; otherwise latents count as they are.
    """

    likelihood: Likelihood
    sharpen: bool = False

    def judge(self, latent: Array, targets: Array, weights: Array) -> Judged:
        """Latents (C, n) of points with targets (., n) and weights (n,)."""
        sharpness = self._best_sharpness(latent, targets, weights) if self.sharpen else Sharpness()
        sharpened = sharpness.apply(latent)[None]
        losses = self.likelihood.losses(sharpened, targets)[0]
        _, gradient = self.likelihood.loss_and_gradient(sharpened, targets, weights[None])
        return Judged(
            losses + _penalty(sharpness) / weights.sum(), sharpness.pull_back(latent, gradient[0]), sharpness
        )

    def _best_sharpness(self, latent: Array, targets: Array, weights: Array) -> Sharpness:
        """Newton's method in two numbers, with steps in which neither falls by more than half."""
        total, entropy = float(weights.sum()), normalised_entropy(latent)
        parts = np.stack([1.0 - entropy, entropy])  # of the two numbers in the scale of each point
        now = Sharpness()
        value = self._value(now, entropy, latent, targets, weights)
        for _ in range(MOST_STEPS):
            step = self._newton_step(now, parts, latent, targets, weights)
            if step.promise <= FLAT * total:
                break
            for length in LENGTHS:
                trial = Sharpness(*(_numbers(now) + length * step.direction).tolist())
                reached = self._value(trial, entropy, latent, targets, weights)
                if reached < value:
                    now, value = trial, reached
                    break
            else:
                break  # nothing is left but rounding
        return now

    def _value(self, sharpness: Sharpness, entropy: Array, latent: Array, targets: Array, weights: Array) -> float:
        sharpened = sharpness.scale(entropy) * latent
        return float(weights @ self.likelihood.losses(sharpened[None], targets)[0]) + _penalty(sharpness)

    def _newton_step(self, now: Sharpness, parts: Array, latent: Array, targets: Array, weights: Array) -> "_Step":
        """Where targets are completed, by the curvature of what lies above the loss."""
        sharpened = (now.scale(parts[1]) * latent)[None]
        completed = self.likelihood.complete(sharpened, targets).reshape(latent.shape)
        probabilities = soft_maximum(sharpened).probabilities[0]
        mean = np.einsum("cn,cn->n", probabilities, latent)
        first = mean - np.einsum("cn,cn->n", completed, latent)
        second = np.einsum("cn,cn,cn->n", probabilities, latent, latent) - mean**2
        numbers = _numbers(now)
        slope = parts @ (weights * first) + (1.0 - 1.0 / numbers) / PRIOR_SCALE**2
        bend = (parts * (weights * second)) @ parts.T + np.diag(1.0 / (PRIOR_SCALE * numbers) ** 2)
        direction = -np.linalg.solve(bend, slope)
        # Shortened as a whole: with one number held back it might lead upwards.
        direction *= min(1.0, LARGEST_FALL / max(float(np.max(-direction / numbers)), 1e-300))
        return _Step(direction, -0.5 * float(slope @ direction))


class _Step(NamedTuple):
    direction: Array
    promise: float


def _numbers(sharpness: Sharpness) -> Array:
    return np.array([sharpness.certain, sharpness.uncertain])


def _penalty(sharpness: Sharpness) -> float:
    """Negative log density of a sharpness a priori, up to a constant: a gamma distribution of each number."""
    numbers = _numbers(sharpness)
    return float((numbers - 1.0 - np.log(numbers)).sum()) / PRIOR_SCALE**2
