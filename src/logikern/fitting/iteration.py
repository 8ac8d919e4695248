"""What every fit by steps keeps: how far it may go, where it stands, and what an interruption leaves of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from logikern.fitting.problem import Callback, FitResult, InterruptedFitError, Problem
from logikern.numerics.outcome import Array, Indices, NewtonStep, Outcome


@dataclass(frozen=True)
class Budget:
    """Where a fit stops at the latest.

    Parameters
    ----------
    newton : int, default=60
        Newton steps, k1 of Seeger (2008).
    direction : int, default=500
        Products for one Newton direction, k2 of Seeger (2008).
    products : int, default=5000
        Products of the whole fit.
    """

    newton: int = 60
    direction: int = 500
    products: int = 5000

    def shortened(self) -> "Budget":
        """What single precision may use before double precision is tried."""
        return Budget(min(self.newton, 25), self.direction, min(self.products, 1000))

    def ending(self, step: int, n_products: int) -> Outcome | None:
        """How a fit ends that has come to a step with so many products; None if it goes on."""
        if step >= self.newton:
            return Outcome.OUT_OF_STEPS
        return Outcome.OUT_OF_PRODUCTS if n_products >= self.products else None


@dataclass(eq=False, kw_only=True)
class Progress:
    """Where the fit of all weightings stands.

    Parameters
    ----------
    problem : Problem
    dual, latent : arrays of shape (B, C, n)
    outcomes : list of Outcome or None
        None where a weighting is still being fitted.
    norms : array of shape (B,)
        Of the gradient.
    step_lengths : array of shape (B,)
        Of the last step.
    n_products : int, default=0
    trace : list of NewtonStep, default=[]
    """

    problem: Problem
    dual: Array
    latent: Array
    outcomes: list[Outcome | None]
    norms: Array
    step_lengths: Array
    n_products: int = 0
    trace: list[NewtonStep] = field(default_factory=list)

    @property
    def members(self) -> Indices:
        """Weightings that are still being fitted."""
        return np.array([b for b, outcome in enumerate(self.outcomes) if outcome is None], dtype=np.intp)

    def note(self, step: int, loss: float, callback: Callback) -> None:
        """Write the trace and tell the callback."""
        norm, length = float(self.norms.max()), float(self.step_lengths.min())
        self.trace.append(NewtonStep(step, loss, norm, length, self.n_products))
        callback(self.trace[-1])

    def result(self, otherwise: Outcome) -> FitResult:
        """Where it stands, with this outcome for weightings that have none."""
        outcomes = tuple(outcome or otherwise for outcome in self.outcomes)
        return FitResult(self.dual, self.latent, self.norms, outcomes, tuple(self.trace), self.n_products)


@contextmanager
def attach_result_on_interrupt(result: Callable[[Outcome], FitResult]) -> Iterator[None]:
    """An interruption brings along where the fit stands."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedFitError(result(Outcome.INTERRUPTED)) from None
