"""Criteria that hyperparameters minimise: a value and its gradient."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.criteria.folds import Folds
from logikern.fitting.newton.method import NewtonSolver
from logikern.likelihoods.base import Likelihood
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.numerics.temperature import Temperature
from logikern.structure.covariance import ClassCovariance, CovarianceGradient


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A criterion at one setting of the hyperparameters.

    Attributes
    ----------
    value : float
        Mean loss per case.
    gradient : CovarianceGradient
        Gradient with respect to the logs of all hyperparameters, for each operator and each latent function.
    losses : array of shape (n_losses,)
        The losses whose weighted mean is the value; settings are compared case by case.
    state : array
        Warm start of a later evaluation.
    outcome : Outcome
    n_products : int
    method : str, default=""
        How the value was computed, for reports, if a criterion has several methods.
    temperature : Temperature
        Temperature of the losses.
    dual : array of shape (C, n) or None, default=None
        Mean dual of the inner fits, whose predictions are warm starts at other points.
    """

    value: float
    gradient: CovarianceGradient
    losses: Array
    state: Array
    outcome: Outcome
    n_products: int
    method: str = ""
    temperature: Temperature = Temperature()
    dual: Array | None = None

    @property
    def usable(self) -> bool:
        """Whether the inner fits converged; otherwise no part of the evaluation may be used."""
        return self.outcome.converged and bool(np.isfinite(self.value))


def unusable(outcome: Outcome, n_products: int) -> Evaluation:
    """An evaluation whose inner fits failed, without a value or a state."""
    nothing = np.zeros(0)
    return Evaluation(np.inf, CovarianceGradient((), nothing, 0.0), nothing, nothing, outcome, n_products)


class Criterion(ABC):
    """A smooth function of the hyperparameters, through the covariance that they define."""

    @property
    @abstractmethod
    def loss_weights(self) -> Array:
        """Weights of `Evaluation.losses`, (n_losses,)."""

    @property
    @abstractmethod
    def loss_points(self) -> Indices:
        """The point of each loss, (n_losses,); a point held out several times has several losses."""

    @property
    def partition(self) -> Any:
        """Which points are held out together, as arrays or tuples of arrays; a checkpoint belongs to one partition.

        The default identifies a criterion by the weights and points of its losses.
        """
        return self.loss_points, self.loss_weights

    @property
    def n_cases(self) -> float:
        """Total weight of the held-out points, each counted once.

        Priors and penalties for parameters are scaled by this number: a parameter without effect lowers a minimised
        mean of n log losses by about 1 / (2 n).
        """
        return count_cases(self.loss_weights, self.loss_points)

    @abstractmethod
    def evaluate(self, covariance: ClassCovariance, start: Array | None, tolerance: float) -> Evaluation:
        """Value and gradient; inner fits start from `start` and stop at the tolerance."""


@dataclass(frozen=True, eq=False)
class CriterionData:
    """The input of a criterion: the points that a search sees, and how their fits are solved.

    Parameters
    ----------
    likelihood : Likelihood
    targets : array of shape (C, n)
    weights : array of shape (n,)
    folds : Folds or None
        Folds according to `cv`; None for leave-one-out.
    groups : array of shape (n,) or None
        Points with equal labels are held out together.
    solver : NewtonSolver
        For inner fits.
    sharpen : bool
        Whether losses are taken at the best temperature.
    """

    likelihood: Likelihood
    targets: Array
    weights: Array
    folds: Folds | None
    groups: Array | None
    solver: NewtonSolver
    sharpen: bool


def count_cases(weights: Array, points: Indices) -> float:
    """(sum_i k_i w_i)^2 / sum_i k_i^2 w_i for k_i losses of point i, each with its weight w_i; arguments (n_losses,).

    This is the effective sample size of Kish (1965). A weight of two counts as two points. A point held out several
    times counts once, because its losses are not independent.
    """
    of_points = np.bincount(points, weights=weights)  # k w
    return float(of_points.sum() ** 2 / (np.bincount(points) @ of_points))
