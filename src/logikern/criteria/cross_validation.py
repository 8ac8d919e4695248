"""The cross-validation likelihood and its exact gradient, Seeger (2008), sec. 4 and 5.2."""

from dataclasses import dataclass, replace

import numpy as np

from logikern.criteria.adjoint import Adjoint, AdjointSystem
from logikern.criteria.base import Criterion, Evaluation, unusable
from logikern.criteria.folds import Folds
from logikern.criteria.temperature import TemperatureScaling
from logikern.fitting.newton.method import Fit, NewtonSolver
from logikern.fitting.problem import Problem, no_callback
from logikern.likelihoods.base import Likelihood
from logikern.numerics.conjugate_gradient import inner_products
from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.numerics.parallel import even_slices, for_each
from logikern.structure.covariance import ClassCovariance

# Classes times points from which threads share folds. With less work, threads wait for the interpreter's lock.
THREADED_ENTRIES = 20_000


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
        groups = [_Group(self, problem.restrict(own), own, tolerance) for own in _shares(problem.shape)]
        warm = None if start is None else np.broadcast_to(start, problem.shape)
        fits = for_each(lambda group: group.fit(warm), groups)
        n_products = _mean_products([fit.result.n_products for fit in fits], groups)
        failed = next((fit.result.outcome for fit in fits if not fit.result.outcome.converged), None)
        if failed is not None:
            return unusable(failed, n_products)
        latent = np.concatenate([fit.result.latent for fit in fits])
        dual = np.concatenate([fit.result.dual for fit in fits])
        fold, point = np.nonzero(self.folds.held_out)
        # The temperature's prior counts as one case, so weights must sum to the number of cases.
        weights = self.loss_weights * (self.n_cases / self.loss_weights.sum())
        scaling = TemperatureScaling(self.likelihood, self.sharpen)
        scored = scaling.score(latent[fold, :, point].T, self.targets[:, point], weights)
        pull = np.zeros_like(latent)  # q, (F, C, n)
        pull[fold, :, point] = scored.gradient.T
        adjoints = for_each(lambda pair: pair[0].adjoint(pair[1], pull), list(zip(groups, fits, strict=True)))
        n_products += _mean_products([adjoint.n_products for adjoint in adjoints], groups)
        if not all(adjoint.settled for adjoint in adjoints):
            # A correct value with a wrong gradient would mislead the search.
            return unusable(Outcome.OUT_OF_PRODUCTS, n_products)
        if not all(fit.covariance.is_single for fit in fits):
            covariance = covariance.in_double()
        gradient = covariance.contract_gradient(dual, np.concatenate([adjoint.value for adjoint in adjoints]))
        # The fits are rough: with rho the residual of their duals and e the adjoint, the criterion of exact fits is
        # lower by <rho, K~ e>, up to terms of second order in rho.
        residual = problem.gradient(dual, latent)
        image = np.concatenate([adjoint.image for adjoint in adjoints])
        correction = float(inner_products(residual, image).sum()) / float(weights.sum())
        return Evaluation(
            value=float(np.average(scored.losses, weights=weights)) - correction,
            gradient=gradient.scaled(1.0 / float(weights.sum())),
            losses=scored.losses,
            state=latent,
            outcome=fits[0].result.outcome,
            n_products=n_products,
            temperature=scored.temperature,
            dual=dual.mean(axis=0),
        )


@dataclass(frozen=True, eq=False)
class _Group:
    """Folds that are fitted in lock-step."""

    criterion: CrossValidation
    problem: Problem
    folds: Indices  # their numbers
    tolerance: float

    def fit(self, start: Array | None) -> Fit:
        """Fit these folds, from the latents of all folds (F, C, n), in a precision that suffices."""
        solver, own = self.criterion.solver, None if start is None else start[self.folds]
        fit = solver.run(self.problem, own, no_callback, self.tolerance)
        if not fit.result.outcome.converged or self.criterion.precision_check.is_passed(fit):
            return fit
        double = replace(self.problem, covariance=self.problem.covariance.in_double())
        refined = solver.run(double, fit.result.latent, no_callback, self.tolerance)
        return replace(refined, result=refined.result.after(fit.result))

    def adjoint(self, fit: Fit, pull: Array) -> Adjoint:
        """The adjoint of these folds, from the pull on the latents of all folds (F, C, n)."""
        solver, latent, own = self.criterion.solver, fit.result.latent, pull[self.folds]
        curvature = self.problem.expand(latent, solver.merges_classes).curvature
        system = fit.make_system(curvature, np.arange(len(own)))
        problem = replace(self.problem, covariance=fit.covariance)
        return AdjointSystem(problem, latent, curvature, system, self.tolerance, solver.budget.direction).solve(own)


def _shares(shape: tuple[int, int, int]) -> list[Indices]:
    """Divide large folds among threads; keep small folds together, so that threads share each product."""
    n_folds, n_classes, n_points = shape
    if n_classes * n_points < THREADED_ENTRIES:
        return [np.arange(n_folds)]
    return [np.arange(own.start, own.stop) for own in even_slices(n_folds)]


def _mean_products(counts: list[int], groups: list[_Group]) -> int:
    """Products of all folds, from the products of each group."""
    return round(float(np.average(counts, weights=[len(group.folds) for group in groups])))
