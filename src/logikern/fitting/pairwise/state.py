"""The dual of the softmax problem, Memisevic (2006), eq. (5): a distribution over classes at every point.

The shares q = targets - dual / weights must be distributions. The dual minimises

    1/2 dual' K~ dual + sum_i w_i sum_c q_ic log q_ic.

Its minimum is minus the minimal penalised loss, at the same dual, where q is the softmax of the latents u = K~ dual.
Elsewhere the two values differ by the gap sum_i w_i KL(q_i || softmax(u_i)), a sum over points.
"""

from dataclasses import dataclass

import numpy as np

from logikern.fitting.problem import Problem
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities

# Finite logarithm of a share that is zero in double precision, and the smallest share that is not.
LOG_ZERO, SMALLEST_SHARE = -1000.0, 1e-300


@dataclass(eq=False)
class DualState:
    """The dual variables of one weighting. Build it with `at_dual` or `at_latent`.

    Shares are kept as logarithms: at a large variance they underflow, and yet their ratios matter.
    """

    targets: Array  # (C, n)
    weights: Array  # (n,)
    dual: Array  # (C, n), changed in place
    latent: Array  # (C, n), changed in place
    log_shares: Array

    def renormalise(self) -> None:
        """Remove accumulated rounding: shares sum to one, duals to zero.

        The largest share of a point is set to one minus the other shares, and its dual to minus the sum of the other
        duals, so small shares and duals keep all their digits.
        """
        shares = np.exp(self.log_shares)
        largest, points = self.log_shares.argmax(axis=0), np.arange(shares.shape[1])
        shares[largest, points] = 0.0
        self.log_shares[largest, points] = np.log1p(-shares.sum(axis=0))
        np.subtract(self.targets, shares, out=self.dual)
        self.dual *= self.weights
        self.dual[largest, points] = 0.0
        self.dual[largest, points] = -self.dual.sum(axis=0)

    def excess(self) -> Array:
        """log q - log softmax(u), (C, n): zero at the optimum; minus the gradient of the dual, up to constants."""
        return self.log_shares - log_probabilities(self.latent)

    def gaps(self) -> Array:
        """w_i KL(q_i || softmax(u_i)) of every point, (n,): its contribution to the duality gap."""
        log_likely = log_probabilities(self.latent)
        excess = self.log_shares - log_likely
        shares = np.exp(self.log_shares)
        # Shares and probabilities both sum to one: these terms are not negative, and small ones do not cancel.
        near = shares * (excess + np.expm1(-np.maximum(excess, -1.0)))
        terms = np.where(excess > -1.0, near, shares * excess - shares + np.exp(log_likely))
        return self.weights * terms.sum(axis=0)

    def value(self) -> float:
        """The dual objective."""
        entropy = self.weights @ (np.exp(self.log_shares) * self.log_shares).sum(axis=0)
        return float(0.5 * np.vdot(self.dual, self.latent) + entropy)


def at_dual(problem: Problem, member: int, dual: Array) -> DualState:
    """The state of a dual (C, n) of one weighting; its latents must still be computed, unless it is zero."""
    targets, weights = _data(problem, member)
    shares = targets - dual / np.where(weights > 0, weights, 1.0)
    log_shares = np.where(shares > 0, np.log(np.maximum(shares, np.finfo(float).tiny)), LOG_ZERO)
    state = _state(targets, weights, log_shares)
    if dual.any():
        state.renormalise()
    return state


def at_latent(problem: Problem, member: int, latent: Array) -> DualState:
    """The state whose shares are the softmax of latents (C, n); the latents of its dual must still be computed."""
    state = _state(*_data(problem, member), log_probabilities(latent.astype(np.float64)))
    state.renormalise()
    return state


def _data(problem: Problem, member: int) -> tuple[Array, Array]:
    """Targets and weights in double precision; targets rounded to single are normalised again."""
    targets = problem.targets.astype(np.float64)
    return targets / targets.sum(axis=0), problem.weights[member].astype(np.float64)


def _state(targets: Array, weights: Array, log_shares: Array) -> DualState:
    # Points without weight have no dual, for any shares.
    log_shares = np.where(weights > 0, np.maximum(log_shares, LOG_ZERO), -np.log(len(targets)))
    return DualState(targets, weights, np.zeros(targets.shape), np.zeros(targets.shape), log_shares)
