"""The cross-validation likelihood and its exact gradient, Seeger (2008), sec. 4 and 5.2."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.criteria.base import Criterion, Evaluation, unusable
from logikern.criteria.folds import Folds
from logikern.fitting.descent import NewtonSolver
from logikern.fitting.problem import Problem, ignore
from logikern.fitting.systems import NewtonSystem
from logikern.likelihoods.base import Likelihood
from logikern.numerics.outcome import Array, Outcome
from logikern.structure.covariance import ClassCovariance

# The adjoint solve ends at this part of the tolerance of the fit: less would be lost in the error of its latents.
ADJOINT_ACCURACY = 1.0
# Solves for one adjoint where labels are coarse: each brings it nearer by the part that labels do tell.
MOST_COMPLETIONS = 60


@dataclass(frozen=True, eq=False)
class CrossValidation(Criterion):
    """Psi = sum_f sum_i held_out_fi loss(u_fi) / sum held_out, all folds in lock-step.

    With alpha_f the dual of fold f, q_f the gradient of its held-out loss and R_f its response,
    d alpha = -R dK alpha gives d Psi = sum_f alpha_f' dK (q_f - R_f K q_f): one more solve per fold
    and one contraction per kernel, however many hyperparameters there are (eq. 6).

    Parameters
    ----------
    likelihood : Likelihood
    targets : array of shape (C, n)
    folds : Folds
    solver : NewtonSolver
        Its tolerance is the loosest that is allowed.
    """

    likelihood: Likelihood
    targets: Array
    folds: Folds
    solver: NewtonSolver

    @property
    def loss_weights(self) -> Array:
        return self.folds.held_out[np.nonzero(self.folds.held_out)]

    def evaluate(self, covariance: ClassCovariance, start: Array | None, tolerance: float) -> Evaluation:
        problem = Problem(covariance, self.likelihood, self.targets, self.folds.kept)
        tolerance = min(tolerance, self.solver.tolerance)
        fit = self.solver.run(problem, start, ignore, tolerance)
        result, covariance = fit.result, fit.covariance
        if not result.outcome.converged:
            return unusable(result.outcome, result.n_products)
        losses = self.likelihood.losses(result.latent, self.targets)  # (F, n)
        total = float(self.folds.held_out.sum())
        curvature = self.likelihood.expand(result.latent, self.targets, self.folds.kept).curvature
        pull = self.likelihood.expand(result.latent, self.targets, self.folds.held_out).gradient  # q, (F, C, n)
        system = fit.make_system(curvature, np.arange(len(losses)))
        adjoint = self._adjoint(system, covariance, result.latent, pull, ADJOINT_ACCURACY * tolerance)
        n_products = result.n_products + adjoint.n_products
        if not adjoint.settled:
            # A right value with a wrong gradient would mislead the search more than none.
            return unusable(Outcome.OUT_OF_PRODUCTS, n_products)
        gradient = covariance.contract_gradient(result.dual, adjoint.value)
        return Evaluation(
            value=float(np.einsum("fn,fn->", self.folds.held_out, losses) / total),
            gradient=gradient.scaled(1.0 / total),
            losses=losses[np.nonzero(self.folds.held_out)],
            state=result.latent,
            outcome=result.outcome,
            n_products=n_products,
        )

    def _adjoint(
        self, system: NewtonSystem, covariance: ClassCovariance, latent: Array, pull: Array, tolerance: float
    ) -> "_Adjoint":
        """(I + W_true K~)^-1 q; where the majoriser's W is larger than the true one, by repeated solves with it."""
        accuracy, budget = np.full(len(pull), tolerance), self.solver.budget.direction
        right_side, n_products = pull, 0
        value: Array | None = None
        for _ in range(MOST_COMPLETIONS):
            image = covariance.matmul(right_side)
            response = system.response(image, accuracy)
            n_products += response.n_products + 1
            if response.n_products >= budget:
                break
            previous, value = value, right_side - response.value
            more = self.likelihood.missing(latent, self.targets, self.folds.kept, image - response.image)
            if more is None or (previous is not None and np.abs(value - previous).max() <= tolerance):
                return _Adjoint(value, n_products, True)
            right_side = pull + more
        return _Adjoint(pull, n_products, False)


class _Adjoint(NamedTuple):
    value: Array
    n_products: int
    settled: bool
