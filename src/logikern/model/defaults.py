"""Hyperparameters read off the data, where the user gives none."""

from typing import Any

import numpy as np

from logikern.kernels import KERNELS
from logikern.kernels.base import Kernel
from logikern.kernels.inputs import squared_norms
from logikern.kernels.stationary import Stationary
from logikern.numerics.outcome import Array

# In units of one over the total variance of the inputs: at this rate two points drawn at random have the
# correlation exp(-RATE), and neighbours remain close to one.
RATE = 2.0
# Of the latent functions: prior log odds of a few units between any two classes.
VARIANCE = 30.0


def total_variance(X: Any, weights: Array) -> float:
    """Sum over inputs of their weighted variance."""
    share = weights / weights.sum()
    mean = np.asarray(share @ X).ravel()
    if hasattr(X, "multiply"):
        return float(share @ squared_norms(X) - mean @ mean)
    centred = X - mean  # E x^2 - (E x)^2 loses all digits of inputs far from zero
    return float(share @ np.einsum("ij,ij->i", centred, centred))


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
