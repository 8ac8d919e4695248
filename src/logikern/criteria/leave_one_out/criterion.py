"""Approximate leave-one-out from one fit, with its exact gradient: Cawley & Talbot (2008) for any likelihood."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.criteria.base import Criterion, Evaluation, unusable
from logikern.criteria.leave_one_out.cavity import Cavity
from logikern.criteria.leave_one_out.expansion import ExactExpansion, FittedExpansion, LowRankExpansion
from logikern.criteria.leave_one_out.groups import partition
from logikern.criteria.leave_one_out.low_rank_posterior import LowRankPosterior
from logikern.criteria.leave_one_out.low_rank_system import LowRankSystems, Woodbury
from logikern.criteria.leave_one_out.spot_check import Refitting, SpotCheck, spot_check
from logikern.criteria.temperature import ScaledLosses, TemperatureScaling
from logikern.fitting.newton.contrasts import contrast_of
from logikern.fitting.newton.dense import systems_of
from logikern.fitting.newton.descent import Descent
from logikern.fitting.newton.free_bias import FreeBias
from logikern.fitting.newton.method import Fit, NewtonSolver
from logikern.fitting.problem import FitResult, Problem, no_callback
from logikern.likelihoods.base import Likelihood
from logikern.likelihoods.curvature import as_pointwise
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.operators.landmarks import enough_landmarks, landmarked, random_landmarks
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True)
class LeaveOneOutPolicy:
    """When and how landmarks replace dense factors."""

    # Prior variance that a latent value may lose. Landmarks are chosen again for every setting. If they lose at most
    # this, they replace the kernel matrix in the fit as well. Zero computes everything exactly; classes that a
    # hierarchy couples are always exact. On the Raetsch sets, at variances and rates around the best, values change
    # by at most 4e-4 and gradients by at most 2e-3; at the best, by 6e-5 and 2e-4.
    missed: float = 0.001
    # With fewer points, dense factors are used. They take 2 ms instead of 3 ms for two classes, and 9 ms instead of 5
    # ms for six. Errors of landmarks add up over the points if the kernel has few coordinates, as a linear kernel
    # does.
    fewest_points: int = 100
    # Landmarks per point, times the root of the number of classes. Above this, dense factors are equally fast.
    largest_share: float = 0.35
    tile_entries: int = 2**20  # entries of the factor G of Q = D E + G G' that are computed at a time, 8 MB


DEFAULT_POLICY = LeaveOneOutPolicy()


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Criterion):
    """Psi = sum_i w_i loss(z_i) / sum w, z_i the latents of point i after one Newton step without it.

    With Q = (K~^-1 + W)^-1 and J_i = (I - W_i Q_ii)^-1, z_i = u_i - Q_ii J_i alpha_i. Let l_i be the gradient of
    the loss at z_i, a_i = J_i alpha_i, b_i = J_i l_i and T = I - W Q. Then
    d Psi = alpha' dK T h - sum_i (T b_i)' dK (T a_i), where h = b + d/du of sum_i b_i' (Q W Q)_ii a_i at fixed Q,
    without each point's own W: the path through the fitted latents, which Cawley & Talbot leave out.
    A group of points is left out like one point with more functions.

    Parameters
    ----------
    likelihood : Likelihood
    targets : array of shape (C, n)
    weights : array of shape (n,)
    solver : NewtonSolver
        Its tolerance is an upper bound for the tolerance of an evaluation.
    groups : array of shape (n,) or None, default=None
        Points with equal labels are left out together; None leaves out one point at a time.
    landmarks : tuple of integer arrays, one per operator, or None, default=None
        Points whose kernel rows approximate Q in O(n (C r)^2), if O(C n^3) is too much; the fit still uses the whole
        kernel matrix. Landmarks need a finite bias variance. None follows `policy.missed`.
    sharpen : bool, default=False
        Whether losses are taken at the best temperature of the latents of points left out.
    policy : LeaveOneOutPolicy
    """

    likelihood: Likelihood
    targets: Array
    weights: Array
    solver: NewtonSolver
    groups: Array | None = None
    landmarks: tuple[Indices, ...] | None = None
    sharpen: bool = False
    policy: LeaveOneOutPolicy = DEFAULT_POLICY

    @property
    def loss_weights(self) -> Array:
        return self.weights[self.weights > 0]

    @property
    def loss_points(self) -> Indices:
        return np.flatnonzero(self.weights > 0)

    @property
    def partition(self) -> Array | None:
        return self.groups

    def _problem(self, covariance: ClassCovariance) -> Problem:
        return Problem(covariance, self.likelihood, self.targets, self.weights[None])

    def evaluate(self, covariance: ClassCovariance, start: Array | None, tolerance: float) -> Evaluation:
        tolerance = min(tolerance, self.solver.tolerance)
        result, expand = self._fit(self._problem(covariance), start, tolerance)
        if not result.outcome.converged:
            return unusable(result.outcome, result.n_products)
        try:
            expansion = expand()
            scored = self._score(expansion.leave_out())
            gradient = expansion.gradient(scored.gradient / self.weights.sum())
        except np.linalg.LinAlgError:
            return unusable(Outcome.INDEFINITE, result.n_products)
        return Evaluation(
            value=float(np.average(scored.losses, weights=self.weights)),
            gradient=gradient,
            losses=scored.losses[self.weights > 0],
            state=result.latent,
            outcome=result.outcome,
            n_products=result.n_products + 1,
            method=expansion.method,
            temperature=scored.temperature,
            dual=result.dual[0],
        )

    def check(self, covariance: ClassCovariance, refitting: Refitting, seed: int) -> SpotCheck | None:
        """Compare with refits without some points; None if there is nothing to check."""
        problem = self._problem(covariance)
        result, expand = self._fit(problem, None, self.solver.tolerance)
        if self.likelihood.is_quadratic or not result.outcome.converged:
            return None
        try:
            left_out = expand().leave_out()
        except np.linalg.LinAlgError:
            return None
        return spot_check(
            problem, result.latent, left_out, refitting, seed, self.groups, self._score(left_out).temperature
        )

    def _score(self, left_out: Array) -> ScaledLosses:
        return TemperatureScaling(self.likelihood, self.sharpen).score(left_out, self.targets, self.weights)

    def _fit(
        self, problem: Problem, start: Array | None, tolerance: float
    ) -> tuple[FitResult, Callable[[], FittedExpansion]]:
        """A fit to all points, and a function that expands it."""
        covariance = problem.covariance
        if np.isinf(covariance.bias_variance):
            result = FreeBias(tolerance, self.solver.budget).fit(problem, start)
            return result, lambda: ExactExpansion(problem, result, self.groups)
        if self.landmarks is not None:
            fit = self.solver.run(problem, start, no_callback, tolerance)
            systems = LowRankSystems(with_landmarks(covariance, self.landmarks))
            return fit.result, lambda: LowRankExpansion(problem, fit, systems, tolerance, self.groups)
        smooth = find_landmarks(covariance, self.policy)
        if smooth is None:
            fit = self.solver.run(problem, start, no_callback, tolerance)
            return fit.result, lambda: ExactExpansion(problem, fit.result, self.groups, systems_of(fit))
        systems = LowRankSystems(with_landmarks(covariance, smooth))
        approximate = replace(problem, covariance=systems.covariance)
        found = Descent(systems, tolerance, self.solver.budget).run(approximate, start, no_callback)
        small = Fit(found, systems.covariance, systems)
        return found, lambda: LowRankExpansion(approximate, small, systems, tolerance, self.groups)


def leave_out_by_landmarks(
    problem: Problem, result: FitResult, rank: int, seed: int = 0, policy: LeaveOneOutPolicy = DEFAULT_POLICY
) -> Array:
    """Latents (C, n) of every point, predicted without it, after a fit that is too large for dense factors.

    A point needs only its own block of Q, so blocks are computed for some points at a time.
    """
    systems = LowRankSystems(with_landmarks(problem.covariance, choose_landmarks(problem.covariance, rank, seed)))
    expansion = problem.likelihood.expand(result.latent, problem.targets, problem.weights)
    curvature = as_pointwise(expansion.curvature)
    contrast = contrast_of(curvature)
    model, seen, dual = systems.seen(contrast), contrast.curvature(curvature), contrast.reduce(result.dual[0])
    woodbury, moved = Woodbury(model, seen, 0), np.empty_like(dual)
    width = max(1, policy.tile_entries // (len(dual) * len(woodbury.lower)))
    for start in range(0, problem.shape[2], width):
        points = slice(start, min(start + width, problem.shape[2]))
        own, alone = seen.at(points), partition(None, points.stop - points.start)
        cavity = Cavity(LowRankPosterior(model.at(points), own, alone, woodbury.at(points)).batches, own)
        moved[:, points] = cavity.covary(cavity.amplify(dual[:, points]))
    return result.latent[0] - contrast.lift(moved)


def choose_landmarks(covariance: ClassCovariance, rank: int, seed: int = 0) -> tuple[Indices, ...]:
    """At most `rank` points for each operator, chosen at these hyperparameters and kept for others.

    Fixed landmarks make the criterion a smooth function of the hyperparameters.
    """
    return tuple(random_landmarks(operator, rank, seed) for operator in covariance.operators)


def find_landmarks(covariance: ClassCovariance, policy: LeaveOneOutPolicy) -> tuple[Indices, ...] | None:
    """Landmarks of each operator; None if dense factors are better or needed.

    The residual diagonal of each operator, times its largest variance, is at most `policy.missed`.
    """
    if not policy.missed or covariance.mixing.is_coupled or covariance.n_points < policy.fewest_points:
        return None
    largest = int(policy.largest_share * covariance.n_points / np.sqrt(covariance.n_classes))
    everything: Any = slice(None)
    found = []
    for index, operator in enumerate(covariance.operators):
        variance = covariance.variances[covariance.assignment == index].max()
        matrix = np.asarray(operator.rows(everything), dtype=float)
        landmarks = enough_landmarks(matrix, policy.missed / variance, largest)
        if landmarks is None:
            return None
        found.append(landmarks)
    return tuple(found)


def with_landmarks(covariance: ClassCovariance, landmarks: tuple[Indices, ...]) -> ClassCovariance:
    """The same covariance with kernel matrices approximated by landmarks."""
    if covariance.mixing.is_coupled:
        raise ValueError(
            "For many rows, leave-one-out uses landmarks, which do not support hierarchies. "
            "Fit to fewer rows, or use cross-validation."
        )
    pairs = zip(covariance.operators, landmarks, strict=True)
    return replace(covariance, operators=tuple(landmarked(operator, own) for operator, own in pairs))
