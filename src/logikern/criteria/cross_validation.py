"""The cross-validation likelihood and its exact gradient, Seeger (2008), sec. 4 and 5.2."""

from dataclasses import dataclass, replace

import numpy as np

from logikern.criteria.adjoint import AdjointSystem
from logikern.criteria.base import Criterion, Evaluation, unusable
from logikern.criteria.folds import Folds
from logikern.criteria.temperature import TemperatureScaling
from logikern.fitting.newton.method import Fit, NewtonSolver
from logikern.fitting.problem import Problem, no_callback
from logikern.likelihoods.base import Likelihood
from logikern.numerics.conjugate_gradient import inner_products
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True)
class PrecisionCheck:
    """When a fit in single precision is repeated in double precision."""

    latent_accuracy: float = 1e-3  # largest error of a latent: held-out losses change by no more than this
    n_points: int = 32  # points at which the error is measured

    def is_passed(self, fit: Fit) -> bool:
        """Whether latents at a sample of the points agree with kernel values in double precision."""
        if not fit.covariance.is_single:
            return True
        n = fit.covariance.n_points
        sample = np.linspace(0, n - 1, min(n, self.n_points)).astype(np.intp)
        errors = fit.result.latent[..., sample] - fit.covariance.accurate_columns(fit.result.dual, sample)
        return bool(np.abs(errors).max() <= self.latent_accuracy)


@dataclass(frozen=True, eq=False)
class CrossValidation(Criterion):
    """Psi = sum_f sum_i held_out_fi loss(u_fi) / sum held_out, all folds in lock-step.

    With alpha_f the dual of fold f, q_f the gradient of its held-out loss and R_f its response, d alpha = -R dK alpha
    gives d Psi = sum_f alpha_f' dK (q_f - R_f K q_f) (eq. 6). Its cost is one more solve per fold and one
    contraction per kernel, for any number of hyperparameters.

    Parameters
    ----------
    likelihood : Likelihood
    targets : array of shape (C, n)
    folds : Folds
    solver : NewtonSolver
        Its tolerance is an upper bound for the tolerance of an evaluation.
    sharpen : bool, default=False
        Whether losses are taken at the best temperature of the held-out latents.
    precision_check : PrecisionCheck
    """

    likelihood: Likelihood
    targets: Array
    folds: Folds
    solver: NewtonSolver
    sharpen: bool = False
    precision_check: PrecisionCheck = PrecisionCheck()

    @property
    def loss_weights(self) -> Array:
        return self.folds.held_out[np.nonzero(self.folds.held_out)]

    @property
    def loss_points(self) -> Indices:
        return np.nonzero(self.folds.held_out)[1]

    @property
    def partition(self) -> Folds:
        return self.folds

    def evaluate(self, covariance: ClassCovariance, start: Array | None, tolerance: float) -> Evaluation:
        problem = Problem(covariance, self.likelihood, self.targets, self.folds.kept)
        tolerance = min(tolerance, self.solver.tolerance)
        start = None if start is None else np.broadcast_to(start, problem.shape)
        fit = self.solver.run(problem, start, no_callback, tolerance)
        if fit.result.outcome.converged and not self.precision_check.is_passed(fit):
            double = replace(problem, covariance=covariance.in_double())
            refined = self.solver.run(double, fit.result.latent, no_callback, tolerance)
            fit = replace(refined, result=refined.result.after(fit.result))
        result, covariance = fit.result, fit.covariance
        if not result.outcome.converged:
            return unusable(result.outcome, result.n_products)
        fold, point = np.nonzero(self.folds.held_out)
        # The temperature's prior counts as one case, so weights must sum to the number of cases.
        weights = self.loss_weights * (self.n_cases / self.loss_weights.sum())
        scaling = TemperatureScaling(self.likelihood, self.sharpen)
        scored = scaling.score(result.latent[fold, :, point].T, self.targets[:, point], weights)
        pull = np.zeros_like(result.latent)  # q, (F, C, n)
        pull[fold, :, point] = scored.gradient.T
        curvature = problem.expand(result.latent, self.solver.merges_classes).curvature
        system = fit.make_system(curvature, np.arange(len(pull)))
        problem = replace(problem, covariance=covariance)
        budget = self.solver.budget.direction
        adjoint = AdjointSystem(problem, result.latent, curvature, system, tolerance, budget).solve(pull)
        n_products = result.n_products + adjoint.n_products
        if not adjoint.settled:
            # A correct value with a wrong gradient would mislead the search.
            return unusable(Outcome.OUT_OF_PRODUCTS, n_products)
        gradient = covariance.contract_gradient(result.dual, adjoint.value)
        # The fits are rough: with rho the residual of their duals and e the adjoint, the criterion of exact fits is
        # lower by <rho, K~ e>, up to terms of second order in rho.
        residual = problem.gradient(result.dual, result.latent)
        correction = float(inner_products(residual, adjoint.image).sum()) / float(weights.sum())
        return Evaluation(
            value=float(np.average(scored.losses, weights=weights)) - correction,
            gradient=gradient.scaled(1.0 / float(weights.sum())),
            losses=scored.losses,
            state=result.latent,
            outcome=result.outcome,
            n_products=n_products,
            temperature=scored.temperature,
            dual=result.dual.mean(axis=0),
        )
