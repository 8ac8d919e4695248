"""Hyperparameters read off the data, where the user gives none."""

from typing import Any

import numpy as np

from logikern.kernels import KERNELS
from logikern.kernels.base import Kernel
from logikern.kernels.inputs import as_points, is_sparse, squared_norms
from logikern.kernels.stationary import Stationary
from logikern.numerics.outcome import Array

# In units of one over the total variance of the inputs: at this rate two points drawn at random have the
# correlation exp(-RATE), and neighbours remain close to one.
RATE = 2.0
# Of the latent functions: prior log odds of a few units between any two classes.
VARIANCE = 30.0


# Points whose squared distance from the mean exceeds this many times the median one are outliers: they neither move
# the mean nor count in the variance. Of points from a normal distribution there are none.
OUTLYING = 100.0


def total_variance(X: Any, weights: Array) -> float:
    """Sum over inputs of their weighted variance, outliers left out."""
    X = as_points(X, np.dtype(np.float64))
    share = weights / weights.sum()
    for _ in range(2):
        squares = _squares_about(np.asarray(share @ X).ravel(), X)
        typical = _weighted_median(squares, share)
        inside = np.where(squares <= OUTLYING * typical, share, 0.0)
        if not typical > 0.0 or np.array_equal(inside, share):
            break
        share = inside / inside.sum()
    return float(share @ squares)


def _squares_about(mean: Array, X: Any) -> Array:
    """||x - mean||^2 of every point (n,)."""
    if is_sparse(X):
        return np.maximum(squared_norms(X) - 2.0 * (X @ mean) + mean @ mean, 0.0)
    return squared_norms(X - mean)


def _weighted_median(values: Array, share: Array) -> float:
    order = np.argsort(values)
    place = int(np.searchsorted(np.cumsum(share[order]), 0.5))
    return float(values[order[min(place, len(order) - 1)]])


def default_rate(kernel_name: str, X: Any, weights: Array) -> float:
    """A rate at which the kernel varies over the extent of the data."""
    if issubclass(KERNELS[kernel_name], Stationary):
        spread = total_variance(X, weights)
        return RATE / spread if np.isfinite(spread) and spread > 1e-300 else 1.0
    size = float(weights @ squared_norms(X) / weights.sum())
    return 1.0 / size if np.isfinite(size) and size > 1e-300 else 1.0


def default_variance(kernel: Kernel, X: Any, weights: Array) -> float:
    """A variance that makes the prior variance of the latents `VARIANCE`, whatever the size of the kernel."""
    size = float(weights @ np.asarray(kernel.diagonal(X), dtype=float) / weights.sum())
    return VARIANCE / size if np.isfinite(size) and size > 1e-300 else VARIANCE
