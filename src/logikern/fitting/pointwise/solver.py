"""Ascent in the dual point by point where a kernel has few features at each, as words of a text."""

import itertools
from dataclasses import dataclass, field

import numpy as np

from logikern.fitting.iteration import Budget, Progress, attach_result_on_interrupt
from logikern.fitting.pointwise.loops import Rows, compiled
from logikern.fitting.pointwise.schedule import (
    VISITS_PER_ROUND,
    equal_rows,
    has_rows,
    in_products,
    relaxation,
    rows_of,
    settled_below,
    still_lively,
    visit_in_turn,
    weigh,
    with_equals,
)
from logikern.fitting.problem import Callback, FitResult, Problem, Solver, max_norm, no_callback
from logikern.fitting.units import residual_sizes, usual_weights
from logikern.numerics.conjugate_gradient import inner_products, take_members
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.numerics.parallel import for_each, point_tiles
from logikern.numerics.simplex import soft_maximum

# Of the tolerance: points below it are settled. Visits are cheap beside a look at all points, and it is the mean of
# what they leave, not the largest, that held-out losses feel.
FINEST = 0.03
# Rounds in which the residuals must halve: points that all see the same features are better moved together.
ROUNDS_TO_HALVE = 20


@dataclass(frozen=True)
class RowAscent(Solver):
    """Rounds of visits to unsettled points, each solved for all of its classes, and a look at all points after each.

    A visit costs about what one row of a product does. Where points share few features the visits of one round do
    what a Newton direction needs dozens of products for; where it takes many rounds Newton's method is faster.

    Parameters
    ----------
    tolerance : float, default=1e-4
        For the largest absolute component of the gradient, in units of probability.
    budget : Budget
        Its Newton steps are rounds; its products are visits, in units of the number of points, and looks.
    seed : int, default=0
        Of the order of the points.
    """

    tolerance: float = 1e-4
    budget: Budget = Budget(newton=40)
    seed: int = 0

    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        if not has_rows(problem):
            raise ValueError(
                "Ascent point by point needs labels or distributions over classes, one kernel with sparse features "
                "for all of them and a finite `bias_variance`. Use solver='newton'."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            run = _begin(problem, start)
            with attach_result_on_interrupt(run.result):
                return run.result(self._ascend(run, callback))

    def _ascend(self, run: "_Run", callback: Callback) -> Outcome:
        random = np.random.default_rng(self.seed)
        for step in itertools.count():
            run.look(self.tolerance)
            run.note(step, run.loss, callback)
            ended = self.budget.ending(step, run.n_products) or run.ending()
            if not run.members.size or ended:
                return ended or Outcome.OUT_OF_STEPS
            # Each weighting has an order of its own: which thread comes first plays no part.
            tasks = list(zip(run.members, random.spawn(len(run.members)), strict=True))
            visits = for_each(lambda task: run.visit(*task, self.tolerance), tasks)
            run.n_products += in_products(visits, run.problem.shape[2])
        raise AssertionError("unreachable")


@dataclass(eq=False, kw_only=True)
class _Run(Progress):
    """The moving state of one fit."""

    rows: Rows
    equals: Indices  # the number of each point's group of equal points, (n,)
    sizes: Array  # units of the gradient's norm
    residuals: Array  # of each point the largest entry of the gradient, (B, n)
    quiet_for: Array  # rounds since a point was last seen unsettled, (B, n)
    losses: Array  # without the penalty, (B,)
    loss: float = np.inf
    # After every round the root mean square of all residuals, and the norm of the gradient.
    sizes_left: list[tuple[float, float]] = field(default_factory=list)

    def look(self, tolerance: float) -> None:
        """Latents of the dual, summed in float64, gradient and loss."""
        members = self.members
        if self.dual.any():
            self.latent[members] = self.problem.covariance.accurate_matmul(take_members(self.dual, members))
            self.n_products += 1
        self._measure(members)
        self.loss = float((self.losses + 0.5 * inner_products(self.dual, self.latent)).sum())
        for member in members:
            if not np.isfinite(self.norms[member]):
                self.outcomes[member] = Outcome.NOT_FINITE
            elif self.norms[member] <= tolerance:
                self.outcomes[member] = Outcome.CONVERGED

    def ending(self) -> Outcome | None:
        """Where neither the mean residual, which settled points bound, nor the largest one was halved lately."""
        members = self.members
        mean = float(np.sqrt(np.mean(self.residuals[members] ** 2))) if members.size else 0.0
        self.sizes_left.append((mean, float(self.norms[members].max(initial=0.0))))
        if len(self.sizes_left) <= ROUNDS_TO_HALVE:
            return None
        before, now = np.array(self.sizes_left[-1 - ROUNDS_TO_HALVE]), np.array(self.sizes_left[-1])
        return Outcome.STALLED if (now > 0.5 * before).all() else None

    def _measure(self, members: Indices) -> None:
        part, usual = self.problem.restrict(members), usual_weights(self.problem.weights[members])
        latent, dual = take_members(self.latent, members), take_members(self.dual, members)

        def measure(points: slice) -> tuple[Array, Array]:
            own = part.at(points)
            losses, gradient = own.likelihood.loss_and_gradient(latent[..., points], own.targets, own.weights)
            largest = max_norm(gradient)
            gradient += dual[..., points]
            self.residuals[members, points] = np.abs(gradient, out=gradient).max(axis=1)
            return losses, largest

        losses, largest = zip(*for_each(measure, point_tiles(self.latent.shape)), strict=True)
        self.losses[members] = np.sum(losses, axis=0)
        self.sizes[members] = residual_sizes(np.max(largest, axis=0)[:, None, None], usual)
        self.norms[members] = self.residuals[members].max(axis=1) / self.sizes[members]

    def visit(self, member: int, random: np.random.Generator, tolerance: float) -> int:
        """One round; returns the number of visits."""
        weights, dual = self.problem.weights[member], self.dual[member]
        settled = settled_below(FINEST * tolerance * self.sizes[member], self.residuals[member])
        lively = still_lively(self.residuals[member], settled, self.quiet_for[member], weights)
        visited = with_equals(lively, self.equals, weights)
        targets, whole = self.problem.targets, np.bincount(visited.groups, weights[visited.points])

        def missing(points: Indices) -> Array:
            # In single precision a share near one would round away what large variances make of its distance to one.
            return np.multiply(targets[:, points], weights[points], dtype=np.float64) - dual[:, points]

        shares = visited.collect(missing) / whole[:, None]
        weighed, total = weigh(self.problem.covariance, dual), dual.sum(axis=1, dtype=np.float64)
        how_far = relaxation(len(self.trace) - 1)

        def visit(order: Indices, residuals: Array) -> None:
            fixed = (order, visited.first, self.rows, whole)
            compiled()(*fixed, shares, weighed, total, settled, residuals, how_far)

        n_visits = visit_in_turn(visit, len(whole), settled, VISITS_PER_ROUND * len(weights), random)

        def tell(points: Indices, groups: Indices) -> None:
            dual[:, points] = (targets[:, points] - shares[groups].T) * weights[points]

        visited.tell(tell)
        return n_visits


def _begin(problem: Problem, start: Array | None) -> _Run:
    """At zero, or at the dual of latents: that of a fit if they are its own under other hyperparameters."""
    n_batch, _, n = problem.shape
    dual = np.zeros(problem.shape, problem.dtype)
    if start is not None:
        for points in point_tiles(problem.shape):
            left = problem.targets[:, points] - soft_maximum(start[..., points]).probabilities
            dual[..., points] = left * problem.weights[:, None, points]
    return _Run(
        problem=problem,
        dual=dual,
        latent=np.zeros(problem.shape, problem.dtype),
        outcomes=[None] * n_batch,
        norms=np.full(n_batch, np.inf),
        step_lengths=np.ones(n_batch),
        rows=rows_of(problem.covariance),
        equals=equal_rows(problem.covariance),
        sizes=np.ones(n_batch),
        losses=np.zeros(n_batch),
        residuals=np.full((n_batch, n), np.inf),
        quiet_for=np.zeros((n_batch, n), dtype=np.int32),
    )
