"""The functions that a likelihood tells apart: of two classes it sees the difference only."""

from abc import ABC, abstractmethod

import numpy as np

from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.outcome import Array


class Contrast(ABC):
    """A linear map D from class functions (..., C, n) to those functions (..., F, n) that say all.

    W = D' W_D D, the functions D u have the covariance D K~ D', and duals are D' of some beta.
    """

    @abstractmethod
    def covariances(self, blocks: Array) -> Array:
        """D K~ D', (C, n, n) -> (F, n, n); where one block holds all classes, (1, C n, C n) -> (1, F n, F n)."""

    @abstractmethod
    def curvature(self, curvature: PointwiseCurvature) -> PointwiseCurvature:
        """W_D."""

    @abstractmethod
    def see(self, latent: Array) -> Array:
        """D u."""

    @abstractmethod
    def expand(self, beta: Array) -> Array:
        """D' beta."""

    @abstractmethod
    def reduce(self, dual: Array) -> Array:
        """The beta of a dual."""

    @abstractmethod
    def lift(self, seen: Array) -> Array:
        """Class functions that are seen as these."""

    @abstractmethod
    def lift_products(self, products: Array, curvature: PointwiseCurvature) -> Array:
        """(V' x) (V' y) of class functions from the products for the functions seen, (F, n) -> (C, n)."""

    @abstractmethod
    def function_of(self, n_classes: int) -> Array:
        """Number of the function that each class takes part in, (C,)."""


class Every(Contrast):
    """The identity."""

    def covariances(self, blocks: Array) -> Array:
        return blocks

    def curvature(self, curvature: PointwiseCurvature) -> PointwiseCurvature:
        return curvature

    def see(self, latent: Array) -> Array:
        return latent

    def expand(self, beta: Array) -> Array:
        return beta

    def reduce(self, dual: Array) -> Array:
        return dual

    def lift(self, seen: Array) -> Array:
        return seen

    def lift_products(self, products: Array, curvature: PointwiseCurvature) -> Array:
        return products

    def function_of(self, n_classes: int) -> Array:
        return np.arange(n_classes)


class Difference(Contrast):
    """u_1 - u_2, whose covariance is K_1 + K_2 and whose curvature w pi_1 pi_2 has no null direction."""

    def covariances(self, blocks: Array) -> Array:
        if len(blocks) == 1:
            n = blocks.shape[1] // 2
            rows = blocks[:, :n] - blocks[:, n:]
            return rows[:, :, :n] - rows[:, :, n:]
        return (2.0 * blocks[:1]) if blocks.strides[0] == 0 else blocks.sum(axis=0)[None]

    def curvature(self, curvature: PointwiseCurvature) -> PointwiseCurvature:
        null = np.ones_like(curvature.scale) if curvature.null is None else curvature.null
        return PointwiseCurvature(curvature.scale[..., :1, :] * null[..., 1:, :], None)

    def see(self, latent: Array) -> Array:
        return latent[..., :1, :] - latent[..., 1:, :]

    def expand(self, beta: Array) -> Array:
        return np.concatenate([beta, -beta], axis=-2)

    def reduce(self, dual: Array) -> Array:
        return dual[..., :1, :]

    def lift(self, seen: Array) -> Array:
        return self.expand(0.5 * seen)

    def lift_products(self, products: Array, curvature: PointwiseCurvature) -> Array:
        # V' x = (U_2, -U_1) times the root of the difference.
        return products if curvature.null is None else curvature.null[0, ::-1] ** 2 * products

    def function_of(self, n_classes: int) -> Array:
        return np.zeros(n_classes, dtype=np.intp)


def contrast_of(curvature: PointwiseCurvature) -> Contrast:
    """The difference of two classes, or every function."""
    is_pair = curvature.null is not None and curvature.scale.shape[-2] == 2
    return Difference() if is_pair else Every()
