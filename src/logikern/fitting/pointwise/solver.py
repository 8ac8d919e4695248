"""Dual ascent point by point, for kernels with few features per point, such as words of a text."""

from dataclasses import dataclass, field

import numpy as np

from logikern.fitting.iteration import Budget, Iteration
from logikern.fitting.pointwise.loops import PointFeatures, compiled
from logikern.fitting.pointwise.schedule import (
    POLICY,
    PointwisePolicy,
    equal_points,
    in_products,
    is_supported,
    plan_round,
    point_features,
    weighted_features,
)
from logikern.fitting.problem import Callback, FitResult, Problem, Solver, max_norm, no_callback
from logikern.fitting.units import residual_sizes, usual_weights
from logikern.numerics.conjugate_gradient import inner_products, take_members
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.numerics.parallel import for_each, point_tiles
from logikern.numerics.simplex import soft_maximum


@dataclass(frozen=True)
class PointwiseAscent(Solver):
    """Rounds of visits to points with large residuals, each solved for all of its classes.

    All residuals are measured after each round. A visit costs about as much as one row of a product. Where points
    share few features, the visits of one round replace dozens of products of a Newton direction; where many rounds
    are needed, Newton's method is faster.

    Parameters
    ----------
    tolerance : float, default=1e-4
        For the largest absolute component of the gradient, in units of probability.
    budget : Budget
        `budget.newton` counts rounds; `budget.products` counts visits, in units of the number of points, and
        measurements.
    seed : int, default=0
        Seed of the order of the points.
    policy : PointwisePolicy
    """

    tolerance: float = 1e-4
    budget: Budget = Budget(newton=POLICY.rounds)
    seed: int = 0
    policy: PointwisePolicy = POLICY

    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        if not is_supported(problem):
            raise ValueError(
                "Block coordinate ascent needs labels or distributions over classes, a kernel with sparse features "
                "that all classes share, and a finite `bias_variance`. Use solver='newton'."
            )
        fixed, covariance = (problem, self.tolerance, self.budget), problem.covariance
        state = (_dual_at(problem, start), np.zeros(problem.shape, problem.dtype), 0)
        features, equals = point_features(covariance), equal_points(covariance)
        random = np.random.default_rng(self.seed)
        return _Iteration(*fixed, *state, self.policy, features, equals, random).run(callback)


def _dual_at(problem: Problem, latent: Array | None) -> Array:
    """Zero, or the optimal dual for latents of a fit at other hyperparameters."""
    dual = np.zeros(problem.shape, problem.dtype)
    if latent is None:
        return dual
    for points in point_tiles(problem.shape):
        with np.errstate(over="ignore", invalid="ignore"):
            left = problem.targets[:, points] - soft_maximum(latent[..., points]).probabilities
        dual[..., points] = left * problem.weights[:, None, points]
    return dual


@dataclass(eq=False)
class _Iteration(Iteration):
    """The state of one ascent."""

    policy: PointwisePolicy
    features: PointFeatures
    equals: Indices  # the number of each point's group of equal points, (n,)
    random: np.random.Generator
    sizes: Array = field(init=False)  # units of the gradient's norm
    residuals: Array = field(init=False)  # largest entry of each point's gradient, (B, n)
    quiet_for: Array = field(init=False)  # rounds since a point last had a large residual, (B, n)
    losses: Array = field(init=False)  # without the penalty, (B,)
    # After every round, the root mean square of all residuals and the norm of the gradient.
    residual_history: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        n_batch, _, n = self.problem.shape
        self.sizes, self.losses = np.ones(n_batch), np.zeros(n_batch)
        self.residuals, self.quiet_for = np.full((n_batch, n), np.inf), np.zeros((n_batch, n), dtype=np.int32)

    def measure(self) -> None:
        """Latents of the dual, summed in float64, gradient and loss."""
        members = self.members
        dual, latent = take_members(self.dual, members), take_members(self.latent, members)
        if self.dual.any():
            latent = self.problem.covariance.accurate_matmul(dual)
            self.n_products += 1
        self._find_residuals(members, dual, latent)
        self.latent[members] = latent
        self.loss = float((self.losses + 0.5 * inner_products(self.dual, self.latent)).sum())
        self.retire(members, self.norms)

    def settle(self) -> None:
        """Nothing to do: `measure` always recomputes latents."""

    def _find_residuals(self, members: Indices, dual: Array, latent: Array) -> None:
        part, typical = self.problem.restrict(members), usual_weights(self.problem.weights[members])

        def find(points: slice) -> tuple[Array, Array]:
            own = part.at(points)
            losses, gradient = own.likelihood.loss_and_gradient(latent[..., points], own.targets, own.weights)
            largest = max_norm(gradient)
            gradient += dual[..., points]
            self.residuals[members, points] = np.abs(gradient, out=gradient).max(axis=1)
            return losses, largest

        losses, largest = zip(*for_each(find, point_tiles(self.latent.shape)), strict=True)
        self.losses[members] = np.sum(losses, axis=0)
        self.sizes[members] = residual_sizes(np.max(largest, axis=0), typical, part.dtype)
        self.norms[members] = self.residuals[members].max(axis=1) / self.sizes[members]

    def failure(self) -> Outcome | None:
        """Stalled if neither the mean square residual nor the largest residual has halved in the last rounds."""
        members, rounds = self.members, self.policy.halving_rounds
        mean = float(np.sqrt(np.mean(self.residuals[members] ** 2))) if members.size else 0.0
        self.residual_history.append((mean, float(self.norms[members].max(initial=0.0))))
        if len(self.residual_history) <= rounds:
            return None
        before, now = np.array(self.residual_history[-1 - rounds]), np.array(self.residual_history[-1])
        return Outcome.STALLED if (now > 0.5 * before).all() else None

    def advance(self) -> None:
        """One round; each weighting has its own order, so results do not depend on threads."""
        members = self.members
        tasks = zip(members, self.random.spawn(len(members)), strict=True)
        visits = for_each(lambda task: self._visit(*task), tasks)
        self.n_products += in_products(visits, self.problem.shape[2])

    def _visit(self, member: int, random: np.random.Generator) -> int:
        """One round of one weighting; returns the number of visits."""
        weights, dual, targets = self.problem.weights[member], self.dual[member], self.problem.targets
        tolerance = self.tolerance * self.sizes[member]
        plan = plan_round(
            self.residuals[member], tolerance, self.quiet_for[member], weights, self.equals, self.policy
        )

        def left(points: Indices) -> Array:
            # In single precision, a share near one would lose its distance to one, which large variances amplify.
            return np.multiply(targets[:, points], weights[points], dtype=np.float64) - dual[:, points]

        shares = plan.groups.sum(left) / plan.weights[:, None]
        weighed, total = weighted_features(self.problem.covariance, dual), dual.sum(axis=1, dtype=np.float64)
        relaxation = self.policy.relaxation_after(len(self.trace) - 1)

        def visit(order: Indices, residuals: Array) -> None:
            fixed = (order, plan.groups.first, self.features, plan.weights)
            compiled()(*fixed, shares, weighed, total, plan.skip_below, residuals, relaxation)

        n_visits = plan.visit(visit, random)

        def write(points: Indices, groups: Indices) -> None:
            dual[:, points] = (targets[:, points] - shares[groups].T) * weights[points]

        plan.groups.spread(write)
        return n_visits
