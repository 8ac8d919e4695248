"""The dual of the softmax problem, Memisevic (2006), eq. (5): a distribution over classes at every point.

With the shares q = targets - dual / weights, which must be distributions, the dual minimises

    1/2 dual' K~ dual + sum_i w_i sum_c q_ic log q_ic.

Minus its minimum is that of the penalised loss, at the same dual. There q is the softmax of the latents u = K~ dual;
anywhere else the two values differ by the gap sum_i w_i KL(q_i || softmax(u_i)): each point has its part in it.
"""

from dataclasses import dataclass

import numpy as np

from logikern.fitting.problem import Problem
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities

# The logarithm of a share that is zero in double precision, kept finite.
LOG_NOTHING = -1000.0


@dataclass(eq=False)
class DualState:
    """Where the ascent of one weighting stands. Build it by `at_dual` or `at_latent`.

    Shares are kept as logarithms: at a large variance they become smaller than any number, and yet two of them must
    be told apart.

    Parameters
    ----------
    targets : array of shape (C, n)
    weights : array of shape (n,)
    dual, latent, log_shares : arrays of shape (C, n)
        Changed in place.
    """

    targets: Array
    weights: Array
    dual: Array
    latent: Array
    log_shares: Array

    def settle(self) -> None:
        """Remove the rounding that shares and dual have collected: shares sum to one, duals to zero.

        The largest share of a point is what the others leave, and its dual what they sum to: all digits of small
        shares are kept, and those of the small duals that are their sums.
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
        """w_i KL(q_i || softmax(u_i)) of every point, (n,): what it adds to the duality gap."""
        log_likely = log_probabilities(self.latent)
        excess = self.log_shares - log_likely
        shares = np.exp(self.log_shares)
        # Shares and probabilities both sum to one: terms of this form are not negative, and small ones do not cancel.
        near = shares * (excess + np.expm1(-np.maximum(excess, -1.0)))
        terms = np.where(excess > -1.0, near, shares * excess - shares + np.exp(log_likely))
        return self.weights * terms.sum(axis=0)

    def value(self) -> float:
        """What the dual minimises."""
        entropy = self.weights @ (np.exp(self.log_shares) * self.log_shares).sum(axis=0)
        return float(0.5 * np.vdot(self.dual, self.latent) + entropy)


def at_dual(problem: Problem, member: int, dual: Array) -> DualState:
    """The state of a dual (C, n) of one weighting; its latents, unless it is zero, are still to be computed."""
    targets, weights = _data(problem, member)
    shares = targets - dual / np.where(weights > 0, weights, 1.0)
    log_shares = np.where(shares > 0, np.log(np.maximum(shares, np.finfo(float).tiny)), LOG_NOTHING)
    state = _state(targets, weights, log_shares)
    if dual.any():
        state.settle()
    return state


def at_latent(problem: Problem, member: int, latent: Array) -> DualState:
    """The state whose shares are the softmax of latents (C, n); those of its dual are still to be computed."""
    state = _state(*_data(problem, member), log_probabilities(latent.astype(np.float64)))
    state.settle()
    return state


def _data(problem: Problem, member: int) -> tuple[Array, Array]:
    """Targets and weights in double precision; targets that were rounded to single are distributions again."""
    targets = problem.targets.astype(np.float64)
    return targets / targets.sum(axis=0), problem.weights[member].astype(np.float64)


def _state(targets: Array, weights: Array, log_shares: Array) -> DualState:
    # Points of no weight have no dual, whatever their shares are.
    log_shares = np.where(weights > 0, np.maximum(log_shares, LOG_NOTHING), -np.log(len(targets)))
    return DualState(targets, weights, np.zeros(targets.shape), np.zeros(targets.shape), log_shares)


def duality_gap(problem: Problem, dual: Array, latent: Array) -> Array:
    """Penalised loss minus its lower bound from the dual, of each weighting, (B,); dual and latent (B, C, n)."""
    states = [at_dual(problem, member, own) for member, own in enumerate(dual)]
    for state, own in zip(states, latent, strict=True):
        state.latent[:] = own
    return np.array([state.gaps().sum() for state in states])
