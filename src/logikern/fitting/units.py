"""The units in which gradients of a fit are small or large."""

import numpy as np

from logikern.fitting.problem import max_norm
from logikern.numerics.outcome import Array

# Residuals of the targets below this are not told from rounding: in single precision probabilities are right to 1e-7,
# which must be well below the usual tolerance, 1e-4, times this size.
SMALLEST_SIZE, SMALLEST_SINGLE_SIZE = 1e-8, 5e-3


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
    smallest = SMALLEST_SINGLE_SIZE if likelihood_gradient.dtype == np.float32 else SMALLEST_SIZE
    return usual * np.clip(max_norm(likelihood_gradient) / usual, smallest, 1.0)
