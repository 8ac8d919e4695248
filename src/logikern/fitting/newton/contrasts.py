"""The functions that a likelihood distinguishes: for two classes, only their difference."""

from dataclasses import dataclass

import numpy as np

from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.outcome import Array


@dataclass(frozen=True)
class Contrast:
    """A linear map D from class functions (..., C, n) to the functions (..., F, n) that the likelihood distinguishes.

    W = D' W_D D, the functions D u have the covariance D K~ D', and duals are D' beta. D is the identity, or the
    difference u_1 - u_2, whose covariance is K_1 + K_2 and whose curvature w pi_1 pi_2 has no null direction.
    """

    is_difference: bool

    def covariances(self, blocks: Array) -> Array:
        """D K~ D', (C, n, n) -> (F, n, n); if one block holds all classes, (1, C n, C n) -> (1, F n, F n)."""
        if not self.is_difference:
            return blocks
        if len(blocks) == 1:
            n = blocks.shape[1] // 2
            rows = blocks[:, :n] - blocks[:, n:]
            return rows[:, :, :n] - rows[:, :, n:]
        return (2.0 * blocks[:1]) if blocks.strides[0] == 0 else blocks.sum(axis=0)[None]

    def curvature(self, curvature: PointwiseCurvature) -> PointwiseCurvature:
        """W_D."""
        if not self.is_difference:
            return curvature
        null = np.ones_like(curvature.scale) if curvature.null is None else curvature.null
        return PointwiseCurvature(curvature.scale[..., :1, :] * null[..., 1:, :], None)

    def see(self, latent: Array) -> Array:
        """D u."""
        return latent[..., :1, :] - latent[..., 1:, :] if self.is_difference else latent

    def expand(self, beta: Array) -> Array:
        """D' beta."""
        return np.concatenate([beta, -beta], axis=-2) if self.is_difference else beta

    def reduce(self, dual: Array) -> Array:
        """The beta of a dual."""
        return dual[..., :1, :] if self.is_difference else dual

    def lift(self, seen: Array) -> Array:
        """Class functions u with given D u."""
        return self.expand(0.5 * seen) if self.is_difference else seen

    def lift_products(self, products: Array, curvature: PointwiseCurvature) -> Array:
        """(V' x) (V' y) of class functions from the products for D x and D y, (F, n) -> (C, n)."""
        if not self.is_difference or curvature.null is None:
            return products
        # V' x = (U_2, -U_1) times the root of the difference.
        return curvature.null[0, ::-1] ** 2 * products

    def function_of(self, n_classes: int) -> Array:
        """The number of each class's function, (C,)."""
        return np.zeros(n_classes, dtype=np.intp) if self.is_difference else np.arange(n_classes)


def contrast_of(curvature: PointwiseCurvature) -> Contrast:
    """The difference of two classes, or the identity."""
    return Contrast(curvature.null is not None and curvature.scale.shape[-2] == 2)
