"""What a model is before it has seen data: kernels, who shares them, variances."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.operators.choose import Points
from logikern.structure.covariance import ClassCovariance, CovarianceGradient
from logikern.structure.flat import Flat


@dataclass(frozen=True)
class Tying:
    """Which kernel and which variance each class uses.

    Parameters
    ----------
    kernel_of : tuple of int
        Number of the kernel of each class.
    variance_of : tuple of int
        Number of the variance of each class.
    """

    kernel_of: tuple[int, ...]
    variance_of: tuple[int, ...]

    @property
    def n_kernels(self) -> int:
        return max(self.kernel_of) + 1

    @property
    def n_variances(self) -> int:
        return max(self.variance_of) + 1


def tie(tying: str | Sequence[Any], n_classes: int) -> Tying:
    """The tying of a name, or of a list with one group label per class.

    "shared": one kernel with one variance (mc-tied of Seeger 2008, sec. 6.2);
    "scaled": one kernel, a variance per class (mc-semi); "separate": a kernel
    and a variance per class (mc-sep); a list: a kernel and a variance per group.
    """
    alone, together = tuple(range(n_classes)), (0,) * n_classes
    if isinstance(tying, str):
        named = {
            "shared": Tying(together, together),
            "scaled": Tying(together, alone),
            "separate": Tying(alone, alone),
        }
        if tying not in named:
            raise ValueError(
                f"`tying` must be one of {sorted(named)} or a list with a group per class, but is {tying!r}."
            )
        return named[tying]
    try:
        labels = list(tying)
        numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    except TypeError:
        raise ValueError(
            f"`tying` must be a name or a list with a plain group label per class, but is {tying!r}."
        ) from None
    if len(labels) != n_classes:
        raise ValueError(
            f"`tying` as a list must have one group label per class, but has {len(labels)} labels for "
            f"{n_classes} classes. The classes are in the order of `classes_`."
        )
    groups = tuple(numbers[label] for label in labels)
    return Tying(groups, groups)


@dataclass(frozen=True)
class Specification:
    """All hyperparameters of a flat model.

    Parameters
    ----------
    kernels : tuple of Kernel
        One per kernel group.
    variances : tuple of float
        One per variance group.
    bias_variance : float
    tying : Tying
    """

    kernels: tuple[Kernel, ...]
    variances: tuple[float, ...]
    bias_variance: float
    tying: Tying

    @property
    def class_variances(self) -> np.ndarray:
        """Variance of each class, (C,)."""
        return np.array(self.variances)[list(self.tying.variance_of)]

    @property
    def log_parameters(self) -> np.ndarray:
        """Logarithms of all hyperparameters: kernels, variances, bias variance."""
        kernels = [kernel.log_parameters for kernel in self.kernels]
        return np.concatenate([*kernels, np.log(self.variances), np.log([self.bias_variance or 1.0])])

    def with_log_parameters(self, values: np.ndarray) -> "Specification":
        """The same model at other hyperparameters; a bias variance of zero stays zero."""
        kernels, place = [], 0
        for kernel in self.kernels:
            size = len(kernel.log_parameters)
            kernels.append(kernel.with_log_parameters(values[place : place + size]))
            place += size
        return replace(
            self,
            kernels=tuple(kernels),
            variances=tuple(float(value) for value in np.exp(values[place:-1])),
            bias_variance=float(np.exp(values[-1])) if self.bias_variance else 0.0,
        )

    def collect(self, gradient: CovarianceGradient) -> np.ndarray:
        """A gradient by operators and classes, added up to one by hyperparameters."""
        variances = np.bincount(self.tying.variance_of, weights=gradient.variances, minlength=len(self.variances))
        return np.concatenate([*gradient.kernels, variances, [gradient.bias_variance]])

    def bind(self, points: Points) -> ClassCovariance:
        """The covariance of all class functions on the points."""
        return ClassCovariance(
            tuple(points.bind(kernel) for kernel in self.kernels),
            np.array(self.tying.kernel_of, dtype=np.intp),
            self.class_variances,
            Flat(len(self.tying.kernel_of)),
            self.bias_variance,
        )
