"""The units in which gradients of a fit are small or large."""

import numpy as np

from logikern.fitting.problem import Problem, max_norm
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import for_each, point_tiles

# Residuals of the targets below these count as rounding, by dtype of the coefficients. Probabilities in single
# precision are accurate to 1e-7, which must be well below the default tolerance, 1e-4, times this size.
SMALLEST_SIZES = {np.dtype(np.float32): 5e-3, np.dtype(np.float64): 1e-8}


def usual_weights(weights: Array) -> Array:
    """The typical weight of each weighting, (B,): a unit for gradients, which are weights times probabilities.

    With weights of 1e-4 gradients would be small everywhere; with weights of 1e4 rounding would keep them large.
    The median ignores single heavy points.
    """
    largest = weights.max(axis=1)
    usual = [np.median(row[row > 0]) if row.any() else 1.0 for row in weights]
    return np.minimum(np.maximum(1.0, usual), np.where(largest > 0, largest, 1.0))


def residual_sizes(largest: Array, usual: Array, dtype: np.dtype) -> Array:
    """The unit of the gradient, (B,): the typical weight, times the largest residual of the targets if below one.

    `largest` are the largest entries of the likelihood's gradient, (B,), and `dtype` is the dtype of the
    coefficients.

    If classes can be separated, a large variance brings all probabilities so close to the targets that the gradient
    is small everywhere, long before any digit of the dual is right.
    """
    return usual * np.clip(largest / usual, SMALLEST_SIZES[dtype], 1.0)


def largest_entries(problem: Problem, dual: Array, latent: Array) -> tuple[Array, Array]:
    """Largest entries of the likelihood's gradient and of dual + that gradient, (B,) each.

    The gradient is computed in the precision of the latents. With latents in float64, both results are accurate even
    if the dual is stored in single precision; a gradient in single precision would have an error of 1e-7, and could
    be zero by chance.
    """

    def find(points: slice) -> tuple[Array, Array]:
        own = problem.at(points)
        _, gradient = own.likelihood.loss_and_gradient(latent[..., points], own.targets, own.weights)
        of_likelihood = max_norm(gradient)
        gradient += dual[..., points]
        return of_likelihood, max_norm(gradient)

    of_likelihood, whole = np.max(for_each(find, point_tiles(latent.shape)), axis=0)
    return of_likelihood, whole
