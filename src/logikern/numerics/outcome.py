"""The outcome of a computation as a value: only estimators raise or warn about numerical failure."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np

# Aliases that say what an array holds: numbers, positions, or booleans.
Array: TypeAlias = np.ndarray
Indices: TypeAlias = np.ndarray
Mask: TypeAlias = np.ndarray


class Outcome(Enum):
    """How a fit ended; the value of each member is a sentence."""

    CONVERGED = "The gradient fell below the tolerance."
    ROUNDING = "The gradient stopped decreasing because of rounding errors in kernel products."
    OUT_OF_STEPS = "The budget of Newton steps was used up before the gradient fell below the tolerance."
    OUT_OF_PRODUCTS = "The budget of kernel products was used up before the gradient fell below the tolerance."
    STALLED = "No step along the Newton direction lowered the penalised loss."
    INTERRUPTED = "The final fit was interrupted after the search for hyperparameters; its current state is used."
    INDEFINITE = "The kernel matrix is not positive definite."
    NOT_FINITE = "A kernel product gave a value that is not finite."

    @property
    def converged(self) -> bool:
        return self is Outcome.CONVERGED


@dataclass(frozen=True)
class NewtonStep:
    """One line of the trace: cost and gain of a Newton step, the worst over the batch.

    Attributes
    ----------
    step : int
        Number of the step, from 0 (the start).
    loss : float
        Penalised loss after the step, summed over the batch.
    gradient_norm : float
        Largest absolute component of dual + gradient of the likelihood, after the step.
    step_length : float
        Smallest step length taken along the Newton direction; 0 at the start.
    products : int
        Products with the class covariance so far, for the whole batch at once.
    """

    step: int
    loss: float
    gradient_norm: float
    step_length: float
    products: int
