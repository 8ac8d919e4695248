"""Squared distances in single precision, for kernel values that are recomputed many times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..inputs import Rate, scale_inputs, squared_norms


@dataclass(frozen=True)
class SinglePolicy:
    """Accuracy of squared distances in single precision."""

    # Largest squared norm of a centred point. Errors of s are at most 1.3e-6 of it (measured for 1 to 1000 inputs):
    # below 5e-5, so that errors of a Gaussian kernel are below 2.5e-5.
    largest_norm: float = 32.0
    # Points whose median is the centre.
    centre_sample: int = 1000


POLICY = SinglePolicy()


@dataclass(frozen=True, eq=False)
class SingleSquares:
    """Points prepared for s(x_i, x_j) = |x_i|^2 + |x_j|^2 - 2 x_i'x_j as one product: left_i' right_j.

    Parameters
    ----------
    left, right : array of shape (n, d + 2), float32
        (x, |x|^2, 1) and (-2 x, 1, |x|^2).
    is_far : bool array of shape (n,)
        Points with a norm too large for single precision.
    """

    left: np.ndarray
    right: np.ndarray
    is_far: np.ndarray

    def write(self, out: np.ndarray, rows: slice, columns: slice) -> bool:
        """Write s of some points and others into `out` of float32; False, and nothing written, if a point is far."""
        if self.is_far[rows].any() or self.is_far[columns].any():
            return False
        np.matmul(self.left[rows], self.right[columns].T, out=out)
        np.maximum(out, 0.0, out=out)
        if rows == columns:
            np.fill_diagonal(out, 0.0)
        return True


def prepare_single(X: np.ndarray, rate: Rate) -> SingleSquares:
    """Centre and scale points (n, d) in float64, then round them."""
    X = X.astype(np.float64, copy=False)
    centre = np.median(X[:: max(1, -(-len(X) // POLICY.centre_sample))], axis=0)
    scaled = scale_inputs(X - centre, rate)
    norms = squared_norms(scaled)[:, None]
    ones = np.ones_like(norms)
    left = np.hstack([scaled, norms, ones]).astype(np.float32)
    right = np.hstack([-2.0 * scaled, ones, norms]).astype(np.float32)
    return SingleSquares(left, right, ~(norms[:, 0] <= POLICY.largest_norm))
