"""Labels that may be present or absent, independently of each other or given their parents in a tree."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from logikern.likelihoods.base import Expansion, Likelihood
from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.likelihoods.softmax import LARGEST_LEAD
from logikern.numerics.outcome import Array
from logikern.structure.forest import ROOT

# Each label is a softmax of two classes with functions u_0 and u_1. The latent is their contrast of unit length,
# u = (u_1 - u_0) / sqrt(2), which has the same variance as u_0 and u_1. The log odds are sqrt(2) u.
_ODDS = 2.0**0.5


@dataclass(frozen=True)
class Bernoulli(Likelihood):
    """-log P = sum_i w_i sum_c (e_ic log(1 + exp(z_ic)) - t_ic z_ic), log odds z = sqrt(2) u, targets t in [0, 1].

    With the same kernels, variances and bias variance, each label has the probabilities of a softmax of two classes.

    Without parents, e = 1. Otherwise labels are nodes of a forest, and z_c are the log odds of label c given its
    parent: e_c is the target of the parent, so that rows without the parent say nothing about the child. Targets of
    children must not exceed the targets of their parents.

    Parameters
    ----------
    parents : tuple of int or None, default=None
        Parent of each label, -1 for labels without one.
    """

    parents: tuple[int, ...] | None = None

    @property
    def has_separate_functions(self) -> bool:
        return True

    def loss_and_gradient(self, latent: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        gradient = expit(_ODDS * latent)
        if self.parents is not None:
            gradient *= self._exposure(targets)
        gradient -= targets
        gradient *= _ODDS * weights[:, None, :]
        return np.einsum("bn,bn->b", weights, self.losses(latent, targets)), gradient

    def expand(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        loss, gradient = self.loss_and_gradient(latent, targets, weights)
        scale = np.sqrt(weights)[:, None, :] * _root_slope(latent)
        if self.parents is not None:
            scale *= np.sqrt(self._exposure(targets))
        return Expansion(loss, gradient, PointwiseCurvature(scale, None))

    def smoothed_label_latents(self, targets: Array) -> Array:
        # The mean of the target and one half, as for the softmax; zero if the parent is absent.
        exposure = np.broadcast_to(self._exposure(targets), targets.shape)
        share = 0.25 + 0.5 * np.divide(targets, exposure, out=np.full(targets.shape, 0.5), where=exposure > 0)
        return np.log(share / (1.0 - share)) / _ODDS

    def correct_predictions(self, latent: Array, targets: Array) -> Array:
        """Raise the lead of the more probable target of a label where it is too small, as the softmax does."""
        exposure = np.broadcast_to(self._exposure(targets), targets.shape)
        side = np.where(targets > 0.5 * exposure, 1.0, -1.0)
        lead = np.ma.masked_array(side * _ODDS * latent, mask=exposure == 0)
        enough = np.clip(np.ma.filled(np.ma.median(lead, axis=1, keepdims=True), 0.0), 0.0, LARGEST_LEAD)
        return latent + side * np.ma.filled(np.maximum(enough - lead, 0.0), 0.0) / _ODDS

    def losses(self, latent: Array, targets: Array) -> Array:
        odds = _ODDS * latent
        return (self._exposure(targets) * np.logaddexp(0.0, odds) - targets * odds).sum(axis=-2)

    def derivatives_along(
        self, latent: Array, direction: Array, targets: Array, weights: Array
    ) -> tuple[Array, Array]:
        exposure = self._exposure(targets)
        first = np.einsum("bcn,bcn->bn", _ODDS * (exposure * expit(_ODDS * latent) - targets), direction)
        second = (exposure * np.square(_root_slope(latent) * direction)).sum(axis=1)
        return np.einsum("bn,bn->b", weights, first), np.einsum("bn,bn->b", weights, second)

    def third_derivative(self, latent: Array, products: Array) -> Array:
        # W = 2 w e p (1 - p), so d W / d u = sqrt(2) (1 - 2 p) W.
        return -_ODDS * np.tanh(0.5 * _ODDS * latent) * products

    def _exposure(self, targets: Array) -> Array:
        """e, (C, n) or (1, n): the targets of the parents, 1 for labels without a parent."""
        if self.parents is None:
            return np.ones((1, targets.shape[-1]), dtype=targets.dtype)
        parents = np.array(self.parents)
        return np.where((parents == ROOT)[:, None], np.ones((), dtype=targets.dtype), targets[parents])


def _root_slope(latent: Array) -> Array:
    """The root of 2 p (1 - p), the slope of sqrt(2) p, (B, C, n)."""
    # p (1 - p) = p(z) p(-z) keeps its digits where p is close to one.
    return _ODDS * np.sqrt(expit(_ODDS * latent) * expit(-_ODDS * latent))
