"""Weak priors that keep learned parameters from following noise."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Indices, Mask

DECILES = np.linspace(0.1, 0.9, 9)
CENTRE_TOLERANCE = 1e-9  # in units of the scale
CENTRE_STEPS = 100


class Pull(NamedTuple):
    """Negative log density of a shift of log parameters, up to a constant, and its gradient."""

    value: float
    gradient: Array


class Prior(ABC):
    """Prior of the log parameters of a stage, in units of log likelihood."""

    @abstractmethod
    def pull(self, shift: Array) -> Pull:
        """Value and gradient at a shift (p,) from the centre of the stage."""


@dataclass(frozen=True, eq=False)
class NormalPrior(Prior):
    """Sum of ((shift - centre) / scale)^2 / 2."""

    scale: float | Array = 1.5  # (p,): standard deviation of the log parameters
    # (p,): mean of the prior; below zero for rates of inputs, because many inputs matter little.
    centre: float | Array = 0.0

    def pull(self, shift: Array) -> Pull:
        away = (shift - self.centre) / self.scale
        return Pull(0.5 * float(away @ away), away / self.scale)


@dataclass(frozen=True, eq=False)
class PartedPrior(Prior):
    """Independent priors of two kinds of parameters."""

    is_first: Mask  # (p,): which parameters the first prior is for
    first: Prior
    second: Prior

    def pull(self, shift: Array) -> Pull:
        parts = [self.first.pull(shift[self.is_first]), self.second.pull(shift[~self.is_first])]
        gradient = np.empty_like(shift)
        gradient[self.is_first], gradient[~self.is_first] = parts[0].gradient, parts[1].gradient
        return Pull(parts[0].value + parts[1].value, gradient)


class Deviations(ABC):
    """Prior of the differences among parameters that a coarser model ties.

    Its value is zero if they are equal, and does not change if all of them shift alike.
    """

    @abstractmethod
    def pull(self, values: Array) -> Pull:
        """Value and gradient at the log parameters (q,) of one group."""


@dataclass(frozen=True)
class NormalDeviations(Deviations):
    """Sum of ((value - mean of the values) / scale)^2 / 2."""

    scale: float

    def pull(self, values: Array) -> Pull:
        away = (values - values.mean()) / self.scale
        # Deviations from a mean sum to zero, so the mean takes no part in their gradient.
        return Pull(0.5 * float(away @ away), away / self.scale)


@dataclass(frozen=True)
class StudentDeviations(Deviations):
    """Sum of (nu + 1) / 2 log(1 + z^2 / nu), z = (value - centre) / scale: a few may differ much from the others.

    The centre minimises the sum, so it lies among most of the values. The mean would lie between them and the few
    others, and all would be charged. At the minimum, the centre takes no part in the gradient.
    """

    scale: float
    degrees: float  # of freedom, nu; the tails are heavier if they are fewer

    def pull(self, values: Array) -> Pull:
        away = (values - self._centre(values)) / self.scale
        return Pull(float(self._charges(away).sum()), away * self._weights(away) / self.scale)

    def _charges(self, away: Array) -> Array:
        return 0.5 * (self.degrees + 1.0) * np.log1p(away**2 / self.degrees)

    def _weights(self, away: Array) -> Array:
        return (self.degrees + 1.0) / (self.degrees + away**2)

    def _centre(self, values: Array) -> float:
        """The fixed point of the weighted mean, from the best decile; each step lowers the sum (EM algorithm)."""
        starts = np.quantile(values, DECILES)
        centre = float(starts[self._charges((values[:, None] - starts) / self.scale).sum(axis=0).argmin()])
        for _ in range(CENTRE_STEPS):
            last = centre
            weights = self._weights((values - last) / self.scale)
            centre = float(weights @ values / weights.sum())
            if abs(centre - last) < CENTRE_TOLERANCE * self.scale:
                break
        return centre


@dataclass(frozen=True, eq=False)
class NestedPrior(Prior):
    """The prior of a coarser model for the means of parameters that it ties, and a prior of their deviations.

    If tied parameters are equal, this is the prior of the coarser model, so its optimum stays the best among equal
    parameters. A finer model can gain only from parameters that differ.
    """

    coarse: Prior  # of the p parameters of the coarser model
    origins: Indices  # (q,): the parameter of the coarser model that each one comes from; each of the p occurs
    deviations: tuple[Deviations, ...]  # p of them: of the parameters that come from the same one

    def pull(self, shift: Array) -> Pull:
        counts = np.bincount(self.origins)
        common = self.coarse.pull(np.bincount(self.origins, weights=shift) / counts)
        value, gradient = common.value, (common.gradient / counts)[self.origins]
        for origin in np.flatnonzero(counts > 1):
            tied = self.origins == origin
            own = self.deviations[origin].pull(shift[tied])
            value += own.value
            gradient[tied] += own.gradient
        return Pull(value, gradient)


class Objective(NamedTuple):
    """What a stage minimises, and its gradient."""

    value: float
    gradient: Array


def weigh_prior(value: float, gradient: Array, pull: Pull, n_cases: float, certain_loss: float) -> Objective:
    """Psi + s(Psi) pull / n, s = (Psi + e) / (Psi + e + certain_loss), e = 1 / (2 n).

    Psi is the criterion, a mean over n cases. For Psi far above `certain_loss` the prior counts as one case, s = 1.
    If held-out rows are predicted almost without loss, the loss of all cases together is a small part of one unit of
    log likelihood, so a prior of full weight alone would determine how certain the model is. With s proportional to
    Psi, the data decide. The bound e ends this: it is the rate of errors to expect after n cases without an error,
    under Jeffreys' prior of that rate.

    Parameters
    ----------
    value, gradient : float and array of shape (p,)
        The criterion and its gradient by the log parameters.
    pull : Pull
        The prior, in units of log likelihood.
    n_cases : float
    certain_loss : float
        Criterion at which s is about one half; 0 for s = 1.
    """
    size = abs(value) + 0.5 / n_cases
    share = size / (size + certain_loss)
    slope = np.sign(value) * certain_loss / (size + certain_loss) ** 2
    return Objective(
        value + share * pull.value / n_cases,
        gradient * (1.0 + slope * pull.value / n_cases) + share * pull.gradient / n_cases,
    )
