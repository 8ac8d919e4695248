"""Fits with a constant of infinite prior variance for every class: the unpenalised bias of Cawley & Talbot (2008)."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from logikern.fitting.iteration import Budget
from logikern.fitting.newton.dense import DenseSystems, dense_blocks
from logikern.fitting.newton.systems import StoppingRule
from logikern.fitting.problem import Callback, FitResult, Problem, Solver, max_norm, no_callback
from logikern.fitting.units import residual_sizes, usual_weights
from logikern.numerics.line_search import convex_step_lengths
from logikern.numerics.outcome import Array, NewtonStep, Outcome
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True)
class FreeBias(Solver):
    """Newton steps in dual and bias: alpha = T c - R E b with E' alpha = 0, T c = c - R K~ c and c = W u - g.

    K~ is the covariance without its bias, E the constants of all classes. Latents are u = K~ alpha + E b.
    In the binary case these are the reweighted least squares of Cawley & Talbot (2008), eq. (14) to (17).

    Parameters
    ----------
    tolerance : float, default=1e-8
        For the largest absolute component of the gradient, in units of the weights.
    budget : Budget
    relative_tolerance : float, default=1e-4
        The same in units of the largest residual of the targets (`fitting/units.py`).
    visible : float, default=1e-10
        Constants whose effect on the duals is below this fraction of the largest effect are ignored: the likelihood
        does not depend on them.
    """

    tolerance: float = 1e-8
    budget: Budget = Budget()
    relative_tolerance: float = 1e-4
    visible: float = 1e-10

    def fit(self, problem: Problem, start: Array | None = None, callback: Callback = no_callback) -> FitResult:
        systems = DenseSystems(dense_blocks(problem.covariance))
        parts = []
        for member in range(problem.shape[0]):
            own = None if start is None else start[[member]]
            parts.append(self._fit_one(problem.restrict(np.array([member])), systems, own, callback))
        return FitResult(
            np.concatenate([part.dual for part in parts]),
            np.concatenate([part.latent for part in parts]),
            np.concatenate([part.gradient_norm for part in parts]),
            tuple(part.outcome for part in parts),
            tuple(step for part in parts for step in part.trace),
            sum(part.n_products for part in parts),
        )

    def _fit_one(self, problem: Problem, systems: DenseSystems, start: Array | None, callback: Callback) -> FitResult:
        dual, latent = np.zeros(problem.shape), np.zeros(problem.shape)
        at = latent if start is None else start
        trace: list[NewtonStep] = []
        outcome, length = Outcome.OUT_OF_STEPS, np.ones(1)
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(self.budget.newton + 1):
                new_dual, new_latent = self._newton_step(problem, systems, at)
                if not np.isfinite(new_latent).all():
                    outcome = Outcome.NOT_FINITE
                    break
                length = _step_length(problem, (dual, latent), (new_dual - dual, new_latent - latent))
                dual, latent = dual + length * (new_dual - dual), latent + length * (new_latent - latent)
                at = latent
                loss, norm, by_weight = _measure(problem, dual, latent)
                trace.append(NewtonStep(step, float(loss[0]), float(norm[0]), float(length[0]), 2 * step))
                callback(trace[-1])
                if by_weight[0] <= self.tolerance and norm[0] <= min(self.relative_tolerance, self.tolerance):
                    outcome = Outcome.CONVERGED
                    break
        norm = _measure(problem, dual, latent).norm
        return FitResult(dual, latent, norm, (outcome,), tuple(trace), 2 * len(trace))

    def _newton_step(self, problem: Problem, systems: DenseSystems, latent: Array) -> tuple[Array, Array]:
        """Optimal dual and latents, (1, C, n), for the expansion at given latents."""
        expansion = problem.likelihood.expand(latent, problem.targets, problem.weights)
        curvature = expansion.curvature
        blocks, system, rough = systems.blocks, systems(curvature, np.arange(1)), np.ones(1)
        constant = curvature.matmul(latent) - expansion.gradient
        dual = system.solve(constant, StoppingRule(rough)).value
        ones = np.eye(len(blocks))[:, None, :, None] * np.ones(problem.shape[2])  # (C, 1, C, n)
        pulls = np.concatenate([system.response(one, rough).value for one in ones])  # R E
        bias = np.linalg.pinv(pulls.sum(axis=2), rcond=self.visible, hermitian=True) @ dual[0].sum(axis=1)
        dual -= np.einsum("e,ecn->cn", bias, pulls)
        return dual, system.image(dual) + bias[:, None]


def free_constants(covariance: ClassCovariance, result: FitResult) -> Array:
    """The constants b of a fit, (C,): its latents minus K~ alpha."""
    without = replace(covariance, bias_variance=0.0).accurate_matmul(result.dual)
    return np.asarray((result.latent - without)[0].mean(axis=-1))


def _step_length(problem: Problem, at: tuple[Array, Array], step: tuple[Array, Array]) -> Array:
    """Step length along duals that sum to zero, so the bias is not penalised; (1,)."""
    (dual, latent), (direction, image) = at, step
    length = convex_step_lengths(problem.slope_along(dual, latent, direction, image), 1)
    if length[0] > 0:
        return length
    # If zero latents are optimal, as for contradicting labels of equal points, only the dual has to move.
    whole = _measure(problem, dual + direction, latent + image).norm <= 0.5 * _measure(problem, dual, latent).norm
    return np.where(whole, 1.0, length)


class _Measured(NamedTuple):
    """Penalised loss, and norms of the gradient in the units of `FitResult` and of the weights; (1,) each."""

    loss: Array
    norm: Array
    by_weight: Array


def _measure(problem: Problem, dual: Array, latent: Array) -> _Measured:
    loss, gradient = problem.likelihood.loss_and_gradient(latent, problem.targets, problem.weights)
    usual, largest = usual_weights(problem.weights), max_norm(gradient + dual)
    sizes = residual_sizes(max_norm(gradient), usual, gradient.dtype)
    return _Measured(loss + 0.5 * np.vdot(dual, latent), largest / sizes, largest / usual)
