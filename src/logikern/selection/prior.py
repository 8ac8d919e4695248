"""Weak priors that keep learned parameters from running away on noise."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array


class Pull(NamedTuple):
    """Negative log density of a shift of log parameters, up to a constant, and its gradient."""

    value: float
    gradient: Array


class Prior(ABC):
    """Of how far each log parameter moves from where its stage began, in units of log likelihood."""

    @abstractmethod
    def pull(self, shift: Array) -> Pull:
        """Value and gradient at a shift (p,)."""


@dataclass(frozen=True)
class NormalPrior(Prior):
    """Sum of (shift / scale)^2 / 2: a parameter that moves far must earn it.

    Parameters
    ----------
    scale : float, default=1.5
        Standard deviation of the log parameter.
    """

    scale: float = 1.5

    def pull(self, shift: Array) -> Pull:
        return Pull(0.5 * float(shift @ shift) / self.scale**2, shift / self.scale**2)


@dataclass(frozen=True)
class CauchyPrior(Prior):
    """Sum of log(1 + (shift / scale)^2): most parameters stay, and the few that leave may go far.

    Right for rates of inputs, of which some do not matter at all.

    Parameters
    ----------
    scale : float, default=1.0
        Where the pull is strongest.
    """

    scale: float = 1.0

    def pull(self, shift: Array) -> Pull:
        relative = shift / self.scale
        return Pull(float(np.log1p(relative**2).sum()), 2 * relative / (1 + relative**2) / self.scale)
