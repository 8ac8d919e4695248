"""Default hyperparameters, computed from the data."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.kernels import KERNELS, GaussianLaplacian
from logikern.kernels.base import Kernel
from logikern.kernels.inputs import as_points, squared_norms
from logikern.kernels.metrics import Metric
from logikern.kernels.stationary import DistanceKernel
from logikern.numerics.outcome import Array


@dataclass(frozen=True)
class DefaultPolicy:
    """Targets of the default hyperparameters."""

    # Rates of kernels of squared and of city-block distances, in units of one over the mean distance of a point from
    # the centre. Two random points then have the correlation exp(-2), or about exp(-1), and neighbours stay close to
    # one. On five standardised tables, the log loss of the Laplacian at its default rate is within 5 % of the best
    # among rates from 1/8 to 4 times as large.
    squared_rate: float = 2.0
    city_block_rate: float = 1.0
    variance: float = 30.0  # prior variance of the latents: prior log odds of a few units between any two classes
    # Points that are farther from the mean than this many times the median length are outliers. They do not count in
    # the mean and the mean distance. A normal distribution has no such points.
    outlying: float = 10.0
    smallest: float = 1e-300  # smaller scales of the data count as zero

    def divide(self, number: float, scale: float, otherwise: float) -> float:
        """number / scale, unless the scale is zero or not finite."""
        return number / scale if np.isfinite(scale) and scale > self.smallest else otherwise


DEFAULT_POLICY = DefaultPolicy()


def mean_distance(metric: Metric, X: Any, weights: Array, policy: DefaultPolicy = DEFAULT_POLICY) -> float:
    """Weighted mean of the distances from the mean point, without outliers; squares add up to the total variance."""
    X = as_points(X, np.dtype(np.float64))
    share = weights / weights.sum()
    for _ in range(2):
        distances = metric.distances_from(np.asarray(share @ X).ravel(), X)
        typical = _weighted_median(distances, share)
        inside = np.where(distances <= policy.outlying**metric.power * typical, share, 0.0)
        if not typical > 0.0 or np.array_equal(inside, share):
            break
        share = inside / inside.sum()
    return float(share @ distances)


def _weighted_median(values: Array, share: Array) -> float:
    order = np.argsort(values)
    place = int(np.searchsorted(np.cumsum(share[order]), 0.5))
    return float(values[order[min(place, len(order) - 1)]])


def default_rate(kernel_name: str, X: Any, weights: Array, policy: DefaultPolicy = DEFAULT_POLICY) -> float:
    """A rate at which the kernel varies over the extent of the data."""
    kernel = KERNELS[kernel_name]()
    if isinstance(kernel, DistanceKernel):
        metric = kernel.metrics[0]
        rate = policy.squared_rate if metric.power == 2 else policy.city_block_rate
        return policy.divide(rate, mean_distance(metric, X, weights, policy), 1.0)
    return policy.divide(1.0, float(weights @ squared_norms(X) / weights.sum()), 1.0)


def read_shape(kernel: Kernel, X: Any, weights: Array, policy: DefaultPolicy = DEFAULT_POLICY) -> Kernel:
    """The kernel with parameters other than the rate set from the data: each part of a mean has its default rate."""
    if not isinstance(kernel, GaussianLaplacian) or isinstance(kernel.rate, tuple):
        return kernel
    return replace(kernel, roughness=default_rate("laplacian", X, weights, policy) / kernel.rate**0.5)


def default_variance(kernel: Kernel, X: Any, weights: Array, policy: DefaultPolicy = DEFAULT_POLICY) -> float:
    """The variance at which latents have the policy's prior variance, for any size of the kernel."""
    size = float(weights @ np.asarray(kernel.diagonal(X), dtype=float) / weights.sum())
    return policy.divide(policy.variance, size, policy.variance)
