"""The units in which gradients of a fit are small or large."""

import numpy as np

from logikern.fitting.problem import max_norm
from logikern.numerics.outcome import Array

# Residuals of the targets below this are not told from rounding.
SMALLEST_SIZE = 1e-8


def usual_weights(weights: Array) -> Array:
    """The size of the weights of each weighting, by which gradients are to be judged.

    The gradient is weights times probabilities. With weights of 1e-4 it would be small everywhere; with weights
    of 1e4 rounding would keep it large. The median, so that one heavy point does not speak for the others.
    """
    largest = weights.max(axis=1)
    usual = [np.median(row[row > 0]) if row.any() else 1.0 for row in weights]
    return np.minimum(np.maximum(1.0, usual), np.where(largest > 0, largest, 1.0))


def residual_sizes(likelihood_gradient: Array, usual: Array) -> Array:
    """The unit of the gradient, (B,): the weights, times the largest residual of the targets if that is below one.

    Where classes can be separated a large variance brings all probabilities so close to the targets that the
    gradient is small everywhere, long before the dual is right in any digit.
    """
    return usual * np.clip(max_norm(likelihood_gradient) / usual, SMALLEST_SIZE, 1.0)
