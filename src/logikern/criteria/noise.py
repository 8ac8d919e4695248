"""The log likelihood of held-out squared errors at its best noise variance."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.criteria.base import Criterion, Evaluation
from logikern.numerics.outcome import Array, Indices
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True, eq=False)
class ProfiledNoise(Criterion):
    """Psi = C/2 log s^2, s^2 the mean squared held-out error of C outputs; both have the same minimiser.

    Up to a constant this is the negative log density of held-out targets under Gaussian noise of variance s^2. In
    these units a hyperparameter without effect lowers the sum over all cases by about 1/2 (Wilks), for any noise, so
    priors and model comparisons are on the same scale as for classes.
    """

    inner: Criterion  # the same criterion for the squared loss
    n_outputs: int
    smallest_noise: float = 1e-8  # added to s^2, in units of the targets' variance: smaller errors do not matter

    @property
    def loss_weights(self) -> Array:
        return self.inner.loss_weights

    @property
    def loss_points(self) -> Indices:
        return self.inner.loss_points

    @property
    def partition(self) -> Any:
        return self.inner.partition

    def evaluate(self, covariance: ClassCovariance, start: Array | None, tolerance: float) -> Evaluation:
        found = self.inner.evaluate(covariance, start, tolerance)
        if not found.usable:
            return found
        noise = 2.0 * found.value / self.n_outputs + self.smallest_noise
        value = 0.5 * self.n_outputs * float(np.log(noise))
        return replace(
            found,
            value=value,
            gradient=found.gradient.scaled(1.0 / noise),
            losses=value + (found.losses - found.value) / noise,
        )


def unexplained(value: float, n_outputs: int) -> float:
    """The mean squared held-out error at a value of the criterion, in units of the targets' variance."""
    return float(np.exp(2.0 * value / n_outputs))
