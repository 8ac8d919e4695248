"""Approximate inverses of the Newton system for conjugate gradients."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve

from logikern.fitting.factors import CovarianceFactors
from logikern.fitting.woodbury import woodbury_factors
from logikern.likelihoods.base import Curvature
from logikern.numerics.conjugate_gradient import of
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, point_tiles
from logikern.structure.covariance import ClassCovariance


class Preconditioner(ABC):
    """A symmetric positive definite approximation of (I + V' K~ V)^-1 on the range of the projector."""

    @abstractmethod
    def solve(self, residual: Array, members: Indices) -> Array:
        """Apply it to residuals (members, C, n)."""


@dataclass(frozen=True, eq=False)
class Diagonal(Preconditioner):
    """diag(I + V' K~ V)^-1, Seeger (2008), App. B, projected on both sides.

    Parameters
    ----------
    inverse : array of shape (B, C, n)
    curvature : Curvature
    """

    inverse: Array
    curvature: Curvature

    def solve(self, residual: Array, members: Indices) -> Array:
        curvature = self.curvature.of(members).in_precision(residual.dtype)
        return curvature.project(of(self.inverse, members).astype(residual.dtype, copy=False) * residual)


def diagonal_preconditioner(covariance: ClassCovariance, curvature: Curvature) -> Diagonal:
    """From the covariance between classes at each point."""
    own = covariance.diagonal()  # (C, n)
    scale, null = curvature.scale, curvature.null
    if null is None:
        return Diagonal(1.0 / (1.0 + scale**2 * own), curvature)
    probabilities = null**2
    spread = covariance.matmul_at_points(probabilities)  # K_i pi_i
    mean = np.einsum("bcn,bcn->bn", probabilities, spread)[:, None, :]
    system = 1.0 + scale**2 * (own - 2.0 * spread + mean)
    return Diagonal(1.0 / system, curvature)


class LowRank(Preconditioner):
    """(B + G G')^-1 by Woodbury, with the classes coupled and what the factors miss on the diagonal.

    K~ ~ F' F + diag(d), F the rows of all pieces, makes the system, on the range of the projector
    Pi = I - U U', equal to Pi (I + S d S) Pi + G G' with G = Pi S F'. The first
    part B is a C x C matrix for each point, inverted in closed form:
    with a = 1 / (1 + S^2 d), B^-1 x = a x - a U (U' a x) / (U' a U). With T_c = S_c^2 a_c, and T_p the sum of it
    over the classes below p, the Woodbury matrix I + G' B^-1 G has the blocks F_p (T_pq - T_p T_q / T) F_q', where
    T_pq is T_q if p is q or above it, and else nothing: one symmetric product of the stacked rows F_p T_p / T^(1/2),
    and small ones along the paths.
    Without d it would be blind at rough kernels, whose matrices are nearly diagonal.

    Parameters
    ----------
    factors : CovarianceFactors
    curvature : Curvature
    """

    def __init__(self, factors: CovarianceFactors, curvature: Curvature):
        self.factors = factors
        self.curvature = curvature
        self.damping = curvature.scale**2
        self.damping *= factors.residual
        self.damping += 1.0
        np.divide(1.0, self.damping, out=self.damping)  # a, (B, C, n)
        self.scale = curvature.scale.astype(factors.dtype, copy=False)
        self.null: Array | None = None
        self.tilted: Array | None = None
        self.total: Array | None = None
        if curvature.null is not None:
            self.null = curvature.null.astype(factors.dtype, copy=False)
            tilted = self.damping * curvature.null  # a U
            self.total = np.einsum("bcn,bcn->bn", tilted, curvature.null).astype(factors.dtype)  # U' a U
            self.tilted = tilted.astype(factors.dtype, copy=False)
        self.woodbury = woodbury_factors(factors, curvature.scale**2 * self.damping, curvature.null is not None)
        self.damping = self.damping.astype(factors.dtype, copy=False)

    def solve(self, residual: Array, members: Indices) -> Array:
        part = _Part.of(self, members)
        tiles = point_tiles(residual.shape)
        base = np.empty_like(residual)

        def begin(points: slice) -> tuple[Array, Array]:
            base[..., points] = part.base_solve(residual[..., points], points)
            return self.factors.project(part.scale[..., points] * base[..., points], points)

        coordinates = self.factors.mix(for_each(begin, tiles))

        def invert(position: int) -> None:
            coordinates[position] = cho_solve(
                self.woodbury[members[position]], coordinates[position], check_finite=False
            )

        for_each(invert, range(len(members)))

        unmixed = self.factors.unmix(coordinates)

        def finish(points: slice) -> None:
            inner = self.factors.expand(unmixed, points)
            inner *= part.scale[..., points]
            base[..., points] -= part.base_solve(inner, points)

        for_each(finish, tiles)
        return base


class _Part(NamedTuple):
    """What the base of the preconditioner holds for some members of the batch."""

    damping: Array
    scale: Array
    null: Array | None
    tilted: Array | None
    total: Array | None

    @classmethod
    def of(cls, whole: LowRank, members: Indices) -> "_Part":
        arrays = (whole.damping, whole.scale, whole.null, whole.tilted, whole.total)
        return cls(*(None if array is None else of(array, members) for array in arrays))  # type: ignore[arg-type]

    def base_solve(self, per_class: Array, points: slice) -> Array:
        """B^-1 at some points, a new array."""
        result = self.damping[..., points] * per_class
        if self.null is None or self.tilted is None or self.total is None:
            return result
        along = np.einsum("bcn,bcn->bn", self.null[..., points], result) / self.total[:, points]
        result -= self.tilted[..., points] * along[:, None, :]
        return result
