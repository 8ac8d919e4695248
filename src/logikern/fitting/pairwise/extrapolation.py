"""The best combination of the last moves of an ascent: sweeps alone creep where the kernel is nearly singular.

Latents are linear in the dual, so that the images of moves that were made already are known, and a step in their
span costs no kernel value. It does for sweeps what conjugate directions do for gradients.
"""

import numpy as np

from logikern.fitting.pairwise.state import DualState
from logikern.numerics.outcome import Array
from logikern.numerics.simplex import log_probabilities

MOST_STEPS = 12
MOST_TRIALS = 30
# Of the fall that the first step promises: less is not worth another one.
FLAT = 1e-4
# Of the way to where the first share is used up.
KEPT_INSIDE = 0.9
SINGULAR = 1e-12
NOISE = 100 * np.finfo(float).eps
SMALLEST_SHARE = 1e-300


def extrapolate(state: DualState, moves: Array, images: Array) -> Array:
    """Move the state to where the dual is lowest in the span of moves; returns their coefficients, (m,).

    Newton's method in the coefficients, on a function that is convex, with steps cut back where a share would vanish.

    Parameters
    ----------
    state : DualState
        Its dual, latents and shares are changed.
    moves, images : arrays of shape (m, C, n)
        Changes of the dual and what they did to the latents.
    """
    flat = moves.reshape(len(moves), -1)
    between = flat @ images.reshape(len(moves), -1).T
    weights = np.where(state.weights > 0, state.weights, 1.0)
    shares = np.exp(state.log_shares)
    coefficients, promised = np.zeros(len(moves)), 0.0
    for _ in range(MOST_STEPS):
        bend = (flat / (weights * np.maximum(shares, SMALLEST_SHARE)).reshape(-1)) @ flat.T
        slope = -(flat @ state.excess().reshape(-1))
        step = _newton_step(0.5 * (between + between.T) + bend, slope)
        fall = -float(slope @ step)
        promised = promised or fall
        if not fall > FLAT * promised:
            break
        move, image = np.tensordot(step, moves, 1), np.tensordot(step, images, 1)
        # Every image is a difference of latents and has their rounding: where moves are no larger than that, nor is
        # their combination anything else.
        if not np.abs(image).max() > NOISE * np.abs(state.latent).max() * np.abs(step).sum():
            break
        length = _step_length(state, shares, move, image, -move / weights)
        if not length > 0.0:
            break
        coefficients += length * step
        state.dual += length * move
        state.latent += length * image
        shares -= (length / weights) * move
        state.log_shares = _logarithms(shares, state.log_shares)
    return coefficients


def _newton_step(curvature: Array, slope: Array) -> Array:
    """-curvature^-1 slope in the directions that the curvature tells apart; zero where it is no number."""
    size = np.sqrt(np.maximum(curvature.diagonal(), 0.0))
    size[size == 0] = 1.0
    scaled = curvature / np.outer(size, size)
    if not (np.isfinite(scaled).all() and np.isfinite(slope).all()):
        return np.zeros(len(slope))
    values, vectors = np.linalg.eigh(scaled)
    told = values > SINGULAR * values[-1]
    return -(vectors[:, told] / values[told]) @ (vectors[:, told].T @ (slope / size)) / size


def _step_length(state: DualState, shares: Array, move: Array, image: Array, gained: Array) -> float:
    """At most one, inside the shares, and not far beyond the lowest point of the line; zero where there is none.

    The slope is that of `DualState.excess`, whose parts vanish at the optimum: rounding would else decide.
    """
    lost = float((-gained / np.maximum(shares, SMALLEST_SHARE)).max())
    length = min(1.0, KEPT_INSIDE / lost) if lost > 0 else 1.0
    before = -float(np.vdot(move, state.excess()))
    for _ in range(MOST_TRIALS):
        log_shares = _logarithms(shares + length * gained, state.log_shares)
        slope = -float(np.vdot(move, log_shares - log_probabilities(state.latent + length * image)))
        if slope <= -0.5 * before:
            return length
        length *= 0.5
    return 0.0


def _logarithms(shares: Array, before: Array) -> Array:
    """log q; shares that are no numbers any more keep the logarithm that they had."""
    return np.where(shares > SMALLEST_SHARE, np.log(np.maximum(shares, SMALLEST_SHARE)), before)
