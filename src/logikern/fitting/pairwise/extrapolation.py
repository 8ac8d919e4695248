"""The best combination of the last moves of an ascent: sweeps alone are slow where the kernel is nearly singular.

Latents are linear in the dual, so the images of earlier moves are known, and a step in their span costs no kernel
value. It does for sweeps what conjugate directions do for gradients.
"""

import numpy as np

from logikern.fitting.pairwise.policy import POLICY, PairwisePolicy
from logikern.fitting.pairwise.state import SMALLEST_SHARE, DualState
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities


def extrapolate(state: DualState, moves: Array, images: Array, policy: PairwisePolicy = POLICY) -> Array:
    """Minimise the dual in the span of moves, and update the state; returns the coefficients, (m,).

    Newton's method on a convex function of the coefficients, with steps cut back where a share would vanish.

    Parameters
    ----------
    state : DualState
        Its dual, latents and shares are changed.
    moves, images : arrays of shape (m, C, n)
        Changes of the dual and the resulting changes of the latents.
    policy : PairwisePolicy
    """
    flat = moves.reshape(len(moves), -1)
    between = flat @ images.reshape(len(moves), -1).T
    weights = np.where(state.weights > 0, state.weights, 1.0)
    shares = np.exp(state.log_shares)
    coefficients, promised = np.zeros(len(moves)), 0.0
    for _ in range(policy.steps):
        bend = (flat / (weights * np.maximum(shares, SMALLEST_SHARE)).reshape(-1)) @ flat.T
        slope = -(flat @ state.excess().reshape(-1))
        step = _newton_step(0.5 * (between + between.T) + bend, slope, policy.singular)
        fall = -float(slope @ step)
        promised = promised or fall
        if not fall > policy.flat * promised:
            break
        move, image = np.tensordot(step, moves, 1), np.tensordot(step, images, 1)
        # Every image is a difference of latents and has their rounding: a combination of smaller moves is noise.
        if not np.abs(image).max() > policy.noise * np.abs(state.latent).max() * np.abs(step).sum():
            break
        length = _step_length(state, shares, move, image, -move / weights, policy)
        if not length > 0.0:
            break
        coefficients += length * step
        state.dual += length * move
        state.latent += length * image
        shares -= (length / weights) * move
        state.log_shares = _logarithms(shares, state.log_shares)
    return coefficients


def _newton_step(curvature: Array, slope: Array, singular: float) -> Array:
    """-curvature^-1 slope without singular directions; zero where it is not finite."""
    size = np.sqrt(np.maximum(curvature.diagonal(), 0.0))
    size[size == 0] = 1.0
    scaled = curvature / np.outer(size, size)
    if not (np.isfinite(scaled).all() and np.isfinite(slope).all()):
        return np.zeros(len(slope))
    values, vectors = np.linalg.eigh(scaled)
    regular = values > singular * values[-1]
    return -(vectors[:, regular] / values[regular]) @ (vectors[:, regular].T @ (slope / size)) / size


def _step_length(
    state: DualState, shares: Array, move: Array, image: Array, gained: Array, policy: PairwisePolicy
) -> float:
    """A step of at most one, with positive shares, not far beyond the minimum along the line; zero if impossible.

    The slope comes from `DualState.excess`, whose parts vanish at the optimum: otherwise rounding would decide.
    """
    lost = float((-gained / np.maximum(shares, SMALLEST_SHARE)).max())
    length = min(1.0, policy.inside / lost) if lost > 0 else 1.0
    before = -float(np.vdot(move, state.excess()))
    for _ in range(policy.halvings):
        log_shares = _logarithms(shares + length * gained, state.log_shares)
        slope = -float(np.vdot(move, log_shares - log_probabilities(state.latent + length * image)))
        if slope <= -0.5 * before:
            return length
        length *= 0.5
    return 0.0


def _logarithms(shares: Array, before: Array) -> Array:
    """log q; shares too small for a float keep their logarithm."""
    return np.where(shares > SMALLEST_SHARE, np.log(np.maximum(shares, SMALLEST_SHARE)), before)
