"""The log loss of held-out sequences and its exact gradient in the hyperparameters."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Indices, Outcome
from logikern.sequences.chains import Chains
from logikern.sequences.likelihood import ChainLikelihood, FieldCovariance, FieldGradient, count_transitions
from logikern.sequences.newton import POLICY, ChainPolicy, NewtonSystem, fit_chains
from logikern.structure.covariance import CovarianceGradient


class HeldOutEvaluation(NamedTuple):
    """A criterion at one setting of the hyperparameters, with its gradient in their logarithms."""

    value: float
    gradient: FieldGradient  # of the covariance
    count_gradient: float  # in the logarithm of the pseudocount
    piecewise_gradient: float  # in the logarithm of the weight of positions
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
    count_slope: float
    piecewise_slope: float
    latent: Array
    outcome: Outcome
    n_products: int


@dataclass(frozen=True, eq=False)
class HeldOutChains:
    """Psi = sum_f (loss of the chains that fold f holds out) / number of their positions, both weighted.

    With alpha the dual field of a fold, q the gradient of its held-out loss and W the curvature of its own loss,
    e = (I + W K)^-1 q gives d Psi = sum_f alpha_f' dK e_f, as for single points (Seeger 2008, eq. 6). The fits are
    rough; with rho their functional gradient, - rho' K e corrects the value up to terms of second order in rho. A
    change dm of the prior mean adds e' dm; the mean of a fold is counted on the chains that it keeps. A change of the
    weight of positions adds - (K e)' g, with g the gradient of their losses. The held-out loss has no such term.

    Parameters
    ----------
    chains : Chains
    labels : integer array of shape (n,)
    held_out : boolean array of shape (F, S)
        Which chains each fold holds out.
    tolerance : float, default=0.01
        Tolerance of the fits.
    max_steps : int, default=60
        Newton steps of a fit.
    policy : ChainPolicy
    weights : array of shape (S,) or None, default=None
        Weights of the chains, in the fits and in Psi; None for equal weights.
    """

    chains: Chains
    labels: Indices
    held_out: Array
    tolerance: float = 0.01
    max_steps: int = 60
    policy: ChainPolicy = POLICY
    weights: Array | None = None

    @cached_property
    def chain_weights(self) -> Array:
        """The weight of each chain, (S,)."""
        return np.ones(self.chains.n_chains) if self.weights is None else self.weights

    def evaluate(
        self,
        covariance: FieldCovariance,
        pseudocount: float = np.inf,
        piecewise: float = 0.0,
        starts: tuple[Array, ...] | None = None,
    ) -> HeldOutEvaluation:
        """Value and gradient; `starts` are latents of an earlier evaluation."""
        warm = starts or (None,) * len(self.held_out)
        folds = [
            self._fit(covariance, held, pseudocount, piecewise, start)
            for held, start in zip(self.held_out, warm, strict=True)
        ]
        n_products = sum(fold.n_products for fold in folds)
        outcome = next((fold.outcome for fold in folds if not fold.outcome.converged), Outcome.CONVERGED)
        if not outcome.converged:
            nothing = FieldGradient(CovarianceGradient((), np.zeros(0), 0.0), 0.0, np.zeros(0))
            return HeldOutEvaluation(np.inf, nothing, 0.0, 0.0, (), outcome, n_products)
        n_positions = float((self.chain_weights * self.held_out.sum(axis=0)) @ np.diff(self.chains.offsets))
        duals, adjoints = np.stack([fold.dual for fold in folds]), np.stack([fold.adjoint for fold in folds])
        return HeldOutEvaluation(
            sum(fold.loss for fold in folds) / n_positions,
            covariance.contract_gradient(duals, adjoints).scaled(1.0 / n_positions),
            sum(fold.count_slope for fold in folds) / n_positions,
            sum(fold.piecewise_slope for fold in folds) / n_positions,
            tuple(fold.latent for fold in folds),
            outcome,
            n_products,
        )

    def _fit(
        self,
        covariance: FieldCovariance,
        held_out: Array,
        pseudocount: float,
        piecewise: float,
        start: Array | None,
    ) -> _FoldResult:
        weights, n = self.chain_weights * ~held_out, self.chains.n_positions
        mean = count_transitions(self.chains, self.labels, weights, pseudocount)
        kept = ChainLikelihood(self.chains, self.labels, weights, mean.value, piecewise)
        judged = kept.weighted(self.chain_weights * held_out, 0.0)
        fit = fit_chains(kept, covariance, self.tolerance, self.max_steps, start, policy=self.policy)
        system = NewtonSystem(kept, covariance, fit.found)
        adjoint = system.respond(judged.gradient(fit.found), self.policy.adjoint_residual, self.policy)
        rough = fit.dual + kept.gradient(fit.found)
        return _FoldResult(
            judged.loss(fit.found, fit.latent) - float(np.vdot(rough, adjoint.image)),
            fit.dual,
            adjoint.value,
            float(np.vdot(adjoint.value[:, n:], mean.derivative)),
            -piecewise * float(np.vdot(adjoint.image[:, :n], kept.place_gradient(fit.found))),
            fit.latent,
            fit.outcome if adjoint.converged else Outcome.OUT_OF_PRODUCTS,
            fit.n_products + adjoint.n_products,
        )
