"""Conjugate gradients in the metric of the function space, Ratliff & Bagnell (2007): one product a step."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from logikern.fitting.iteration import Budget, Progress, attach_result_on_interrupt
from logikern.fitting.newton.method import slope_along
from logikern.fitting.problem import Callback, FitResult, Problem, Solver, max_norm, no_callback
from logikern.fitting.units import residual_sizes, usual_weights
from logikern.numerics.conjugate_gradient import add, inner_products, take_members
from logikern.numerics.line_search import Slope, convex_step_lengths
from logikern.numerics.outcome import Array, Indices, Mask, Outcome

# What a line search may leave of the slope.
LINE_ACCURACY = 0.01
# Directions from where the loss was another quadratic function spoil those that follow (Powell 1977): they are given
# up after so many steps, and as soon as successive gradients are so far from orthogonal. Without it pima takes 909
# products where 123 do.
RESTART_AFTER = 30
ORTHOGONAL = 0.2
# In single precision latents drift from the image of the dual; after so many steps they are computed anew.
REFRESH_AFTER = 50
# Times the rounding of the largest coefficient: a smaller step counts as a stall. On a fit whose coefficients are in
# single precision, with a tolerance that these cannot reach, 0.1 ends at a gradient of 1.5e-5 and 0.02 at 3.4e-6.
SWALLOWED = 0.02


@dataclass(frozen=True)
class KernelGradient(Solver):
    """Polak-Ribiere conjugate gradients with restarts in the metric of K~ (Ratliff & Bagnell 2007, Algorithm 1).

    The penalised loss changes by <gamma, .>_K~ with gamma = dual + gradient of the likelihood, so gamma are the
    coefficients of the functional gradient, without a product. The parameter gradient is K~ gamma, and the condition
    number of the loss in it is that in the function space times the condition number of K~.

    The squared loss ends where the gap to its lower bound falls below tolerance^2 times the penalised loss. As
    |f - f*|^2 <= 2 gap in the function space, the fitted function is then right to about the tolerance.

    Parameters
    ----------
    tolerance : float, default=1e-4
        For the largest absolute component of the gradient per unit of weight; for the squared loss as above.
    budget : Budget
        Its Newton steps are the steps here, 2000 if nothing else is said.
    """

    tolerance: float = 1e-4
    budget: Budget = Budget(newton=2000)

    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        with np.errstate(over="ignore", invalid="ignore"):
            dual = np.zeros(problem.shape, problem.dtype) if start is None else _ask(problem, start)
            return self.resume(problem, dual, callback)

    def resume(self, problem: Problem, dual: Array, callback: Callback = no_callback) -> FitResult:
        with np.errstate(over="ignore", invalid="ignore"):
            result = _descend(_begin(problem, dual), callback, self.tolerance, self.budget)
            if result.outcome.converged or not problem.covariance.is_single or not np.isfinite(result.dual).all():
                return result
            # What single precision cannot tell apart is finished with products summed in float64.
            accurate = replace(problem, covariance=problem.covariance.in_double())
            return _descend(_begin(accurate, result.dual), callback, self.tolerance, self.budget).after(result)


@dataclass(eq=False, kw_only=True)
class _Run(Progress):
    """The moving state of one fit; what belongs to a step is that of the last one."""

    gradient: Array
    direction: Array
    image: Array  # K~ direction
    strength: Array  # |gradient|^2 in the metric of K~; zero where the next direction is a first one
    turns: Array  # directions since a first one
    remaining: Array  # what the tolerance is compared with
    refreshed_at: Array  # `remaining` when the latents were last recomputed from the dual because it was small
    age: Array  # steps since the latents were recomputed
    losses: Array


def _ask(problem: Problem, latent: Array) -> Array:
    """The dual that latents ask for, minus the gradient of the likelihood, at its best multiple."""
    _, gradient = problem.likelihood.loss_and_gradient(latent, problem.targets, problem.weights)
    nothing = np.zeros_like(gradient)
    image = problem.covariance.matmul(gradient)
    return _times(best_lengths(problem.majorised(latent), nothing, nothing, -gradient, -image), -gradient)


def _begin(problem: Problem, dual: Array) -> _Run:
    n_batch = problem.shape[0]
    elsewhere = bool(dual.any())
    dual = dual.astype(problem.dtype)  # a copy: the run moves it
    latent = problem.covariance.accurate_matmul(dual) if elsewhere else np.zeros_like(dual)
    infinite = np.full(n_batch, np.inf)
    return _Run(
        problem=problem,
        dual=dual,
        latent=latent,
        outcomes=[None] * n_batch,
        gradient=np.zeros(problem.shape, problem.dtype),
        direction=np.zeros(problem.shape, problem.dtype),
        image=np.zeros(problem.shape, problem.dtype),
        strength=np.zeros(n_batch),
        turns=np.zeros(n_batch, dtype=int),
        norms=infinite,
        remaining=infinite.copy(),
        refreshed_at=infinite.copy(),
        step_lengths=np.ones(n_batch),
        age=np.zeros(n_batch, dtype=int),
        losses=np.zeros(n_batch),
        n_products=int(elsewhere),
    )


def _descend(run: _Run, callback: Callback, tolerance: float, budget: Budget) -> FitResult:
    with attach_result_on_interrupt(run.result):
        for step in itertools.count():
            gradient = _look(run, tolerance)
            run.note(step, float(run.losses.sum()), callback)
            ended = budget.ending(step, run.n_products)
            if gradient is None or ended:
                break
            _advance(run, gradient, tolerance)
    return run.result(ended or Outcome.OUT_OF_STEPS)


def _look(run: _Run, tolerance: float) -> Array | None:
    """The functional gradient of the weightings still at work, after retiring those that are done."""
    while (members := run.members).size:
        seen = _see(run.problem.restrict(members), take_members(run.dual, members), take_members(run.latent, members))
        run.norms[members], run.remaining[members], run.losses[members] = seen.norms, seen.remaining, seen.losses
        below, stalled = seen.remaining <= tolerance, run.step_lengths[members] <= 0
        old = run.problem.covariance.is_single & (run.age[members] >= REFRESH_AFTER)
        doubtful: Mask = (run.age[members] > 0) & (below | stalled | old)
        if doubtful.any():
            _refresh(run, members[doubtful], tolerance)
            continue
        done = below | stalled | ~np.isfinite(seen.remaining)
        if not done.any():
            return seen.gradient
        for member in members[done]:
            run.outcomes[member] = _ending(run, member, tolerance)
    return None


def _ending(run: _Run, member: int, tolerance: float) -> Outcome:
    if not np.isfinite(run.remaining[member]):
        return Outcome.NOT_FINITE
    return Outcome.CONVERGED if run.remaining[member] <= tolerance else Outcome.STALLED


@dataclass(frozen=True, eq=False)
class _Seen:
    """What latents and duals of some weightings say."""

    gradient: Array
    losses: Array
    norms: Array
    remaining: Array


def _see(part: Problem, dual: Array, latent: Array) -> _Seen:
    likelihood = part.likelihood
    loss, gradient = likelihood.loss_and_gradient(latent, part.targets, part.weights)
    losses = loss + 0.5 * inner_products(dual, latent)
    sizes = residual_sizes(gradient, usual_weights(part.weights))
    # Per unit of weight, so that a weight of two ends a fit where the row written twice does.
    unit = np.where(part.weights > 0, part.weights, 1.0).astype(gradient.dtype)[:, None]
    own_sizes = residual_sizes(gradient / unit, np.ones(len(dual)))
    gradient += dual
    gap = likelihood.gap(dual, latent, part.targets, part.weights)
    remaining = max_norm(gradient / unit) / own_sizes if gap is None else _relative(gap, losses)
    return _Seen(gradient, losses, max_norm(gradient) / sizes, remaining)


def _relative(gap: Array, losses: Array) -> Array:
    """The root of the gap in units of the penalised loss; zero where both are."""
    return np.sqrt(np.divide(gap, losses, out=np.where(gap == 0, 0.0, np.inf), where=losses > 0))


def _refresh(run: _Run, members: Indices, tolerance: float) -> None:
    """Recompute latents from the dual, summed in float64; give up where that brings nothing."""
    part = run.problem.restrict(members)
    run.latent[members] = part.covariance.accurate_matmul(run.dual[members])
    run.n_products += 1
    seen = _see(part, take_members(run.dual, members), take_members(run.latent, members))
    for member, carried, true in zip(members, run.remaining[members], seen.remaining, strict=True):
        if true > 2 * carried:
            run.strength[member] = 0.0  # the old direction was conjugate to another gradient
        expected = carried <= tolerance or run.step_lengths[member] <= 0
        if expected and true > max(tolerance, 0.5 * run.refreshed_at[member]):
            run.outcomes[member] = Outcome.STALLED if run.step_lengths[member] <= 0 else Outcome.ROUNDING
        if expected:
            run.refreshed_at[member] = true
            run.step_lengths[member] = 1.0
    run.age[members] = 0


def _advance(run: _Run, gradient: Array, tolerance: float) -> None:
    """One step along conjugate directions for every weighting still at work."""
    members = run.members
    part = run.problem.restrict(members)
    dual, latent = take_members(run.dual, members), take_members(run.latent, members)
    image = part.covariance.matmul(gradient)
    run.n_products += 1
    _turn(run, members, gradient, image)
    touching = part.majorised(latent)
    lengths = best_lengths(
        touching, dual, latent, take_members(run.direction, members), take_members(run.image, members)
    )
    astray = lengths <= 0
    if astray.any():
        run.direction[members[astray]], run.image[members[astray]] = -gradient[astray], -image[astray]
        lengths = best_lengths(
            touching, dual, latent, take_members(run.direction, members), take_members(run.image, members)
        )
    # Where the kernel is blind gradients have no length, and steps across it none either: the whole step back to
    # what latents ask for is taken if it leaves nothing, or less than a line on which nothing more is seen to fall.
    left = _see(part, dual - gradient, latent - image).remaining
    whole = (left <= tolerance) | ((lengths <= 0) & (left < run.remaining[members]))
    run.direction[members[whole]], run.image[members[whole]] = -gradient[whole], -image[whole]
    lengths = np.where(whole, 1.0, lengths)
    step = _times(lengths, take_members(run.direction, members))
    # A step that rounding swallows at nearly all points would be repeated until the budget is spent.
    lengths = np.where(max_norm(step) > SWALLOWED * np.finfo(dual.dtype).eps * max_norm(dual), lengths, 0.0)
    add(run.dual, members, step)
    add(run.latent, members, _times(lengths, take_members(run.image, members)))
    run.step_lengths[members] = lengths
    run.age[members] += 1


def _turn(run: _Run, members: Indices, gradient: Array, image: Array) -> None:
    """The next direction, and its product from that with the gradient."""
    strength, before = inner_products(gradient, image), run.strength[members]
    overlap = inner_products(take_members(run.gradient, members), image)
    goes_on = before > 0
    if not run.problem.likelihood.is_quadratic:
        goes_on &= (run.turns[members] < RESTART_AFTER) & (np.abs(overlap) < ORTHOGONAL * strength)
    part = np.where(goes_on, np.maximum(0.0, strength - overlap) / np.where(before > 0, before, 1.0), 0.0)
    part = np.where(part * inner_products(gradient, take_members(run.image, members)) < strength, part, 0.0)
    run.direction[members] = _times(part, take_members(run.direction, members)) - gradient
    run.image[members] = _times(part, take_members(run.image, members)) - image
    run.gradient[members], run.strength[members] = gradient, np.maximum(strength, 0.0)
    run.turns[members] = np.where(part > 0, run.turns[members] + 1, 0)


def best_lengths(part: Problem, dual: Array, latent: Array, direction: Array, image: Array) -> Array:
    """Where the penalised loss is lowest along each direction; zero where it does not fall."""
    slope_at = slope_along(part, dual, latent, direction, image)
    start = slope_at(np.zeros(len(dual)))
    falls = (start.first < 0) & (start.second > 0)
    unit = np.where(falls, -start.first / np.where(falls, start.second, 1.0), 0.0)
    if part.likelihood.is_quadratic:
        return unit

    def scaled(lengths: Array) -> Slope:
        first, second = slope_at(unit * lengths)
        return Slope(unit * first, unit**2 * second)

    return unit * convex_step_lengths(scaled, len(dual), LINE_ACCURACY)


def _times(factors: Array, functions: Array) -> Array:
    """Each member times its factor, in the precision of the functions."""
    return factors.astype(functions.dtype)[:, None, None] * functions
