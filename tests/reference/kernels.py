"""Kernel matrices from explicit differences, in float64."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


def as_double(X: Any) -> np.ndarray:
    """The same numbers as a dense array of float64."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


# Squared distances are no larger, by definition. Only a rational quadratic with a small alpha is not zero there.
FARTHEST = 1e20


def weighted_distances(X: np.ndarray, Z: np.ndarray, rate: Any) -> np.ndarray:
    """s(x, z) = sum_j rate_j (x_j - z_j)^2, every difference taken before it is squared, (n, m)."""
    weights = np.broadcast_to(np.asarray(rate, dtype=np.float64), (X.shape[1],))
    return np.minimum(cdist(X, Z, "sqeuclidean", w=weights), FARTHEST)


def gaussian(rate: Any) -> Kernel:
    """exp(-s / 2)."""
    return lambda X, Z: np.exp(-0.5 * weighted_distances(X, Z, rate))


def matern12(rate: Any) -> Kernel:
    """exp(-sqrt(s))."""
    return lambda X, Z: np.exp(-np.sqrt(weighted_distances(X, Z, rate)))


def matern32(rate: Any) -> Kernel:
    """(1 + a) exp(-a), a = sqrt(3 s)."""

    def matrix(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        a = np.sqrt(3.0 * weighted_distances(X, Z, rate))
        return (1.0 + a) * np.exp(-a)

    return matrix


def matern52(rate: Any) -> Kernel:
    """(1 + a + a^2 / 3) exp(-a), a = sqrt(5 s)."""

    def matrix(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        a = np.sqrt(5.0 * weighted_distances(X, Z, rate))
        # Two factors: a^2 may overflow where exp(-a) is zero.
        return (1.0 + a) * np.exp(-a) + (a * np.exp(-a / 2)) ** 2 / 3.0

    return matrix


def laplacian(rate: Any) -> Kernel:
    """exp(-sum_j rate_j |x_j - z_j|)."""
    return lambda X, Z: np.exp(-cdist(X, Z, "cityblock", w=np.broadcast_to(np.asarray(rate, float), X.shape[1:])))


def gaussian_laplacian(rate: Any, roughness: float, share: float) -> Kernel:
    """(exp(-s / 2) + share exp(-roughness t)) / (1 + share), t = sum_j sqrt(rate_j) |x_j - z_j|."""
    smooth, rough = gaussian(rate), laplacian(roughness * np.sqrt(rate))
    return lambda X, Z: (smooth(X, Z) + share * rough(X, Z)) / (1.0 + share)


def rational_quadratic(rate: Any, alpha: float) -> Kernel:
    """(1 + s / (2 alpha))^-alpha."""
    return lambda X, Z: np.exp(-alpha * np.log1p(weighted_distances(X, Z, rate) / (2.0 * alpha)))


def linear() -> Kernel:
    """x'z."""
    return lambda X, Z: X @ Z.T


def polynomial(rate: Any, offset: float, degree: int) -> Kernel:
    """(offset + sum_j rate_j x_j z_j)^degree."""
    return lambda X, Z: (offset + (X * np.asarray(rate)) @ Z.T) ** degree


def total(left: Kernel, right: Kernel) -> Kernel:
    """left + right."""
    return lambda X, Z: left(X, Z) + right(X, Z)


def product(left: Kernel, right: Kernel) -> Kernel:
    """left * right."""
    return lambda X, Z: left(X, Z) * right(X, Z)


def multiple(kernel: Kernel, scale: float) -> Kernel:
    """scale * kernel."""
    return lambda X, Z: scale * kernel(X, Z)
