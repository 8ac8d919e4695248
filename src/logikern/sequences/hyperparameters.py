"""The hyperparameters of a model of sequences."""

from dataclasses import dataclass

import numpy as np

from logikern.numerics.outcome import Array
from logikern.operators.choose import PointSet
from logikern.sequences.criterion import HeldOutEvaluation
from logikern.sequences.likelihood import FieldCovariance
from logikern.structure.specification import Specification


@dataclass(frozen=True)
class FieldSpecification:
    """All hyperparameters of a field: of the functions of labels, and of transitions, first and last labels."""

    positions: Specification
    transition_variance: float
    pseudocount: float = np.inf  # of the prior mean of transitions; infinity for a mean of zero
    piecewise: float = 0.0  # weight of positions without their chains

    @property
    def _others(self) -> Array:
        return np.array([self.transition_variance, self.pseudocount, self.piecewise])

    @property
    def log_parameters(self) -> Array:
        """Logarithms: kernels, variances, bias variance, transition variance, pseudocount, weight of positions."""
        usable = np.where(self.is_learned[-3:], self._others, 1.0)
        return np.append(self.positions.log_parameters, np.log(usable))

    @property
    def is_learned(self) -> Array:
        """Which of them a search changes: not the bias variance, and no value that is zero or infinite."""
        positions = np.full(len(self.positions.log_parameters) - 1, True)
        return np.concatenate([positions, [False], (self._others > 0) & np.isfinite(self._others)])

    def with_log_parameters(self, values: Array) -> "FieldSpecification":
        """The same model with other hyperparameters; those that are not learned stay."""
        others = np.where(self.is_learned[-3:], np.exp(values[-3:]), self._others)
        return FieldSpecification(self.positions.with_log_parameters(values[:-3]), *others.tolist())

    def collect(self, found: HeldOutEvaluation) -> Array:
        """The gradient in the logarithms of the hyperparameters."""
        others = [found.transition_gradient, found.count_gradient, found.piecewise_gradient]
        return np.append(self.positions.collect(found.gradient), others)

    def bind(self, points: PointSet) -> FieldCovariance:
        """The covariance of fields on the points."""
        return FieldCovariance(self.positions.bind(points), self.transition_variance)
