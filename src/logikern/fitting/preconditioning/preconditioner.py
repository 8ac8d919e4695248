"""Approximate inverses of the Newton system for conjugate gradients."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrs

from logikern.fitting.preconditioning.at_points import PointSystems
from logikern.fitting.preconditioning.low_rank import CovarianceFactors
from logikern.fitting.preconditioning.woodbury import woodbury_factors
from logikern.likelihoods.curvature import Curvature, PointwiseCurvature
from logikern.numerics.conjugate_gradient import take_members
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
    """diag(I + V' K~ V)^-1, Seeger (2008), App. B, projected on both sides."""

    inverse: Array  # (B, C, n)
    curvature: Curvature

    def solve(self, residual: Array, members: Indices) -> Array:
        curvature = self.curvature.take_members(members).in_precision(residual.dtype)
        return curvature.project(take_members(self.inverse, members).astype(residual.dtype, copy=False) * residual)


def diagonal_preconditioner(covariance: ClassCovariance, curvature: Curvature) -> Diagonal:
    """The diagonal preconditioner, from the covariance between classes at each point."""
    own = covariance.diagonal()  # (C, n)
    scale, null = curvature.pointwise.scale, curvature.pointwise.null
    if null is None:
        return Diagonal(1.0 / (1.0 + scale**2 * own), curvature)
    probabilities = null**2
    spread = covariance.matmul_at_points(probabilities)  # K_i pi_i
    mean = np.einsum("bcn,bcn->bn", probabilities, spread)[:, None, :]
    system = 1.0 + scale**2 * (own - 2.0 * spread + mean)
    return Diagonal(1.0 / system, curvature)


class LowRank(Preconditioner):
    """(B + G G')^-1 by Woodbury, with coupled classes and the residual of the factors at each point.

    Let K~ ~ F' F + R, with F the rows of all latent functions and constants, and R between classes at single points.
    On the range of the projector Pi = I - U U' the system is then B + G G' with B = Pi (I + S R S) Pi and
    G = Pi S F'. `PointSystems` inverts B. R matters for rough kernels, whose matrices are nearly diagonal.

    Attributes
    ----------
    n_solves : int
        Number of uses so far, which is the number of products of a direction.
    """

    def __init__(self, factors: CovarianceFactors, curvature: PointwiseCurvature):
        self.factors = factors
        self.n_solves = 0
        self.curvature = curvature.in_precision(factors.dtype)
        self.systems = PointSystems(factors, self.curvature)
        self.woodbury = woodbury_factors(factors, self.systems)

    def solve(self, residual: Array, members: Indices) -> Array:
        self.n_solves += 1
        tiles = point_tiles(residual.shape)
        scale = self.systems.scale
        base = np.empty_like(residual)

        def begin(points: slice) -> tuple[Array, Array]:
            base[..., points] = self.systems.solve(residual[..., points], members, points)
            return self.factors.project(take_members(scale[..., points], members) * base[..., points], points)

        coordinates = self.factors.mix(for_each(begin, tiles))

        def invert(position: int) -> None:
            own, order = coordinates[position], self.factors.arranged
            own[order] = dpotrs(self.woodbury[members[position]], own[order])[0]

        for_each(invert, range(len(members) if coordinates.size else 0))

        unmixed = self.factors.unmix(coordinates)

        def finish(points: slice) -> None:
            inner = self.factors.expand(unmixed, points)
            inner *= take_members(scale[..., points], members)
            base[..., points] -= self.systems.solve(inner, members, points)

        for_each(finish, tiles)
        return base if self.curvature.merged is None else self.curvature.take_members(members).merge(base)
