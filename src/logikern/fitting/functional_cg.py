"""Conjugate gradients in the metric of the function space, Ratliff & Bagnell (2007): one product a step."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from logikern.fitting.iteration import Budget, Iteration
from logikern.fitting.problem import Callback, FitResult, Problem, Solver, max_norm, no_callback
from logikern.fitting.units import residual_sizes, usual_weights
from logikern.numerics.conjugate_gradient import ConjugateDirections, add, inner_products, take_members
from logikern.numerics.line_search import Slope, convex_step_lengths
from logikern.numerics.outcome import Array, Indices, Mask, Outcome


@dataclass(frozen=True)
class GradientPolicy:
    """Restarts, line search and refresh of functional conjugate gradients."""

    # Largest slope that a line search may leave, relative to its start.
    line_accuracy: float = 0.01
    # Steps after which the old direction is dropped. Directions from a region where the loss was a different
    # quadratic spoil later ones (Powell 1977). Without restarts pima takes 909 products instead of 123.
    restart_after: int = 30
    # Overlap of successive gradients above which the old direction is dropped at once.
    largest_overlap: float = 0.2
    # Steps in single precision after which latents are recomputed from the dual.
    refresh_after: int = 50
    # A step smaller than this times the rounding of the largest coefficient has stalled. In a fit with coefficients
    # in single precision and an unreachable tolerance, 0.1 ends at a gradient of 1.5e-5 and 0.02 at 3.4e-6.
    swallowed: float = 0.02


@dataclass(frozen=True)
class KernelGradient(Solver):
    """Polak-Ribiere conjugate gradients with restarts in the metric of K~ (Ratliff & Bagnell 2007, Algorithm 1).

    The penalised loss changes by <gamma, .>_K~ with gamma = dual + gradient of the likelihood, so gamma holds the
    coefficients of the functional gradient, without a product. The parameter gradient is K~ gamma. In parameters, the
    condition number of the loss is larger than in function space by the condition number of K~.

    For the squared loss, a fit ends when the gap to the lower bound falls below tolerance^2 times the penalised loss.
    As |f - f*|^2 <= 2 gap in function space, the fitted function is then accurate to about the tolerance.

    Parameters
    ----------
    tolerance : float, default=1e-4
        For the largest absolute component of the gradient per unit of weight; for the squared loss as above.
    budget : Budget
        `budget.newton` counts steps, 2000 by default.
    policy : GradientPolicy
    """

    tolerance: float = 1e-4
    budget: Budget = Budget(newton=2000)
    policy: GradientPolicy = GradientPolicy()

    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        with np.errstate(over="ignore", invalid="ignore"):
            dual = np.zeros(problem.shape, problem.dtype) if start is None else self._dual_of(problem, start)
        return self.resume(problem, dual, callback)

    def resume(self, problem: Problem, dual: Array, callback: Callback = no_callback) -> FitResult:
        result = self._descend(problem, dual, callback)
        if result.outcome.converged or not problem.covariance.is_single or not np.isfinite(result.dual).all():
            return result
        # Products summed in float64 finish what single precision cannot resolve.
        accurate = replace(problem, covariance=problem.covariance.in_double())
        return self._descend(accurate, result.dual, callback).after(result)

    def _descend(self, problem: Problem, dual: Array, callback: Callback) -> FitResult:
        is_zero, dual = not dual.any(), dual.astype(problem.dtype)  # a copy, changed in place
        with np.errstate(over="ignore", invalid="ignore"):
            latent = np.zeros_like(dual) if is_zero else problem.covariance.accurate_matmul(dual)
        fixed = (problem, self.tolerance, self.budget)
        return _Iteration(*fixed, dual, latent, int(not is_zero), self.policy).run(callback)

    def _dual_of(self, problem: Problem, latent: Array) -> Array:
        """The best multiple of minus the likelihood's gradient at latents, which is the dual at the optimum."""
        _, gradient = problem.likelihood.loss_and_gradient(latent, problem.targets, problem.weights)
        zero, image = np.zeros_like(gradient), problem.covariance.matmul(gradient)
        lengths = best_lengths(problem.majorised(latent), zero, zero, -gradient, -image, self.policy.line_accuracy)
        return _times(lengths, -gradient)


@dataclass(eq=False)
class _Iteration(Iteration):
    """The state of one descent."""

    policy: GradientPolicy
    directions: ConjugateDirections = field(init=False)
    gradient: Array = field(init=False)  # functional gradient of active weightings
    remaining: Array = field(init=False)  # what the tolerance is compared with
    age: Array = field(init=False)  # steps since the latents were recomputed
    losses: Array = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        shape, dtype, policy = self.problem.shape, self.problem.dtype, self.policy
        limits = (policy.restart_after, policy.largest_overlap)
        is_quadratic = self.problem.likelihood.is_quadratic
        self.directions = ConjugateDirections(shape, dtype, *(() if is_quadratic else limits))
        self.remaining, self.losses = np.full((2, shape[0]), np.inf)
        self.age = np.zeros(shape[0], dtype=int)

    def measure(self) -> None:
        """Find the functional gradient of active weightings, after retiring those that are done."""
        while (members := self.members).size:
            self.gradient = self._look(members)
            remaining = self.remaining[members]
            below, stalled = remaining <= self.tolerance, self.step_lengths[members] <= 0
            old = self.problem.covariance.is_single & (self.age[members] >= self.policy.refresh_after)
            doubtful = (self.age[members] > 0) & (below | stalled | old)
            if doubtful.any():
                self._refresh(members[doubtful])
                continue
            done = below | stalled | ~np.isfinite(remaining)
            if not done.any():
                break
            for member in members[stalled]:
                self.outcomes[member] = Outcome.STALLED
            self.retire(members[done], self.remaining)
        self.loss = float(self.losses.sum())

    def settle(self) -> None:
        members = self.members[self.age[self.members] > 0]
        if members.size:
            self._recompute(members)
            self.retire(members, self.remaining)
            self.loss = float(self.losses.sum())

    def _look(self, members: Indices) -> Array:
        """The gradient; its norms at recomputed latents are known already, and accurate to double precision."""
        dual, latent = take_members(self.dual, members), take_members(self.latent, members)
        seen = _look_at(self.problem.restrict(members), dual, latent)
        self._note(members, seen, (self.age[members] > 0) | np.isinf(self.remaining[members]))
        return seen.gradient

    def _note(self, members: Indices, seen: "_Look", chosen: Mask) -> None:
        own = members[chosen]
        self.norms[own], self.remaining[own] = seen.norms[chosen], seen.remaining[chosen]
        self.losses[own] = seen.losses[chosen]

    def _refresh(self, members: Indices) -> None:
        """Recompute latents from the dual; give up where that does not help."""
        carried = self.remaining[members]
        self._recompute(members)
        # The old direction was conjugate to another gradient.
        self.directions.strength[members[self.remaining[members] > 2 * carried]] = 0.0
        expected = members[(carried <= self.tolerance) | (self.step_lengths[members] <= 0)]
        self.judge_refresh(expected, self.remaining)
        self.step_lengths[expected] = 1.0

    def _recompute(self, members: Indices) -> None:
        """Latents from the dual, and the norms of the gradient there, both in float64."""
        part, dual = self.problem.restrict(members), take_members(self.dual, members)
        latent = part.covariance.accurate_matmul(dual)
        self.n_products += 1
        self._note(members, _look_at(part, dual, latent), np.full(len(members), True))
        self.latent[members] = latent
        self.age[members] = 0

    def advance(self) -> None:
        """One step along conjugate directions for every active weighting."""
        members, gradient, directions = self.members, self.gradient, self.directions
        part = self.problem.restrict(members)
        dual, latent = take_members(self.dual, members), take_members(self.latent, members)
        image = part.covariance.matmul(gradient)
        self.n_products += 1
        step, step_image = -gradient, -image
        directions.turn(members, step, step_image, step)
        touching = part.majorised(latent)

        def search() -> Array:
            own, own_image = take_members(directions.direction, members), take_members(directions.image, members)
            return best_lengths(touching, dual, latent, own, own_image, self.policy.line_accuracy)

        lengths = search()
        astray = lengths <= 0
        if astray.any():
            directions.restart(members[astray], step[astray], step_image[astray])
            lengths = search()
        # In the null space of K~, gradients and steps have length zero. Take the full step if it reaches the
        # tolerance, or if it lowers the gradient and the line search finds no decrease.
        left = _look_at(part, dual - gradient, latent - image).remaining
        full = (left <= self.tolerance) | ((lengths <= 0) & (left < self.remaining[members]))
        directions.restart(members[full], step[full], step_image[full])
        lengths = np.where(full, 1.0, lengths)
        step = _times(lengths, take_members(directions.direction, members))
        # A step that is lost in rounding at nearly all points would be repeated until the budget is spent.
        smallest = self.policy.swallowed * np.finfo(dual.dtype).eps * max_norm(dual)
        lengths = np.where(max_norm(step) > smallest, lengths, 0.0)
        add(self.dual, members, step)
        add(self.latent, members, _times(lengths, take_members(directions.image, members)))
        self.step_lengths[members] = lengths
        self.age[members] += 1


class _Look(NamedTuple):
    """Functional gradient, penalised losses, norms, and the values that are compared with the tolerance."""

    gradient: Array
    losses: Array
    norms: Array
    remaining: Array


def _look_at(part: Problem, dual: Array, latent: Array) -> _Look:
    likelihood = part.likelihood
    loss, gradient = likelihood.loss_and_gradient(latent, part.targets, part.weights)
    losses = loss + 0.5 * inner_products(dual, latent)
    sizes = residual_sizes(max_norm(gradient), usual_weights(part.weights), part.dtype)
    # Per unit of weight, so that a row of weight two stops a fit at the same point as two copies of the row.
    unit = np.where(part.weights > 0, part.weights, 1.0).astype(gradient.dtype)[:, None]
    own_sizes = residual_sizes(max_norm(gradient / unit), np.ones(len(dual)), part.dtype)
    gradient += dual
    gap = likelihood.gap(dual, latent, part.targets, part.weights)
    remaining = max_norm(gradient / unit) / own_sizes if gap is None else _relative(gap, losses)
    return _Look(gradient, losses, max_norm(gradient) / sizes, remaining)


def _relative(gap: Array, losses: Array) -> Array:
    """The root of the gap in units of the penalised loss; zero if both are zero."""
    return np.sqrt(np.divide(gap, losses, out=np.where(gap == 0, 0.0, np.inf), where=losses > 0))


def best_lengths(part: Problem, dual: Array, latent: Array, direction: Array, image: Array, accuracy: float) -> Array:
    """Step lengths that minimise the penalised loss along each direction; zero where it does not fall."""
    slope_at = part.slope_along(dual, latent, direction, image)
    start = slope_at(np.zeros(len(dual)))
    falls = (start.first < 0) & (start.second > 0)
    unit = np.where(falls, -start.first / np.where(falls, start.second, 1.0), 0.0)
    if part.likelihood.is_quadratic:
        return unit

    def scaled(lengths: Array) -> Slope:
        first, second = slope_at(unit * lengths)
        return Slope(unit * first, unit**2 * second)

    return unit * convex_step_lengths(scaled, len(dual), accuracy)


def _times(factors: Array, functions: Array) -> Array:
    """Each member times its factor, in the precision of the functions."""
    return factors.astype(functions.dtype)[:, None, None] * functions
