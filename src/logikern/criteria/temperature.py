"""Losses of held-out latents, at the best temperature if it is learned."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.likelihoods.base import Likelihood
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import soft_maximum
from logikern.numerics.temperature import Temperature, normalised_entropy


@dataclass(frozen=True)
class TemperaturePolicy:
    """The prior of the temperature, and settings of Newton's method for its two numbers."""

    # Prior scale of each number around one: one over the root of the prior's curvature there.
    prior_scale: float = 0.5
    max_steps: int = 60  # Newton steps
    flat: float = 1e-13  # stop when the predicted gain per case is below this
    largest_fall: float = 0.5  # largest relative decrease of a number in one step
    max_halvings: int = 20  # step lengths that a line search tries: 1, 1/2, 1/4, ...


class ScaledLosses(NamedTuple):
    """Losses at scaled latents."""

    losses: Array  # (n,): without weights; each includes the same penalty of the temperature
    gradient: Array  # (C, n): gradient of the weighted sum of the losses in the latents before scaling
    temperature: Temperature


class _Step(NamedTuple):
    direction: Array
    predicted_gain: float


@dataclass(frozen=True)
class TemperatureScaling:
    """The loss of held-out latents, minimised over the temperature if it is learned.

    Softmax losses are convex in both numbers of a temperature. At the best temperature, the gradient with respect to
    the latents is the same as at a fixed temperature (envelope theorem), so learning it costs only passes over the
    latents.
    """

    likelihood: Likelihood  # a likelihood of classes if the temperature is learned
    learn: bool = False  # whether the temperature is learned; otherwise latents are not changed
    policy: TemperaturePolicy = TemperaturePolicy()

    def score(self, latent: Array, targets: Array, weights: Array) -> ScaledLosses:
        """Losses of latents (C, n) for targets (., n) and weights (n,)."""
        best = self._best(latent, targets, weights) if self.learn else Temperature()
        scaled = best.apply(latent)[None]
        losses = self.likelihood.losses(scaled, targets)[0] + self._penalty(best) / weights.sum()
        _, gradient = self.likelihood.loss_and_gradient(scaled, targets, weights[None])
        return ScaledLosses(losses, best.pull_back(latent, gradient[0]), best)

    def _best(self, latent: Array, targets: Array, weights: Array) -> Temperature:
        """Newton's method with a backtracking line search."""
        total, entropy = float(weights.sum()), normalised_entropy(latent)
        shares = np.stack([1.0 - entropy, entropy])  # shares of the two numbers in the scale of each point
        now = Temperature()
        value = self._value(now, entropy, latent, targets, weights)
        for _ in range(self.policy.max_steps):
            step = self._newton_step(now, shares, latent, targets, weights)
            if step.predicted_gain <= self.policy.flat * total:
                break
            for power in range(self.policy.max_halvings):
                trial = Temperature(*(_numbers(now) + 0.5**power * step.direction).tolist())
                reached = self._value(trial, entropy, latent, targets, weights)
                if reached < value:
                    now, value = trial, reached
                    break
            else:
                break  # only rounding errors are left
        return now

    def _value(self, at: Temperature, entropy: Array, latent: Array, targets: Array, weights: Array) -> float:
        scaled = at.scale(entropy) * latent
        return float(weights @ self.likelihood.losses(scaled[None], targets)[0]) + self._penalty(at)

    def _newton_step(self, now: Temperature, shares: Array, latent: Array, targets: Array, weights: Array) -> _Step:
        """A Newton step for both numbers; for coarse labels, with the curvature of the majoriser."""
        scaled = (now.scale(shares[1]) * latent)[None]
        completed = self.likelihood.complete(scaled, targets).reshape(latent.shape)
        probabilities = soft_maximum(scaled).probabilities[0]
        mean = np.einsum("cn,cn->n", probabilities, latent)
        first = mean - np.einsum("cn,cn->n", completed, latent)
        second = np.einsum("cn,cn,cn->n", probabilities, latent, latent) - mean**2
        numbers, scale = _numbers(now), self.policy.prior_scale
        gradient = shares @ (weights * first) + (1.0 - 1.0 / numbers) / scale**2
        hessian = (shares * (weights * second)) @ shares.T + np.diag(1.0 / (scale * numbers) ** 2)
        direction = -np.linalg.solve(hessian, gradient)
        # Shortened as a whole: clipping one number might turn the direction uphill.
        fall = float(np.max(-direction / numbers))
        if fall > self.policy.largest_fall:
            direction *= self.policy.largest_fall / fall
        return _Step(direction, -0.5 * float(gradient @ direction))

    def _penalty(self, at: Temperature) -> float:
        """Negative log prior up to a constant: a gamma distribution for each number."""
        numbers = _numbers(at)
        return float((numbers - 1.0 - np.log(numbers)).sum()) / self.policy.prior_scale**2


def _numbers(temperature: Temperature) -> Array:
    return np.array([temperature.certain, temperature.uncertain])
