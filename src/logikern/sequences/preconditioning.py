"""Approximate inverses of I + W K for conjugate gradients over fields."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.fitting.preconditioning.adaptive import LowRankConditioning
from logikern.fitting.preconditioning.low_rank import CovarianceFactors, factorise
from logikern.fitting.preconditioning.preconditioner import LowRank
from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.free_memory import available_memory
from logikern.numerics.outcome import Array
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True)
class ConditioningPolicy:
    """Memory and randomness of a preconditioner."""

    memory_fraction: float = 0.1  # of the free memory
    seed: int = 0  # of the pivots


POLICY = ConditioningPolicy()


def factorise_positions(covariance: ClassCovariance, policy: ConditioningPolicy = POLICY) -> CovarianceFactors:
    """Low-rank factors of a covariance, of a rank that takes about as much time as two products."""
    conditioning = LowRankConditioning(memory=policy.memory_fraction * available_memory())
    return factorise(covariance, conditioning.first_rank(covariance, 1), np.random.default_rng(policy.seed))


class RoughCurvature(NamedTuple):
    """The curvature without the coupling of positions, and of positions with pairs of labels."""

    positions: PointwiseCurvature
    others: Array  # (C, C + 2): variances of counts of pairs, first and last labels


class ChainPreconditioner:
    """(I + W^ K^)^-1, where W^ is the rough curvature and K^ are low-rank factors plus the diagonal that they miss.

    Scores of pairs matter as much as positions if their variance is large: on OCR words with a variance of 60, a fit
    takes 164 products, and 836 if W^ has no part for them.

    With W^ = V V', the inverse at positions is I - V (I + V' K^ V)^-1 V' K^.
    """

    def __init__(self, factors: CovarianceFactors, transition_variance: float, curvature: RoughCurvature):
        self.factors, self.curvature = factors, curvature.positions
        self.inner = LowRank(factors, self.curvature)
        self.others = 1.0 / (1.0 + transition_variance * curvature.others)

    def solve(self, residual: Array) -> Array:
        """Apply it to a field."""
        n = self.curvature.scale.shape[-1]
        positions = np.ascontiguousarray(residual[None, :, :n])
        solved = self.inner.solve(self.curvature.root_adjoint(self._multiply(positions)), np.zeros(1, dtype=np.intp))
        return np.hstack([(positions - self.curvature.root(solved))[0], self.others * residual[:, n:]])

    def _multiply(self, positions: Array) -> Array:
        """K^ times class functions (1, C, n)."""
        factors, everywhere = self.factors, slice(0, positions.shape[-1])
        coordinates = factors.mix([factors.project(positions, everywhere)])
        missed = factors.mixing.adjoint(positions) * factors.missing(everywhere)
        return factors.expand(factors.unmix(coordinates), everywhere) + factors.mixing.forward(missed)
