"""The penalised loss at fixed hyperparameters, and the result of a solver."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from logikern.likelihoods.base import Expansion, Likelihood
from logikern.numerics.conjugate_gradient import inner_products, is_everyone
from logikern.numerics.line_search import Slope
from logikern.numerics.outcome import Array, Indices, NewtonStep, Outcome
from logikern.numerics.parallel import for_each, point_tiles
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise, for each weighting b, loss_b(u) + 1/2 dual' K~ dual with u = K~ dual.

    Seeger (2008), eq. (1). All weightings see the same points through the same covariance.

    Parameters
    ----------
    covariance : ClassCovariance
    likelihood : Likelihood
    targets : array of shape (C, n)
        Or another form that the likelihood accepts.
    weights : array of shape (B, n)
    """

    covariance: ClassCovariance
    likelihood: Likelihood
    targets: Array
    weights: Array

    @property
    def shape(self) -> tuple[int, int, int]:
        return (len(self.weights), self.covariance.n_classes, self.covariance.n_points)

    @property
    def dtype(self) -> np.dtype:
        """Dtype of duals, latents and targets."""
        return self.targets.dtype

    def restrict(self, members: Indices) -> "Problem":
        """The problem of some weightings."""
        return self if is_everyone(members, len(self.weights)) else replace(self, weights=self.weights[members])

    def at(self, points: slice) -> "Problem":
        """Targets and weights of some points; the covariance still covers all points."""
        return replace(self, targets=self.targets[..., points], weights=self.weights[:, points])

    def expand(self, latent: Array, close: bool = False) -> Expansion:
        """Expansion of the likelihood at latents (B, C, n)."""
        expand = self.likelihood.expand_closely if close else self.likelihood.expand
        return expand(latent, self.targets, self.weights)

    def loss(self, latent: Array) -> Array:
        """Loss without the penalty, (B,)."""

        def loss_of(points: slice) -> Array:
            own = self.at(points)
            return own.likelihood.loss_and_gradient(latent[..., points], own.targets, own.weights)[0]

        return np.sum(for_each(loss_of, point_tiles(latent.shape)), axis=0)

    @property
    def is_convex(self) -> bool:
        """Whether the curvature is the true curvature of the likelihood, not of a convex majoriser."""
        return self.likelihood.majoriser is self.likelihood

    def majorised(self, latent: Array) -> "Problem":
        """The convex problem that touches this one at the latents; the problem itself if it is convex."""
        if self.is_convex:
            return self
        completed = self.likelihood.complete(latent, self.targets)
        return replace(self, likelihood=self.likelihood.majoriser, targets=completed)

    def gradient(self, dual: Array, latent: Array) -> Array:
        """dual + gradient of the likelihood at the latents: zero at the optimum, and only there."""
        _, gradient = self.likelihood.loss_and_gradient(latent, self.targets, self.weights)
        return gradient + dual

    def slope_along(self, dual: Array, latent: Array, direction: Array, image: Array) -> Callable[[Array], Slope]:
        """Derivatives of the penalised loss along (direction, K~ direction), O(n C) each and without a product."""
        linear, quadratic = inner_products(dual, image), inner_products(direction, image)

        def slope_at(lengths: Array) -> Slope:
            steps = lengths.astype(latent.dtype)[:, None, None]

            def slope_of(points: slice) -> tuple[Array, Array]:
                own = self.at(points)
                trial = latent[..., points] + steps * image[..., points]
                return own.likelihood.derivatives_along(trial, image[..., points], own.targets, own.weights)

            first, second = np.sum(for_each(slope_of, point_tiles(latent.shape)), axis=0)
            return Slope(first + linear + lengths * quadratic, second + quadratic)

        return slope_at


@dataclass(frozen=True, eq=False)
class FitResult:
    """The result of a fit.

    Attributes
    ----------
    dual, latent : arrays of shape (B, C, n)
    gradient_norm : array of shape (B,)
        Largest absolute component of `Problem.gradient`, in units of the weights and of the largest residual of the
        targets if that is below one; at latents recomputed from the dual, unless interrupted.
    outcomes : tuple of Outcome, one per weighting
    trace : tuple of NewtonStep
    n_products : int
        Products with the covariance, each for the whole batch.
    """

    dual: Array
    latent: Array
    gradient_norm: Array
    outcomes: tuple[Outcome, ...]
    trace: tuple[NewtonStep, ...]
    n_products: int

    def after(self, earlier: "FitResult") -> "FitResult":
        """This result, preceded by the steps and products of an earlier result."""
        n_steps = len(earlier.trace)
        trace = [
            replace(step, step=step.step + n_steps, products=step.products + earlier.n_products)
            for step in self.trace
        ]
        return replace(self, trace=(*earlier.trace, *trace), n_products=self.n_products + earlier.n_products)

    @property
    def n_steps(self) -> int:
        """Number of steps in the trace."""
        return self.trace[-1].step if self.trace else 0

    @property
    def outcome(self) -> Outcome:
        """The first failure of the batch, or convergence."""
        return next((outcome for outcome in self.outcomes if not outcome.converged), Outcome.CONVERGED)


class InterruptedFitError(KeyboardInterrupt):
    """An interruption between two steps of a fit, with the current result."""

    def __init__(self, result: FitResult):
        super().__init__("A fit was interrupted.")
        self.result = result


Callback = Callable[[NewtonStep], None]


def no_callback(step: NewtonStep) -> None:
    """No-op callback."""


class Solver(ABC):
    """A method that finds the optimum of a `Problem`."""

    @abstractmethod
    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        """Minimise from the latents `start` (zero if None); `callback` sees every step and may raise."""

    def resume(self, problem: Problem, dual: Array, callback: Callback = no_callback) -> FitResult:
        """Continue from the dual (B, C, n) of an earlier fit, zero at new points."""
        return self.fit(problem, problem.covariance.matmul(dual), callback)


def max_norm(per_class: Array) -> Array:
    """Largest absolute value of each member of the batch, (B, C, n) -> (B,)."""
    return np.maximum(per_class.max(axis=(1, 2)), -per_class.min(axis=(1, 2)))
