"""Pairwise dual ascent, Memisevic (2006): kernel rows computed on demand, memory linear in n."""

from dataclasses import dataclass, replace

import numpy as np

from logikern.fitting.iteration import Budget, Iteration
from logikern.fitting.pairwise.extrapolation import extrapolate
from logikern.fitting.pairwise.joint_rows import JointRows, joint_rows
from logikern.fitting.pairwise.policy import POLICY, PairwisePolicy
from logikern.fitting.pairwise.state import DualState, at_dual, at_latent
from logikern.fitting.pairwise.sweeps import SweepState
from logikern.fitting.problem import Callback, FitResult, Problem, Solver, no_callback
from logikern.numerics.outcome import Array, Outcome


@dataclass(frozen=True)
class Smo(Solver):
    """Sweeps over the points in random order, two classes of a point at a time, until primal and dual agree.

    A step is one sweep. Blocks of points are solved among themselves; one product with the rows of the block updates
    all others. After each sweep, the dual is minimised over the span of the last sweeps. Points that contribute
    little to the gap are skipped, but their latents are kept up to date, so the gap always covers all points.

    Parameters
    ----------
    tolerance : float, default=1e-4
        For the largest absolute component of the gradient, in units of probability.
    gap : float, default=1e-6
        For the duality gap, in units of max(1, penalised loss).
    budget : Budget
        `budget.newton` counts sweeps, 1000 by default; `budget.products` counts kernel rows in units of n.
    memory : float, default=2e8
        Bytes for cached rows of the kernel matrix.
    shrinking : bool, default=True
        Whether points that contribute little to the gap are skipped.
    seed : int, default=0
        Seed of the order of the points.
    policy : PairwisePolicy
    """

    tolerance: float = 1e-4
    gap: float = 1e-6
    budget: Budget = Budget(newton=1000)
    memory: float = 2e8
    shrinking: bool = True
    seed: int = 0
    policy: PairwisePolicy = POLICY

    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        if start is None:
            return self.resume(problem, np.zeros(problem.shape), callback)
        _check_likelihood(problem)
        with np.errstate(all="ignore"):
            states = [at_latent(problem, member, own) for member, own in enumerate(start)]
        return self._ascend(problem, states, callback)

    def resume(self, problem: Problem, dual: Array, callback: Callback = no_callback) -> FitResult:
        """Continue from a dual (B, C, n), zero at new points: the online mode of the paper."""
        _check_likelihood(problem)
        states = [at_dual(problem, member, own) for member, own in enumerate(dual)]
        return self._ascend(problem, states, callback)

    def _ascend(self, problem: Problem, states: list[DualState], callback: Callback) -> FitResult:
        dual, latent = (np.stack(arrays) for arrays in zip(*((own.dual, own.latent) for own in states), strict=True))
        rows = joint_rows(problem.covariance, self.memory, self.policy.most_couplings)
        sweeps = [SweepState(own, problem.dtype, self.policy) for own in states]
        random = np.random.default_rng(self.seed)
        fixed = (problem, self.tolerance, self.budget)
        return _Iteration(*fixed, dual, latent, 0, self, rows, sweeps, random).run(callback)


def _check_likelihood(problem: Problem) -> None:
    if not problem.likelihood.has_entropy_dual:
        raise ValueError(
            "solver='smo' needs labels or distributions over the classes themselves, but the likelihood is "
            f"{type(problem.likelihood).__name__}. Use solver='newton'."
        )


@dataclass(eq=False)
class _Iteration(Iteration):
    """The state of one ascent."""

    solver: Smo
    rows: JointRows
    sweeps: list[SweepState]
    random: np.random.Generator
    n_rows: int = 0
    n_refreshes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for own, dual, latent in zip(self.sweeps, self.dual, self.latent, strict=True):
            own.state.dual, own.state.latent = dual, latent  # views

    def measure(self) -> None:
        if not self.trace:
            self._begin()
        for member in self.members:
            self._measure(member)
        self.loss = sum(own.loss for own in self.sweeps)

    def _begin(self) -> None:
        """Compute the latents of a nonzero dual, and shrink it: under another kernel it may be far from optimal."""
        for own in self.sweeps:
            state = own.state
            if state.dual.any():
                self._refresh(own)
                if extrapolate(state, -state.dual[None], -state.latent[None], self.solver.policy)[0] > 0:
                    state.renormalise()
                    own.fresh = False

    def settle(self) -> None:
        for member in self.members:
            if not self.sweeps[member].fresh:
                self._recompute(member)
                self._retire_if_small(member)
        self.loss = sum(own.loss for own in self.sweeps)

    def _measure(self, member: int) -> None:
        """A small gradient and gap count only at latents recomputed from the dual."""
        own = self.sweeps[member]
        own.measure()
        self.norms[member] = own.norm
        if self._is_small(own) and not own.fresh:
            self._recompute(member)
            self.judge_refresh(np.array([member]), self.norms)
        self._retire_if_small(member)

    def _recompute(self, member: int) -> None:
        own = self.sweeps[member]
        self._refresh(own)
        own.measure()
        self.norms[member] = own.norm

    def _retire_if_small(self, member: int) -> None:
        own = self.sweeps[member]
        if self._is_small(own) or not np.isfinite(own.norm):
            self.retire(np.array([member]), self.norms)

    def _is_small(self, own: SweepState) -> bool:
        return own.norm <= self.tolerance and own.gap <= self.solver.gap * max(1.0, own.loss)

    def _refresh(self, own: SweepState) -> None:
        """Recompute latents in float64 from the dual that would be returned now."""
        own.state.dual[:] = own.state.dual.astype(self.problem.dtype)
        own.state.latent[:] = self.problem.covariance.accurate_matmul(own.state.dual[None])[0]
        own.fresh = True
        self.n_refreshes += 1
        self._count_products()

    def _count_products(self) -> None:
        """Whole products, and rows in units of a whole matrix."""
        self.n_products = self.n_refreshes + -(-self.n_rows // self.problem.shape[2])

    def advance(self) -> None:
        for member in self.members:
            own = self.sweeps[member]
            points = own.active_points() if self.solver.shrinking else np.flatnonzero(own.state.weights > 0)
            own.sweep(self.rows, self.random.permutation(points))
            self.n_rows += len(points)
        self._count_products()

    def result(self, otherwise: Outcome) -> FitResult:
        result, dtype = super().result(otherwise), self.problem.dtype
        dual, latent = (array.astype(dtype, copy=False) for array in (result.dual, result.latent))
        return replace(result, dual=dual, latent=latent)
