"""The log loss of held-out sequences and its exact gradient in the hyperparameters."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Outcome
from logikern.sequences.likelihood import ChainLikelihood, FieldCovariance
from logikern.sequences.newton import POLICY, ChainPolicy, NewtonSystem, fit_chains
from logikern.structure.covariance import CovarianceGradient


class HeldOutEvaluation(NamedTuple):
    """A criterion at one setting of the hyperparameters, with its gradient in their logarithms."""

    value: float
    gradient: CovarianceGradient  # for each operator and latent function
    transition_gradient: float
    latents: tuple[Array, ...]  # of each fold: warm starts
    outcome: Outcome
    n_products: int

    @property
    def usable(self) -> bool:
        """Whether all fits converged; otherwise there is no gradient."""
        return self.outcome.converged and bool(np.isfinite(self.value))


class _FoldResult(NamedTuple):
    """The held-out loss of one fold, corrected, and what its gradient needs."""

    loss: float
    dual: Array
    adjoint: Array
    latent: Array
    outcome: Outcome
    n_products: int


@dataclass(frozen=True, eq=False)
class HeldOutChains:
    """Psi = sum_f (loss of the chains that fold f holds out) / number of their places.

    With alpha the dual field of a fold, q the gradient of its held-out loss and W the curvature of its own loss,
    e = (I + W K)^-1 q gives d Psi = sum_f alpha_f' dK e_f, as for single points (Seeger 2008, eq. 6). The fits are
    rough; with rho their functional gradient, - rho' K e corrects the value up to terms of second order in rho.

    Parameters
    ----------
    likelihood : ChainLikelihood
    held_out : boolean array of shape (F, S)
        Which chains each fold holds out.
    tolerance : float, default=0.01
        Tolerance of the fits.
    max_steps : int, default=60
        Newton steps of a fit.
    policy : ChainPolicy
    """

    likelihood: ChainLikelihood
    held_out: Array
    tolerance: float = 0.01
    max_steps: int = 60
    policy: ChainPolicy = POLICY

    def evaluate(self, covariance: FieldCovariance, starts: tuple[Array, ...] | None = None) -> HeldOutEvaluation:
        """Value and gradient; `starts` are latents of an earlier evaluation."""
        warm = starts or (None,) * len(self.held_out)
        folds = [self._fit(covariance, held, start) for held, start in zip(self.held_out, warm, strict=True)]
        n_products = sum(fold.n_products for fold in folds)
        outcome = next((fold.outcome for fold in folds if not fold.outcome.converged), Outcome.CONVERGED)
        if not outcome.converged:
            nothing = CovarianceGradient((), np.zeros(0), 0.0)
            return HeldOutEvaluation(np.inf, nothing, 0.0, (), outcome, n_products)
        n_places = float(self.held_out.sum(axis=0) @ np.diff(self.likelihood.chains.offsets))
        duals, adjoints = np.stack([fold.dual for fold in folds]), np.stack([fold.adjoint for fold in folds])
        places, transition = covariance.contract_gradient(duals, adjoints)
        value = sum(fold.loss for fold in folds) / n_places
        latents = tuple(fold.latent for fold in folds)
        found = (value, places.scaled(1.0 / n_places), transition / n_places, latents)
        return HeldOutEvaluation(*found, outcome, n_products)

    def _fit(self, covariance: FieldCovariance, held_out: Array, start: Array | None) -> _FoldResult:
        kept = self.likelihood.weighted(self.likelihood.weights * ~held_out)
        judged = self.likelihood.weighted(self.likelihood.weights * held_out)
        fit = fit_chains(kept, covariance, self.tolerance, self.max_steps, start, policy=self.policy)
        system = NewtonSystem(kept, covariance, fit.posterior)
        adjoint = system.respond(judged.gradient(fit.posterior), self.policy.adjoint_residual, self.policy)
        rough = fit.dual + kept.gradient(fit.posterior)
        loss = judged.loss(fit.posterior, fit.latent) - float(np.vdot(rough, adjoint.image))
        outcome = fit.outcome if adjoint.converged else Outcome.OUT_OF_PRODUCTS
        return _FoldResult(
            loss, fit.dual, adjoint.value, fit.latent, outcome, fit.n_products + adjoint.n_products
        )
