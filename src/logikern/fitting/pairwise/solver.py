"""Pairwise ascent in the dual, Memisevic (2006): rows of the kernel matrix as they are needed, memory linear in n."""

import itertools
from dataclasses import dataclass, field

import numpy as np

from logikern.fitting.iteration import Budget, attach_result_on_interrupt
from logikern.fitting.pairwise.extrapolation import extrapolate
from logikern.fitting.pairwise.joint_rows import JointRows, joint_rows
from logikern.fitting.pairwise.state import DualState, at_dual, at_latent
from logikern.fitting.pairwise.sweeps import SweepState
from logikern.fitting.problem import Callback, FitResult, Problem, Solver, no_callback
from logikern.numerics.outcome import Array, NewtonStep, Outcome


@dataclass(frozen=True)
class Smo(Solver):
    """Sweeps over the points in random order, two classes of a point at a time, until primal and dual agree.

    A step is one sweep. Blocks of points are solved among themselves; the others are told by one product with the
    rows of the block; at the end the dual is minimised over the span of the last sweeps. Settled points are
    skipped, but their latents are kept up to date: nothing has to be undone when they move again, and the gap is
    always that of all points.

    Parameters
    ----------
    tolerance : float, default=1e-4
        For the largest absolute component of the gradient, in units of probability.
    gap : float, default=1e-6
        For the duality gap, in units of the penalised loss, or of one where that is smaller.
    budget : Budget
        Its Newton steps are sweeps, 1000 if nothing else is said; its products are n rows each.
    memory : float, default=2e8
        Bytes for rows of the kernel matrix that are kept.
    shrinking : bool, default=True
        Whether settled points are skipped.
    seed : int, default=0
        Of the order of the points.
    """

    tolerance: float = 1e-4
    gap: float = 1e-6
    budget: Budget = Budget(newton=1000)
    memory: float = 2e8
    shrinking: bool = True
    seed: int = 0

    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        _refuse_unlike_softmax(problem)
        nothing = np.zeros(problem.shape[1:])
        members = range(problem.shape[0])
        if start is None:
            return self._ascend_all(problem, [at_dual(problem, member, nothing) for member in members], callback)
        with np.errstate(all="ignore"):
            return self._ascend_all(
                problem, [at_latent(problem, member, start[member]) for member in members], callback
            )

    def resume(self, problem: Problem, dual: Array, callback: Callback = no_callback) -> FitResult:
        """Go on from a dual (B, C, n), zero at points that are new: the online mode of the paper."""
        _refuse_unlike_softmax(problem)
        states = [at_dual(problem, member, own) for member, own in enumerate(dual)]
        return self._ascend_all(problem, states, callback)

    def _ascend_all(self, problem: Problem, states: list[DualState], callback: Callback) -> FitResult:
        with np.errstate(all="ignore"):
            run = _Run(problem, joint_rows(problem.covariance, self.memory), [SweepState(state) for state in states])
            with attach_result_on_interrupt(run.result):
                _begin(run)
                return run.result(_ascend(run, self, callback))


def _refuse_unlike_softmax(problem: Problem) -> None:
    if not problem.likelihood.has_entropy_dual:
        raise ValueError(
            "Pairwise training needs labels or distributions over the classes themselves, but the likelihood is "
            f"{type(problem.likelihood).__name__}. Use solver='newton'."
        )


@dataclass(eq=False)
class _Run:
    """The moving state of one fit."""

    problem: Problem
    rows: JointRows
    weightings: list[SweepState]
    n_rows: int = 0
    n_whole: int = 0
    trace: list[NewtonStep] = field(default_factory=list)

    @property
    def n_products(self) -> int:
        """Whole products, and rows in units of a whole matrix."""
        return self.n_whole + -(-self.n_rows // self.problem.shape[2])

    @property
    def at_work(self) -> list[SweepState]:
        """Those that are still being fitted."""
        return [sweeps for sweeps in self.weightings if sweeps.outcome is None]

    def result(self, otherwise: Outcome) -> FitResult:
        """Where it stands, with this outcome for weightings that have none."""
        dtype = self.problem.dtype
        return FitResult(
            np.stack([sweeps.state.dual for sweeps in self.weightings]).astype(dtype, copy=False),
            np.stack([sweeps.state.latent for sweeps in self.weightings]).astype(dtype, copy=False),
            np.array([sweeps.norm for sweeps in self.weightings]),
            tuple(sweeps.outcome or otherwise for sweeps in self.weightings),
            tuple(self.trace),
            self.n_products,
        )

    def refresh(self, sweeps: SweepState) -> None:
        """Recompute latents from the dual, summed in float64."""
        sweeps.state.latent[:] = self.problem.covariance.accurate_matmul(sweeps.state.dual[None])[0]
        sweeps.fresh = True
        self.n_whole += 1


def _begin(run: _Run) -> None:
    """Give a dual that is not zero its latents, and shorten it: under another kernel it may lead far astray."""
    for sweeps in run.weightings:
        state = sweeps.state
        if state.dual.any():
            run.refresh(sweeps)
            if extrapolate(state, -state.dual[None], -state.latent[None])[0] > 0:
                state.settle()
                sweeps.fresh = False


def _ascend(run: _Run, how: Smo, callback: Callback) -> Outcome:
    """Sweep until all weightings are done; the outcome is of those that are not."""
    orders = np.random.default_rng(how.seed)
    for step in itertools.count():
        for sweeps in run.at_work:
            _look(run, sweeps, how)
        _note(run, step, callback)
        ended = how.budget.ending(step, run.n_products)
        if not run.at_work or ended:
            break
        for sweeps in run.at_work:
            points = sweeps.unsettled() if how.shrinking else np.flatnonzero(sweeps.state.weights > 0)
            sweeps.sweep(run.rows, orders.permutation(points))
            run.n_rows += len(points)
    return ended or Outcome.OUT_OF_STEPS


def _look(run: _Run, sweeps: SweepState, how: Smo) -> None:
    """Where gradient and gap are small, they are measured again at latents recomputed from the dual, and believed."""
    sweeps.measure()
    if _is_small(sweeps, how) and not sweeps.fresh:
        run.refresh(sweeps)
        sweeps.measure()
        if sweeps.norm > max(how.tolerance, 0.5 * sweeps.refreshed_at):
            sweeps.outcome = Outcome.ROUNDING
        sweeps.refreshed_at = sweeps.norm
    if not np.isfinite(sweeps.norm):
        sweeps.outcome = Outcome.NOT_FINITE
    elif _is_small(sweeps, how):
        sweeps.outcome = Outcome.CONVERGED


def _is_small(sweeps: SweepState, how: Smo) -> bool:
    return sweeps.norm <= how.tolerance and sweeps.gap <= how.gap * max(1.0, sweeps.loss)


def _note(run: _Run, step: int, callback: Callback) -> None:
    """Write the trace and tell the callback."""
    record = NewtonStep(
        step=step,
        loss=sum(sweeps.loss for sweeps in run.weightings),
        gradient_norm=max(sweeps.norm for sweeps in run.weightings),
        step_length=1.0,
        products=run.n_products,
    )
    run.trace.append(record)
    callback(record)
