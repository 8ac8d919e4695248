"""The iteration that all stepwise solvers share: budget, refresh, outcome, trace and interruption."""

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from logikern.fitting.problem import Callback, FitResult, InterruptedFitError, Problem
from logikern.numerics.outcome import Array, Indices, NewtonStep, Outcome


@dataclass(frozen=True)
class Budget:
    """Upper bounds on the work of a fit.

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

    def shortened(self, newton: int = 25, products: int = 1000) -> "Budget":
        """The budget of single precision, after which double precision is tried."""
        return Budget(min(self.newton, newton), self.direction, min(self.products, products))

    def exhausted(self, step: int, n_products: int) -> Outcome | None:
        """The outcome of a fit that has used up its budget, else None."""
        if step >= self.newton:
            return Outcome.OUT_OF_STEPS
        return Outcome.OUT_OF_PRODUCTS if n_products >= self.products else None


@dataclass(eq=False)
class Iteration(ABC):
    """The state of a fit of all weightings, and the loop that advances it.

    Parameters
    ----------
    problem : Problem
    tolerance : float
    budget : Budget
    dual, latent : arrays of shape (B, C, n)
    n_products : int

    Attributes
    ----------
    outcomes : list of Outcome or None
        None while a weighting is active.
    norms : array of shape (B,)
        Norm of the gradient.
    refreshed_at : array of shape (B,)
        `norms`, or other values compared with the tolerance, when latents were last recomputed from the dual.
    step_lengths : array of shape (B,)
        Lengths of the last step.
    loss : float
        Penalised loss, summed over weightings.
    trace : list of NewtonStep
    """

    problem: Problem
    tolerance: float
    budget: Budget
    dual: Array
    latent: Array
    n_products: int
    outcomes: list[Outcome | None] = field(init=False)
    norms: Array = field(init=False)
    refreshed_at: Array = field(init=False)
    step_lengths: Array = field(init=False)
    loss: float = field(init=False, default=np.inf)
    trace: list[NewtonStep] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        n_batch = len(self.dual)
        self.outcomes = [None] * n_batch
        self.norms, self.refreshed_at = np.full((2, n_batch), np.inf)
        self.step_lengths = np.ones(n_batch)

    @abstractmethod
    def measure(self) -> None:
        """Update norms and loss, and set the outcome of every weighting that is done."""

    @abstractmethod
    def advance(self) -> None:
        """Take one step for every active weighting."""

    @abstractmethod
    def settle(self) -> None:
        """Recompute values with accumulated rounding errors, at the end of a fit that has not converged.

        Norms, loss and outcomes then belong to the dual that is returned.
        """

    def failure(self) -> Outcome | None:
        """The outcome of active weightings if further steps would not help, else None."""
        return None

    @property
    def members(self) -> Indices:
        """Active weightings."""
        return np.array([b for b, outcome in enumerate(self.outcomes) if outcome is None], dtype=np.intp)

    def run(self, callback: Callback) -> FitResult:
        """Step until every weighting has an outcome; an interruption carries the current result."""
        try:
            with np.errstate(all="ignore"):
                return self._run(callback)
        except KeyboardInterrupt:
            raise InterruptedFitError(self.result(Outcome.INTERRUPTED)) from None

    def _run(self, callback: Callback) -> FitResult:
        for step in itertools.count():
            self.measure()
            norm, length = float(self.norms.max()), float(self.step_lengths.min())
            self.trace.append(NewtonStep(step, self.loss, norm, length, self.n_products))
            ended = self.budget.exhausted(step, self.n_products) or self.failure()
            if ended and self.members.size:
                self.settle()
                self.trace[-1] = replace(self.trace[-1], loss=self.loss, gradient_norm=float(self.norms.max()))
            callback(self.trace[-1])
            if ended or not self.members.size:
                break
            self.advance()
        return self.result(ended or Outcome.OUT_OF_STEPS)

    def retire(self, members: Indices, remaining: Array) -> None:
        """Set the outcome of weightings that are done, from the values (B,) that are compared with the tolerance."""
        for member in members:
            if not np.isfinite(remaining[member]):
                self.outcomes[member] = Outcome.NOT_FINITE
            elif remaining[member] <= self.tolerance:
                self.outcomes[member] = Outcome.CONVERGED

    def judge_refresh(self, members: Indices, remaining: Array, shortest: float = 0.0) -> None:
        """Stop weightings whose gradient at recomputed latents has not halved since the last refresh.

        Parameters
        ----------
        members : integer array
        remaining : array of shape (B,)
            The values that are compared with the tolerance, at the recomputed latents.
        shortest : float, default=0.0
            A weighting whose last step was at most this long has stalled; the others are at the level of rounding.
        """
        for member in members:
            if remaining[member] > max(self.tolerance, 0.5 * self.refreshed_at[member]):
                stalled = self.step_lengths[member] <= shortest
                self.outcomes[member] = Outcome.STALLED if stalled else Outcome.ROUNDING
        self.refreshed_at[members] = remaining[members]

    def result(self, otherwise: Outcome) -> FitResult:
        """The current result, with this outcome for active weightings."""
        outcomes = tuple(outcome or otherwise for outcome in self.outcomes)
        return FitResult(self.dual, self.latent, self.norms, outcomes, tuple(self.trace), self.n_products)
