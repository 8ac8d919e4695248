"""The units in which gradients of a fit are small or large."""

import numpy as np

from logikern.fitting.problem import max_norm
from logikern.numerics.outcome import Array

# Residuals of the targets below these count as rounding. Probabilities in single precision are accurate to 1e-7,
# which must be well below the default tolerance, 1e-4, times this size.
SMALLEST_SIZES = {np.dtype(np.float32): 5e-3, np.dtype(np.float64): 1e-8}


def usual_weights(weights: Array) -> Array:
    """The typical weight of each weighting, (B,): a unit for gradients, which are weights times probabilities.

    With weights of 1e-4 gradients would be small everywhere; with weights of 1e4 rounding would keep them large.
    The median ignores single heavy points.
    """
    largest = weights.max(axis=1)
    usual = [np.median(row[row > 0]) if row.any() else 1.0 for row in weights]
    return np.minimum(np.maximum(1.0, usual), np.where(largest > 0, largest, 1.0))


def residual_sizes(likelihood_gradient: Array, usual: Array) -> Array:
    """The unit of the gradient, (B,): the typical weight, times the largest residual of the targets if below one.

    If classes can be separated, a large variance brings all probabilities so close to the targets that the gradient
    is small everywhere, long before any digit of the dual is right.
    """
    return usual * np.clip(max_norm(likelihood_gradient) / usual, SMALLEST_SIZES[likelihood_gradient.dtype], 1.0)
