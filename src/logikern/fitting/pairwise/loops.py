"""Dual ascent over two classes of a point at a time, Memisevic (2006), sec. 3: compiled loops.

A point's shares q are a distribution over classes. Moving mass from one class to another keeps their sum, and the
best mass is a root in one variable. Everything here is plain Python; `compiled` makes it fast. The constants are
compiled in.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from logikern.numerics.compilation import compile_together
from logikern.numerics.outcome import Array

# Fractions of a point's first spread, and of a block's first divergence, that may remain.
POINT_FALL, BLOCK_FALL = 0.3, 0.01
# Points below this fraction of a block's first mean divergence are skipped.
QUIET = 0.1
# Relative rounding of latents: smaller spreads count as zero.
ROUNDING = 1e-15
# Pairs that a visit may change, in units of the number of classes.
MOST_PAIRS = 4


def log_odds(gain: float, right: float, start: float) -> float:
    """The root x <= 0 of x + gain * sigmoid(x) = right, given 2 * right <= gain.

    There the left side is convex and increasing, so Newton's iterates fall to the root once they are to the right of
    it. Iterates are kept within the bounds min(0, right) and right - gain.
    """
    highest = min(0.0, right)
    x = min(max(start, right - gain), highest)
    # Far from the root each step is about one, so log(gain) steps are needed.
    for _ in range(1000):
        odds = math.exp(x)
        share = odds / (1.0 + odds)
        step = (x + gain * share - right) / (1.0 + gain * share / (1.0 + odds))
        x = min(x - step, highest)
        if not abs(step) > ROUNDING * (1.0 + abs(x)):
            break
    return x


def solve_pair(first: float, second: float, stiffness: float, difference: float) -> tuple[float, float, float]:
    """New log shares of two classes and the mass that the first one gains; eq. (9) with its constants corrected.

    With q and r the shares and x = log(q / r) afterwards, x + stiffness * (mass gained) = difference of the latents:
    the sum of both shares is unchanged.
    """
    higher, lower = max(first, second), min(first, second)
    log_sum = higher + math.log1p(math.exp(lower - higher))
    gain = stiffness * math.exp(log_sum)
    right = difference + stiffness * math.exp(first)
    if 2.0 * right <= gain:
        x = log_odds(gain, right, first - second)
        rest = log_sum - math.log1p(math.exp(x))
        return rest + x, rest, math.exp(rest + x) - math.exp(first)
    # Solve for the smaller share, which must keep its digits.
    x = log_odds(gain, gain - right, second - first)
    rest = log_sum - math.log1p(math.exp(x))
    return rest, rest + x, math.exp(second) - math.exp(rest + x)


def solve_point(
    own: Array, couplings: Array, log_shares: Array, dual: Array, latent: Array, weight: float, shift: Array
) -> float:
    """Change pairs of classes of one point until its spread g = max - min of log q - u, eq. (12), has fallen.

    Returns the first spread, 0 if nothing had to be done. `own` holds the kernel values k_o(x, x); the latents of
    another point x' change by the sum over kernels of k_o(x, x') * shift[o].
    """
    n_kernels, n_classes = shift.shape
    found = 0.0
    shift[:] = 0.0
    for number in range(MOST_PAIRS * n_classes):
        low, high = 0, 0
        for c in range(1, n_classes):
            if log_shares[c] - latent[c] < log_shares[low] - latent[low]:
                low = c
            if log_shares[c] - latent[c] > log_shares[high] - latent[high]:
                high = c
        spread = log_shares[high] - latent[high] - log_shares[low] + latent[low]
        resolution = ROUNDING * (1.0 + abs(latent[low]) + abs(latent[high]))
        if number == 0 and spread > resolution:
            found = spread
        if not spread > max(resolution, POINT_FALL * min(found, 1.0)):
            break
        curvature = 0.0
        for o in range(n_kernels):
            between = couplings[o, low, low] + couplings[o, high, high] - 2.0 * couplings[o, low, high]
            curvature += own[o] * between
        difference = latent[low] - latent[high]
        stiffness = weight * max(curvature, 0.0)
        log_shares[low], log_shares[high], mass = solve_pair(log_shares[low], log_shares[high], stiffness, difference)
        mass *= weight
        dual[low] -= mass
        dual[high] += mass
        for o in range(n_kernels):
            for c in range(n_classes):
                change = mass * (couplings[o, c, high] - couplings[o, c, low])
                shift[o, c] += change
                latent[c] += own[o] * change
    return found


def divergence(log_shares: Array, latent: Array) -> float:
    """KL(q || softmax(u)) of one point, as a sum of nonnegative terms."""
    highest = latent[0]
    for value in latent:
        highest = max(highest, value)
    total = 0.0
    for value in latent:
        total += math.exp(value - highest)
    log_total = highest + math.log(total)
    result = 0.0
    for c in range(len(latent)):
        share, excess = math.exp(log_shares[c]), log_shares[c] - latent[c] + log_total
        if excess > -1.0:
            result += share * (excess + math.expm1(-excess))
        else:
            result += share * (excess - 1.0) + math.exp(latent[c] - log_total)
    return result


def solve_block(
    kernels: Array, couplings: Array, log_shares: Array, dual: Array, latent: Array, weights: Array, n_passes: int
) -> None:
    """Visit the points of a block back and forth until their divergence has fallen, at most `n_passes` times.

    Parameters
    ----------
    kernels : array of shape (O, m, m)
        Values of each kernel between the points of the block.
    couplings : array of shape (O, C, C)
        K~ between two points is the sum over kernels of value times coupling.
    log_shares, dual, latent : arrays of shape (m, C)
        Changed in place. Latents change only by the updates of this block.
    weights : array of shape (m,)
    n_passes : int
    """
    n_kernels, n_points, n_classes = len(kernels), len(dual), dual.shape[1]
    shift = np.zeros((n_kernels, n_classes))
    own = np.zeros(n_kernels)
    first = 0.0
    for number in range(n_passes):
        total = 0.0
        for place in range(n_points):
            i = place if number % 2 == 0 else n_points - 1 - place
            part = weights[i] * divergence(log_shares[i], latent[i])
            total += part
            if number > 0 and part * n_points <= QUIET * first:
                continue
            for o in range(n_kernels):
                own[o] = kernels[o, i, i]
            found = solve_point(own, couplings, log_shares[i], dual[i], latent[i], weights[i], shift)
            if not found > 0.0:
                continue
            for o in range(n_kernels):
                for j in range(n_points):
                    if j != i:
                        value = kernels[o, i, j]
                        for c in range(n_classes):
                            latent[j, c] += value * shift[o, c]
        if number == 0:
            first = total
        if not total > BLOCK_FALL * first:
            break


@cache
def compiled() -> Callable[..., Any]:
    """`solve_block` as machine code."""
    return compile_together((log_odds, solve_pair, divergence, solve_point, solve_block))
