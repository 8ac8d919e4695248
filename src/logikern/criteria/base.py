"""What hyperparameters are learned by: a value and its gradient."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from logikern.numerics.outcome import Array, Outcome
from logikern.numerics.sharpness import Sharpness
from logikern.structure.covariance import ClassCovariance, CovarianceGradient


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A criterion at one setting of the hyperparameters.

    Attributes
    ----------
    value : float
        Mean loss per case.
    gradient : CovarianceGradient
        By the logs of all hyperparameters, one for each operator and each latent function.
    losses : array of shape (n_losses,)
        The losses whose weighted mean is the value; settings are compared case by case.
    state : array
        What a later evaluation starts from.
    outcome : Outcome
    n_products : int
    method : str, default=""
        How the value was computed, in words for people, where a criterion has more than one way.
    sharpness : Sharpness
        At which latents were judged.
    """

    value: float
    gradient: CovarianceGradient
    losses: Array
    state: Array
    outcome: Outcome
    n_products: int
    method: str = ""
    sharpness: Sharpness = Sharpness()

    @property
    def usable(self) -> bool:
        """Whether the inner fits converged: otherwise nothing of this evaluation may be used."""
        return self.outcome.converged and bool(np.isfinite(self.value))


def unusable(outcome: Outcome, n_products: int) -> Evaluation:
    """An evaluation whose inner fits failed: it has no value and leaves no state."""
    nothing = np.zeros(0)
    return Evaluation(np.inf, CovarianceGradient((), nothing, 0.0), nothing, nothing, outcome, n_products)


class Criterion(ABC):
    """A smooth function of the hyperparameters, through the covariance that they make."""

    @property
    @abstractmethod
    def loss_weights(self) -> Array:
        """Weights of `Evaluation.losses`, (n_losses,)."""

    @abstractmethod
    def evaluate(self, covariance: ClassCovariance, start: Array | None, tolerance: float) -> Evaluation:
        """Value and gradient; inner fits start from `start` and end at the tolerance."""
