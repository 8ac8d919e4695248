"""Newton's method with dense factors, O(C n^3) a step: for small problems, and as a reference."""

from dataclasses import dataclass

import numpy as np

from logikern.fitting.descent import Budget, MakeSystem, NewtonSolver
from logikern.fitting.systems import ExactSystem
from logikern.likelihoods.base import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True)
class Exact(NewtonSolver):
    """Newton steps from Cholesky factors of all class blocks (Seeger 2008, App. C).

    Parameters
    ----------
    tolerance : float, default=1e-8
        For the largest absolute component of the gradient.
    budget : Budget
    """

    tolerance: float = 1e-8
    budget: Budget = Budget()

    def systems(self, covariance: ClassCovariance) -> MakeSystem:
        blocks = dense_blocks(covariance)

        def make_system(curvature: Curvature, members: Indices) -> ExactSystem:
            return ExactSystem(blocks, curvature)

        return make_system


def dense_blocks(covariance: ClassCovariance) -> Array:
    """K~ as an array (C, n, n), one block per class; flat classes only."""
    everything = np.arange(covariance.n_points)
    own = [np.asarray(operator.rows(everything), dtype=float) for operator in covariance.operators]
    return np.stack(
        [
            variance * own[index] + covariance.bias_variance
            for index, variance in zip(covariance.assignment, covariance.variances, strict=True)
        ]
    )
