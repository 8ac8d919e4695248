"""Default hyperparameters, computed from the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.kernels import KERNELS
from logikern.kernels.base import Kernel
from logikern.kernels.inputs import as_points, is_sparse, squared_norms
from logikern.kernels.stationary import Stationary
from logikern.numerics.outcome import Array


@dataclass(frozen=True)
class DefaultPolicy:
    """What default hyperparameters aim at.

    Parameters
    ----------
    rate : float, default=2.0
        Rate of stationary kernels in units of one over the total variance of the inputs: two random points then have
        the correlation exp(-2), and neighbours stay close to one.
    variance : float, default=30.0
        Prior variance of the latents: prior log odds of a few units between any two classes.
    outlying : float, default=100.0
        Points whose squared distance from the mean exceeds this many times the median are outliers. They do not
        count in the mean and the variance. A normal distribution has no such points.
    smallest : float, default=1e-300
        Smaller scales of the data count as zero.
    """

    rate: float = 2.0
    variance: float = 30.0
    outlying: float = 100.0
    smallest: float = 1e-300

    def divide(self, number: float, scale: float, otherwise: float) -> float:
        """number / scale, unless the scale is zero or not finite."""
        return number / scale if np.isfinite(scale) and scale > self.smallest else otherwise


DEFAULT_POLICY = DefaultPolicy()


def total_variance(X: Any, weights: Array, policy: DefaultPolicy = DEFAULT_POLICY) -> float:
    """Sum over inputs of their weighted variance, without outliers."""
    X = as_points(X, np.dtype(np.float64))
    share = weights / weights.sum()
    for _ in range(2):
        squares = _squares_about(np.asarray(share @ X).ravel(), X)
        typical = _weighted_median(squares, share)
        inside = np.where(squares <= policy.outlying * typical, share, 0.0)
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


def default_rate(kernel_name: str, X: Any, weights: Array, policy: DefaultPolicy = DEFAULT_POLICY) -> float:
    """A rate at which the kernel varies over the extent of the data."""
    if issubclass(KERNELS[kernel_name], Stationary):
        return policy.divide(policy.rate, total_variance(X, weights, policy), 1.0)
    return policy.divide(1.0, float(weights @ squared_norms(X) / weights.sum()), 1.0)


def default_variance(kernel: Kernel, X: Any, weights: Array, policy: DefaultPolicy = DEFAULT_POLICY) -> float:
    """The variance at which latents have the policy's prior variance, for any size of the kernel."""
    size = float(weights @ np.asarray(kernel.diagonal(X), dtype=float) / weights.sum())
    return policy.divide(policy.variance, size, policy.variance)
