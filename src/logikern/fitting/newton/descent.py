"""Newton steps with a line search: the iteration of all Newton solvers."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from logikern.fitting.iteration import Budget, Iteration
from logikern.fitting.newton.policy import POLICY, NewtonPolicy
from logikern.fitting.newton.systems import NewtonSystem, StoppingRule
from logikern.fitting.problem import Callback, FitResult, Problem, max_norm
from logikern.fitting.units import SMALLEST_SIZES, largest_entries, residual_sizes, usual_weights
from logikern.likelihoods.base import Expansion
from logikern.likelihoods.curvature import Curvature
from logikern.numerics.conjugate_gradient import ConjugateDirections, add, inner_products, take_members
from logikern.numerics.line_search import convex_step_lengths
from logikern.numerics.outcome import Array, Indices, Mask, NewtonStep, Outcome

MakeSystem = Callable[[Curvature, Indices], NewtonSystem]
# Nothing, latents of a fit at other hyperparameters, or the result of another solver.
Start = Array | FitResult | None


@dataclass(frozen=True, eq=False)
class Descent:
    """Newton steps on the pair (dual, latent) until every weighting is done (Seeger 2008, Algorithm 1).

    A gradient below the tolerance counts only at latents recomputed from the dual: updated latents collect the
    rounding errors of earlier, larger steps. If stored matrices are in single precision, latents are finally
    recomputed with kernel values in double precision, so the residual belongs to the true model, and further steps
    in single precision refine it.
    """

    make_system: MakeSystem  # from a curvature and the numbers of its weightings
    tolerance: float  # for the largest absolute component of the gradient, in the units of `FitResult.gradient_norm`
    budget: Budget
    # Whether the systems accept curvatures that merge classes (`Likelihood.expand_closely`).
    merges_classes: bool = False
    verifies: bool = True  # whether single precision is verified by kernel values in double precision
    policy: NewtonPolicy = POLICY

    def run(self, problem: Problem, start: Start, callback: Callback) -> FitResult:
        """Fit from zero, from latents (B, C, n) near the optimum, or from a result to be improved."""
        dual, latent = np.zeros(problem.shape, problem.dtype), np.zeros(problem.shape, problem.dtype)
        n_products = 0
        if isinstance(start, FitResult):
            dual, latent = start.dual, start.latent
        elif start is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                dual, latent, n_products = self._step_from(problem, start, dual, latent)
        fixed = (problem, self.tolerance, self.budget)
        verifies = self.verifies and problem.covariance.is_single
        return _Iteration(*fixed, dual, latent, n_products, self, verifies, start is None).run(callback)

    def _step_from(self, problem: Problem, start: Array, dual: Array, latent: Array) -> tuple[Array, Array, int]:
        """One full Newton step from latents, cut back to its best multiple.

        A Newton iterate depends on the latents alone: alpha' = b - R K~ b with b = W u - g. Latents vary little with
        the hyperparameters, whereas an old dual can cause wild latents under a new kernel.
        """
        members, policy = np.arange(problem.shape[0]), self.policy
        expansion = problem.expand(start, self.merges_classes)
        curvature = expansion.curvature
        constant = curvature.matmul(start) - expansion.gradient
        gradient = np.maximum(max_norm(expansion.gradient), SMALLEST_SIZES[np.dtype(np.float64)])
        missed = np.full(len(members), policy.missed_gain)
        rule = StoppingRule(
            policy.start_residual * gradient, missed if self.tolerance >= policy.continuation_tolerance else None
        )
        direction, image, n_products = self.make_system(curvature, members).solve(constant, rule, start)
        lengths = _line_search(problem, dual, latent, direction, image).astype(problem.dtype)[:, None, None]
        return lengths * direction, lengths * image, n_products


def is_slow(last: NewtonStep, policy: NewtonPolicy) -> bool:
    """Whether a fit from zero should switch to continuation after this step."""
    if last.step == 1:
        return last.products > policy.first_products and last.step_length <= policy.short_step
    return 1 < last.step <= policy.early_steps and policy.no_step < last.step_length <= policy.short_step


@dataclass(eq=False)
class _Iteration(Iteration):
    """The state of one descent."""

    descent: Descent
    verifies: bool
    starts_at_zero: bool
    expansion: Expansion = field(init=False)
    typical: Array = field(init=False)  # weights
    sizes: Array = field(init=False)  # units of the gradient's norm
    fresh: Mask = field(init=False)  # latents are recomputed from the dual, without a step since
    verified: Mask = field(init=False)  # they are recomputed with kernel values in double precision
    directions: ConjugateDirections | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        n_batch = len(self.dual)
        self.typical, self.sizes = usual_weights(self.problem.weights), np.ones(n_batch)
        self.fresh = np.full(n_batch, self.starts_at_zero)
        self.verified = self.fresh & (not self.verifies)
        if not self.problem.is_convex:
            # The majoriser's curvature exceeds the true one: its Newton steps alone converge linearly.
            self.directions = ConjugateDirections(self.problem.shape, self.problem.dtype)

    def measure(self) -> None:
        """Expand at the latents of active weightings, after retiring those that are done."""
        policy = self.descent.policy
        while (members := self.members).size:
            part = self.problem.restrict(members)
            expansion = part.expand(take_members(self.latent, members), self.descent.merges_classes)
            self._look(members, expansion.gradient)
            below = self.norms[members] <= self.tolerance
            early = (self.norms[members] < policy.refresh_below) & np.isinf(self.refreshed_at[members])
            stalled = self.step_lengths[members] <= policy.no_step
            doubtful = ~self.fresh[members] & (below | stalled | (early & part.covariance.is_single))
            unverified: Mask = self.verifies & below & ~self.verified[members]
            self.verified[members[unverified]] = True
            self.refreshed_at[members[unverified]] = np.inf  # from here on the matrix is different
            if (doubtful | unverified).any():
                self._refresh(members[doubtful | unverified])
                continue
            done = below | ~np.isfinite(self.norms[members])
            if not done.any():
                self.expansion = expansion
                break
            self.retire(members[done], self.norms)
        self._set_loss()

    def settle(self) -> None:
        members = self.members
        members = members[~self.fresh[members] | (self.verifies & ~self.verified[members])]
        if members.size:
            self.verified[members] = self.verifies
            self._recompute(members)
            self.retire(members, self.norms)
            self._set_loss()

    def _set_loss(self) -> None:
        self.loss = float((self.problem.loss(self.latent) + 0.5 * inner_products(self.dual, self.latent)).sum())

    def _look(self, members: Indices, likelihood_gradient: Array) -> None:
        """Norms after a step; norms at recomputed latents are known already, and more accurate."""
        gradient = likelihood_gradient + take_members(self.dual, members)
        moved = ~self.fresh[members] | np.isinf(self.norms[members])
        self._set_norms(members[moved], max_norm(likelihood_gradient)[moved], max_norm(gradient)[moved])

    def _set_norms(self, members: Indices, of_likelihood: Array, whole: Array) -> None:
        """Norms of gradients from their largest entries, (B,) each."""
        self.sizes[members] = residual_sizes(of_likelihood, self.typical[members], self.problem.dtype)
        self.norms[members] = whole / self.sizes[members]

    def _refresh(self, members: Indices) -> None:
        """Recompute latents from the dual; give up where that does not help."""
        self._recompute(members)
        self.judge_refresh(members, self.norms, self.descent.policy.no_step)

    def _recompute(self, members: Indices) -> None:
        """Latents from the dual, and the norm of the gradient there, both in float64."""
        for verified in {bool(verified) for verified in self.verified[members]}:
            own = members[self.verified[members] == verified]
            part, dual = self.problem.restrict(own), take_members(self.dual, own)
            latent = (part.covariance.accurate_matmul if verified else part.covariance.summed_matmul)(dual)
            self.n_products += 1
            self._set_norms(own, *largest_entries(part, dual, latent))
            self.latent[own] = latent
        self.fresh[members] = True

    def failure(self) -> Outcome | None:
        """Stop after a useless direction that took its whole budget, and after a slow start."""
        policy, spent = self.descent.policy, self.trace[-1].products - self.trace[-2:][0].products
        if spent > self.budget.direction and self.step_lengths.max() <= policy.short_step:
            return Outcome.STALLED
        slow = self.starts_at_zero and self.problem.is_convex and is_slow(self.trace[-1], policy)
        return Outcome.OUT_OF_STEPS if slow else None

    def advance(self) -> None:
        """One Newton step for every active weighting."""
        members, policy, expansion = self.members, self.descent.policy, self.expansion
        part = self.problem.restrict(members)
        norms, dual, latent = self.norms[members], *(take_members(x, members) for x in (self.dual, self.latent))
        descent = -(dual + expansion.gradient)
        is_first = self.starts_at_zero and part.is_convex and len(self.trace) == 1
        rule = StoppingRule(
            policy.linear_residual * self.tolerance * self.sizes[members],
            policy.missed_gain * np.minimum(1.0, norms),
            policy.first_products if is_first else self.budget.direction,
        )
        system = self.descent.make_system(expansion.curvature, members)
        direction, image, n_products = system.solve(descent, rule)
        self.n_products += n_products
        if self.directions is not None:
            self.directions.turn(members, direction, image, descent)
            direction, image = self.directions.direction[members], self.directions.image[members]
        lengths = _line_search(part, dual, latent, direction, image)
        # A step that moves no latent lies in the null space of K~, where the full step is exact.
        blind = max_norm(image) <= policy.blind_image * (1.0 + max_norm(latent))
        lengths = np.where(blind, 1.0, lengths)
        stuck = lengths <= policy.no_step
        if part.is_convex and stuck.any():
            # If K~ direction is mostly rounding, as for contradicting labels of equal points, so is the slope.
            halved = _norm_after(part, dual + direction, latent + image, self.typical[members]) <= 0.5 * norms
            lengths = np.where(stuck & halved, 1.0, lengths)
        steps = lengths.astype(self.problem.dtype)[:, None, None]
        add(self.dual, members, np.multiply(steps, direction, out=direction))
        add(self.latent, members, np.multiply(steps, image, out=image))
        self.step_lengths[members] = lengths
        self.fresh[members] = False


def _norm_after(part: Problem, dual: Array, latent: Array, typical: Array) -> Array:
    """Norm of the gradient at another point, (B,), in its own units; NaN where it is not finite."""
    _, gradient = part.likelihood.loss_and_gradient(latent, part.targets, part.weights)
    return max_norm(gradient + dual) / residual_sizes(max_norm(gradient), typical, part.dtype)


def _line_search(part: Problem, dual: Array, latent: Array, direction: Array, image: Array) -> Array:
    """Step lengths of Seeger (2008), sec. 5.1.2."""
    return convex_step_lengths(part.slope_along(dual, latent, direction, image), len(dual))
