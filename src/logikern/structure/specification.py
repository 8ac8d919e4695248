"""The hyperparameters of a model: kernels, their tying, variances."""

from dataclasses import dataclass, replace

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.temperature import Temperature
from logikern.operators.choose import PointSet
from logikern.structure.covariance import ClassCovariance, CovarianceGradient
from logikern.structure.mixing import Mixing
from logikern.structure.tying import Tying


@dataclass(frozen=True)
class Specification:
    """All hyperparameters of a model."""

    kernels: tuple[Kernel, ...]  # one per kernel group
    variances: tuple[float, ...]  # one per variance group
    bias_variance: float
    tying: Tying
    mixing: Mixing  # from latent functions to class functions
    temperature: Temperature = Temperature()  # applied to latents before they become probabilities

    @property
    def latent_variances(self) -> np.ndarray:
        """Variance of each latent function, (P,)."""
        return np.array(self.variances)[list(self.tying.variance_of)]

    @property
    def log_parameters(self) -> np.ndarray:
        """Logarithms of all hyperparameters: kernels, variances, bias variance.

        Parameters of the mixing may be negative. They are included without logarithm, between kernels and variances.
        """
        kernels = [kernel.log_parameters for kernel in self.kernels]
        others = [self.mixing.parameters, np.log(self.variances), np.log([self.bias_variance or 1.0])]
        return np.concatenate([*kernels, *others])

    @property
    def mixing_places(self) -> slice:
        """Where the parameters of the mixing are in `log_parameters`."""
        begin = sum(len(kernel.log_parameters) for kernel in self.kernels)
        return slice(begin, begin + len(self.mixing.parameters))

    def with_log_parameters(self, values: np.ndarray) -> "Specification":
        """The same model with other hyperparameters; a bias variance of zero stays zero."""
        kernels, place = [], 0
        for kernel in self.kernels:
            size = len(kernel.log_parameters)
            kernels.append(kernel.with_log_parameters(values[place : place + size]))
            place += size
        own = self.mixing_places
        return replace(
            self,
            kernels=tuple(kernels),
            mixing=self.mixing.with_parameters(values[own]) if own.stop > own.start else self.mixing,
            variances=tuple(float(value) for value in np.exp(values[own.stop : -1])),
            bias_variance=float(np.exp(values[-1])) if self.bias_variance else 0.0,
        )

    def scaled(self, factor: float) -> "Specification":
        """The same model with all variances times a factor."""
        variances = tuple(factor * variance for variance in self.variances)
        return replace(self, variances=variances, bias_variance=factor * self.bias_variance)

    def collect(self, gradient: CovarianceGradient) -> np.ndarray:
        """The gradient in the hyperparameters, from a gradient for each operator and latent function."""
        variances = np.bincount(self.tying.variance_of, weights=gradient.variances, minlength=len(self.variances))
        mixing = self.mixing.collect(gradient.mixing) if gradient.mixing.size else np.zeros(0)
        return np.concatenate([*gradient.kernels, mixing, variances, [gradient.bias_variance]])

    def bind(self, points: PointSet) -> ClassCovariance:
        """The covariance of all class functions on the points."""
        return ClassCovariance(
            tuple(points.bind(kernel) for kernel in self.kernels),
            np.array(self.tying.kernel_of, dtype=np.intp),
            self.latent_variances,
            self.mixing,
            self.bias_variance,
        )
