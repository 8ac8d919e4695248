"""Step lengths for a batch of convex functions of one variable each."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Mask

# A bracket below HALVED of its length counts as halved, despite rounding of its ends. A Newton trial must keep a
# distance of MARGIN times the bracket from both ends.
HALVED, MARGIN = 0.51, 0.02


class Slope(NamedTuple):
    """First and second derivative along the line, one value per batch member."""

    first: Array
    second: Array


def convex_step_lengths(
    slope_at: Callable[[Array], Slope],
    n_batch: int,
    reduction: float = 0.1,
    max_evaluations: int = 40,
    longest: float = 16.0,
) -> Array:
    """Steps t with |f'(t)| <= reduction * |f'(0)|, by Newton on f' inside a bracket.

    Only derivatives are used: near the optimum the values of f agree in all
    their digits while f' still shows on which side the minimum lies. If a trial
    has not halved the bracket, the next one does: Newton alone is slow on a slope
    that grows exponentially.

    Parameters
    ----------
    slope_at : callable
        Maps step lengths (n_batch,) to the derivatives there.
    n_batch : int
        Number of independent lines.
    reduction : float, default=0.1
        How much smaller the slope must be than at the start.
    max_evaluations : int, default=40
        Bound on the evaluations of the derivatives after the first; a line that needs
        more gets the longest step that is known to descend.
    longest : float, default=16.0
        Largest step length.

    Returns
    -------
    array of shape (n_batch,)
        Zero for a member whose direction is not a descent direction.
    """
    start = slope_at(np.zeros(n_batch)).first
    descends = start < 0
    low, high = np.zeros(n_batch), np.full(n_batch, np.inf)
    width = np.full(n_batch, np.inf)
    steps = np.where(descends, 1.0, 0.0)
    for _ in range(max_evaluations):
        slope = slope_at(steps)
        converged = ~descends | (np.abs(slope.first) <= reduction * np.abs(start))
        if converged.all():
            return steps
        rising = ~(slope.first < 0)  # not-a-number counts as too far
        high = np.where(~converged & rising, steps, high)
        low = np.where(~converged & ~rising, steps, low)
        upper = np.minimum(high, np.minimum(4 * np.maximum(low, 0.25), longest))
        quick = np.isinf(high) | (upper - low <= HALVED * width)
        width = upper - low
        steps = np.where(converged, steps, _next_trial(steps, slope, low, upper, quick))
    return np.where(converged, steps, low)


def _next_trial(steps: Array, slope: Slope, low: Array, upper: Array, quick: Mask) -> Array:
    """Newton on the slope, or the middle of the bracket where Newton leaves it or converges slowly."""
    with np.errstate(divide="ignore", invalid="ignore"):
        newton = steps - slope.first / slope.second
    margin = MARGIN * (upper - low)
    inside = (newton > low + margin) & (newton < upper - margin)
    return np.where(inside & quick, newton, 0.5 * (low + upper))
