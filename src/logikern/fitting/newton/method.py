"""The Newton iteration that all Newton solvers share: what differs is how a system is solved."""

import itertools
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from logikern.fitting.iteration import Budget, Progress, attach_result_on_interrupt
from logikern.fitting.newton.momentum import Momentum
from logikern.fitting.newton.systems import NewtonSystem, StoppingRule
from logikern.fitting.problem import Callback, FitResult, InterruptedFitError, Problem, Solver, max_norm, no_callback
from logikern.fitting.units import SMALLEST_SIZE, residual_sizes, usual_weights
from logikern.likelihoods.base import Expansion
from logikern.likelihoods.curvature import Curvature
from logikern.numerics.conjugate_gradient import add, inner_products, take_members
from logikern.numerics.line_search import Slope, convex_step_lengths
from logikern.numerics.outcome import Array, Indices, Mask, NewtonStep, Outcome
from logikern.numerics.parallel import for_each, point_tiles
from logikern.structure.covariance import ClassCovariance

# Of what a Newton step can gain in its quadratic model, the part that a first rough one may leave.
LARGEST_SHARE = 0.03
# A linear residual below this part of the tolerance would be lost effort.
FINEST_RESIDUAL = 0.3
# Of the step from given latents: it lands within second order of the optimum, so a rough solve would waste it.
START_ACCURACY = 0.01
UNFELT = 1e-12
# The gradient below which single precision must look at true latents before it goes on.
REFRESH_BELOW = 0.1
# Of the fit that coarse labels are first completed by.
ROUGH_TOLERANCE = 0.01
# The first direction from zero, whose curvature is far from that of any other, is not worth more products.
FIRST_DIRECTION = 40
# A fit from zero of whose early Newton steps no more than this part is taken would need many; the first one may be
# short, unless its direction could not be found.
SHORT_STEP, EARLY_STEPS = 0.06, 3
# It first goes to where the covariance is smaller by this factor, roughly.
EASIER, EASIER_TOLERANCE = 1 / 8, 0.1
# A Newton step of which no more than this part is taken leads nowhere.
NO_STEP = 1e-3


MakeSystem = Callable[[Curvature, Indices], NewtonSystem]
# Nothing, latents of a fit at other hyperparameters, or what another solver has come to.
Start = Array | FitResult | None


@dataclass(frozen=True, eq=False)
class Fit:
    """A result, with the covariance and the systems that gave it.

    Attributes
    ----------
    result : FitResult
    covariance : ClassCovariance
    make_system : callable
    """

    result: FitResult
    covariance: ClassCovariance
    make_system: MakeSystem


class NewtonSolver(Solver):
    """Newton's method; a subclass says how its systems are solved.

    `close` says whether these may have curvatures that merge classes (`Likelihood.expand_closely`), `proves` whether
    convergence in single precision is judged by kernel values in double precision.
    """

    tolerance: float
    budget: Budget
    close: ClassVar[bool] = False
    proves: bool = True

    @abstractmethod
    def systems(self, covariance: ClassCovariance) -> MakeSystem:
        """Do once what serves all systems of a covariance; a criterion uses them beyond the fit."""

    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        return self.run(problem, start, callback, self.tolerance).result

    def run(self, problem: Problem, start: Array | None, callback: Callback, tolerance: float) -> "Fit":
        """Fit, and keep the systems for what comes after it.

        Single precision is tried within a short budget. Where it makes no progress, at large variances, the
        fit goes on from its latents in double precision.
        """
        if start is None and not problem.is_convex and (rough := self._hear_the_sure(problem)) is not None:
            fit = self.run(problem, rough.latent, callback, tolerance)
            # Its steps are those of another loss, but its products were made for this one.
            return replace(fit, result=fit.result.after(replace(rough, trace=())))
        begun = self.begin(problem, start, callback, tolerance)
        if begun is None:
            return self._go_on(problem, start, callback, tolerance)
        ascent = begun.result
        if ascent.outcome.converged or self.budget.ending(ascent.trace[-1].step, ascent.n_products):
            return begun
        gained = ascent.trace[-1].loss < ascent.trace[0].loss
        try:
            fit = self._go_on(problem, ascent if gained else start, callback, tolerance)
        except InterruptedFitError as interruption:
            raise InterruptedFitError(interruption.result.after(ascent)) from None
        return replace(fit, result=fit.result.after(ascent))

    def begin(self, problem: Problem, start: Array | None, callback: Callback, tolerance: float) -> "Fit | None":
        """What another solver makes of a problem that is more to its liking; None where there is no such."""
        return None

    def _go_on(self, problem: Problem, start: "Start", callback: Callback, tolerance: float) -> "Fit":
        single = problem.covariance.is_single
        budget = self.budget.shortened() if single else self.budget
        make_system = self.systems(problem.covariance)
        result = descend(problem, start, callback, make_system, tolerance, budget, self.close, self.proves)
        creeps = not result.outcome.converged and _creeps(result.trace[-1])
        if start is None and problem.is_convex and creeps:
            del make_system  # of thousands of classes it takes gigabytes
            return self._go_by_an_easier_one(problem, result, callback, tolerance)
        if result.outcome.converged or not single:
            return Fit(result, problem.covariance, make_system)
        covariance = problem.covariance.in_double()
        make_system = self.systems(covariance)
        # A fit that was to be improved has gone the way of its result.
        onward: Start = None if isinstance(start, FitResult) else start
        onward = result.latent if np.isfinite(result.latent).all() else onward
        finished = descend(
            replace(problem, covariance=covariance), onward, callback, make_system, tolerance, self.budget, self.close
        )
        return Fit(finished.after(result), covariance, make_system)

    def _go_by_an_easier_one(self, problem: Problem, begun: FitResult, callback: Callback, tolerance: float) -> "Fit":
        """From latents under a smaller covariance (Marteau-Ferey, Bach & Rudi 2019), from near the targets if it can.

        From there steps are long where they are short from zero, but more products go into each.
        """
        easier = replace(problem, covariance=problem.covariance.scaled(EASIER))
        near = problem.likelihood.smoothed_label_latents(problem.targets)
        start = None if near is None else np.broadcast_to(near, problem.shape).astype(problem.dtype)
        try:
            rough = self.run(easier, start, no_callback, max(tolerance, EASIER_TOLERANCE)).result
        except InterruptedFitError:
            raise InterruptedFitError(begun) from None
        if rough.outcome is Outcome.STALLED:
            result = replace(begun, outcomes=rough.outcomes, n_products=begun.n_products + rough.n_products)
            return Fit(result, problem.covariance, self.systems(problem.covariance))
        fit = self.run(problem, rough.latent, callback, tolerance)
        return replace(fit, result=fit.result.after(replace(rough, trace=())).after(begun))

    def _hear_the_sure(self, problem: Problem) -> FitResult | None:
        """A rough fit without the points whose labels are coarse: nothing else says how to complete them.

        At zero every class below a coarse label is as probable as the next, and steps away from there are long.
        """
        targets, weights = problem.likelihood.fully_labelled_part(problem.targets, problem.weights)
        if not weights.any(axis=1).all():
            return None
        part = replace(problem, likelihood=problem.likelihood.majoriser, targets=targets, weights=weights)
        return self.run(part, None, no_callback, ROUGH_TOLERANCE).result


@dataclass(eq=False, kw_only=True)
class _Run(Progress):
    """The moving state of one fit."""

    usual: Array  # size of the weights
    sizes: Array  # units of the gradient's norm
    refreshed_at: Array  # gradient norm when the latents were last recomputed from the dual
    fresh: Mask  # no step since then
    proven: Mask  # latents are recomputed with kernel values in double precision, not with those that are stored
    proves: bool
    momentum: Momentum
    close: bool
    from_zero: bool


def descend(
    problem: Problem,
    start: Start,
    callback: Callback,
    make_system: MakeSystem,
    tolerance: float,
    budget: Budget,
    close: bool = False,
    proves: bool = True,
) -> FitResult:
    """Newton steps with a free line search on the pair (dual, latent) until every weighting is done.

    Seeger (2008), Algorithm 1. A gradient below the tolerance is believed only at
    latents recomputed from the dual: those carried along collect the rounding of
    every earlier, larger step. Where the stored matrices are in single precision, they are recomputed
    with kernel values in double precision in the end: the residual is then that of the true model, and further
    steps in single precision refine it.

    Parameters
    ----------
    problem : Problem
    start : array of shape (B, C, n), FitResult or None
        Latents near the optimum, of a fit at other hyperparameters; or a fit of this problem that is to be improved.
    callback : callable
    make_system : callable
        From the curvature and the numbers of the weightings that it belongs to.
    tolerance : float
        For the largest absolute component of the gradient, at weights of about one, and where all targets are met
        within less than one in units of what is left of them.
    budget : Budget
    close : bool, default=False
        Whether the systems know of merged classes.
    proves : bool, default=True
        Whether the residual that ends a fit in single precision is that of double precision.
    """
    proves = proves and problem.covariance.is_single
    with np.errstate(over="ignore", invalid="ignore"):
        run = _begin(problem, start, make_system, close, proves, rough=tolerance >= EASIER_TOLERANCE)
        with attach_result_on_interrupt(run.result):
            return run.result(_descend(run, callback, make_system, tolerance, budget))


def _measure(run: _Run, members: Indices, likelihood_gradient: Array) -> None:
    run.sizes[members] = residual_sizes(likelihood_gradient, run.usual[members])
    run.norms[members] = max_norm(likelihood_gradient + take_members(run.dual, members)) / run.sizes[members]


def _descend(run: _Run, callback: Callback, make_system: MakeSystem, tolerance: float, budget: Budget) -> Outcome:
    """Step until all weightings are done; the outcome is of those that are not."""
    for step in itertools.count():
        expansion = _expand(run, tolerance)
        losses = run.problem.loss(run.latent) + 0.5 * inner_products(run.dual, run.latent)
        run.note(step, float(losses.sum()), callback)
        ended = budget.ending(step, run.n_products) or _ending(run, budget)
        if expansion is None or ended or (run.from_zero and _creeps(run.trace[-1])):
            break
        first = run.from_zero and step == 0
        _advance(run, expansion, make_system, tolerance, FIRST_DIRECTION if first else budget.direction)
    return ended or Outcome.OUT_OF_STEPS


def _ending(run: _Run, budget: Budget) -> Outcome | None:
    """A direction that all products of its budget could not find, and that leads nowhere, is the last one."""
    lately = run.trace[-2:]
    in_vain = lately[-1].products - lately[0].products > budget.direction and run.step_lengths.max() <= SHORT_STEP
    return Outcome.STALLED if in_vain else None


def _creeps(last: NewtonStep) -> bool:
    """Whether a fit from zero should be broken off after this step."""
    if last.step == 1:
        return last.products > FIRST_DIRECTION and last.step_length <= SHORT_STEP
    return 1 < last.step <= EARLY_STEPS and NO_STEP < last.step_length <= SHORT_STEP


def _begin(problem: Problem, start: Start, make_system: MakeSystem, close: bool, proves: bool, rough: bool) -> _Run:
    """At zero, or one full Newton step from the latents given, cut back to its best multiple.

    A Newton iterate depends on the latents alone: alpha' = b - R K~ b with b = W u - g. Latents vary little with
    the hyperparameters, whereas an old dual can make wild latents under a new kernel.
    """
    n_batch = problem.shape[0]
    dual, latent = np.zeros(problem.shape, problem.dtype), np.zeros(problem.shape, problem.dtype)
    n_products = 0
    if isinstance(start, FitResult):
        dual, latent = start.dual, start.latent
    elif start is not None:
        expansion = problem.expand(start, close)
        curvature = expansion.curvature
        constant = curvature.matmul(start) - expansion.gradient
        system = make_system(curvature, np.arange(n_batch))
        accuracy = START_ACCURACY * np.maximum(max_norm(expansion.gradient), SMALLEST_SIZE)
        share = np.full(n_batch, LARGEST_SHARE) if rough else None
        direction, image, n_products = system.solve(constant, StoppingRule(accuracy, share), start)
        lengths = _line_search(problem, dual, latent, direction, image).astype(problem.dtype)
        dual, latent = lengths[:, None, None] * direction, lengths[:, None, None] * image
    infinite = np.full(n_batch, np.inf)
    fresh = np.full(n_batch, start is None)
    return _Run(
        problem=problem,
        dual=dual,
        latent=latent,
        outcomes=[None] * n_batch,
        norms=infinite,
        step_lengths=np.ones(n_batch),
        n_products=n_products,
        usual=usual_weights(problem.weights),
        sizes=np.ones(n_batch),
        refreshed_at=infinite.copy(),
        fresh=fresh,
        proven=fresh & (not proves),
        proves=proves,
        momentum=Momentum(n_batch),
        close=close,
        from_zero=start is None and problem.is_convex,
    )


def _expand(run: _Run, tolerance: float) -> Expansion | None:
    """Expand at the latents of the weightings still at work, after retiring those that are done."""
    while (members := run.members).size:
        part = run.problem.restrict(members)
        expansion = part.expand(take_members(run.latent, members), run.close)
        _measure(run, members, expansion.gradient)
        below = run.norms[members] <= tolerance
        # Rounding of the long first steps is removed before the last ones, not after them.
        settling = (run.norms[members] < REFRESH_BELOW) & np.isinf(run.refreshed_at[members])
        stalled = run.step_lengths[members] <= NO_STEP
        doubtful: Mask = ~run.fresh[members] & (below | stalled | (settling & run.problem.covariance.is_single))
        unproven: Mask = run.proves & below & ~run.proven[members]
        run.proven[members[unproven]] = True
        run.refreshed_at[members[unproven]] = np.inf  # from here on it is another matrix
        if (doubtful | unproven).any():
            _refresh(run, members[doubtful | unproven], tolerance)
            continue
        done = below | ~np.isfinite(run.norms[members])
        if not done.any():
            return expansion
        for member in members[done]:
            small = run.norms[member] <= tolerance
            run.outcomes[member] = Outcome.CONVERGED if small else Outcome.NOT_FINITE
    return None


def _refresh(run: _Run, members: Indices, tolerance: float) -> None:
    """Recompute latents from the dual, summed in float64; give up where that brings nothing."""
    part = run.problem.restrict(members)
    for proven in {bool(proven) for proven in run.proven[members]}:
        own = members[run.proven[members] == proven]
        product = part.covariance.accurate_matmul if proven else part.covariance.summed_matmul
        run.latent[own] = product(run.dual[own])
        run.n_products += 1
    run.fresh[members] = True
    _, gradient = part.likelihood.loss_and_gradient(run.latent[members], part.targets, part.weights)
    _measure(run, members, gradient)
    for member in members:
        if run.norms[member] > max(tolerance, 0.5 * run.refreshed_at[member]):
            stalled = run.step_lengths[member] <= NO_STEP
            run.outcomes[member] = Outcome.STALLED if stalled else Outcome.ROUNDING
    run.refreshed_at[members] = run.norms[members]


def _advance(run: _Run, expansion: Expansion, make_system: MakeSystem, tolerance: float, most: int) -> None:
    """One Newton step for every weighting still at work, its direction from so many products at most."""
    members = run.members
    part = run.problem.restrict(members)
    dual, latent, norms = take_members(run.dual, members), take_members(run.latent, members), run.norms[members]
    descent = -(dual + expansion.gradient)
    system = make_system(expansion.curvature, members)
    finest = FINEST_RESIDUAL * tolerance * run.sizes[members]
    share = LARGEST_SHARE * np.minimum(1.0, norms)
    direction, direction_image, n_products = system.solve(descent, StoppingRule(finest, share, most))
    run.n_products += n_products
    if not part.is_convex:
        direction, direction_image = run.momentum.add(members, direction, direction_image, descent)
    lengths = _line_search(part, dual, latent, direction, direction_image)
    # A step that moves no latent lies where the kernel is blind: taken whole, it ends there.
    unfelt = max_norm(direction_image) <= UNFELT * (1.0 + max_norm(latent))
    lengths = np.where(unfelt, 1.0, lengths)
    stuck = lengths <= NO_STEP
    if part.is_convex and stuck.any():
        # Where K~ direction is little but rounding, as for contradicting labels of equal points, so is the slope.
        halved = _norm_after(part, dual + direction, latent + direction_image, run.usual[members]) <= 0.5 * norms
        lengths = np.where(stuck & halved, 1.0, lengths)
    steps = lengths.astype(run.problem.dtype)[:, None, None]
    add(run.dual, members, np.multiply(steps, direction, out=direction))
    add(run.latent, members, np.multiply(steps, direction_image, out=direction_image))
    run.step_lengths[members] = lengths
    run.fresh[members] = False


def _norm_after(part: Problem, dual: Array, latent: Array, usual: Array) -> Array:
    """Norm of the gradient elsewhere, (B,), in its own units; not a number where it is not finite."""
    _, gradient = part.likelihood.loss_and_gradient(latent, part.targets, part.weights)
    return max_norm(gradient + dual) / residual_sizes(gradient, usual)


def slope_along(
    part: Problem, dual: Array, latent: Array, direction: Array, image: Array
) -> Callable[[Array], Slope]:
    """Derivatives of the penalised loss along (direction, K~ direction), O(n C) each and without a product."""
    linear, quadratic = inner_products(dual, image), inner_products(direction, image)

    def slope_at(lengths: Array) -> Slope:
        steps = lengths.astype(latent.dtype)[:, None, None]

        def slope_of(points: slice) -> tuple[Array, Array]:
            own = part.at(points)
            trial = latent[..., points] + steps * image[..., points]
            return own.likelihood.derivatives_along(trial, image[..., points], own.targets, own.weights)

        first, second = np.sum(for_each(slope_of, point_tiles(latent.shape)), axis=0)
        return Slope(first + linear + lengths * quadratic, second + quadratic)

    return slope_at


def _line_search(part: Problem, dual: Array, latent: Array, direction: Array, image: Array) -> Array:
    """Step lengths of Seeger (2008), sec. 5.1.2."""
    return convex_step_lengths(slope_along(part, dual, latent, direction, image), len(dual))
