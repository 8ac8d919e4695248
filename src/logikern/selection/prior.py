"""Weak priors that keep learned parameters from running away on noise."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

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


@dataclass(frozen=True, eq=False)
class NormalPrior(Prior):
    """Sum of ((shift - centre) / scale)^2 / 2: a parameter that moves far must earn it.

    Parameters
    ----------
    scale : float or array of shape (p,), default=1.5
        Standard deviation of the log parameters.
    centre : float or array of shape (p,), default=0.0
        Where they are pulled to; below zero for rates of inputs, of which many matter little.
    """

    scale: float | Array = 1.5
    centre: float | Array = 0.0

    def pull(self, shift: Array) -> Pull:
        away = (shift - self.centre) / self.scale
        return Pull(0.5 * float(away @ away), away / self.scale)
