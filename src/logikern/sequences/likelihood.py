"""The likelihood of labelled chains, and the prior covariance of their fields."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.numerics.simplex import soft_maximum
from logikern.sequences.chains import Chains, Posterior, infer
from logikern.sequences.window import WindowCovariance
from logikern.structure.covariance import ClassCovariance, CovarianceGradient


class Prediction(NamedTuple):
    """The distribution of labels: of all labels of a chain, and at each position by itself, without transitions."""

    posterior: Posterior
    alone: Array  # (C, n)
    log_total: Array  # (n,): logarithms of the denominators of `alone`


@dataclass(frozen=True, eq=False)
class ChainLikelihood:
    """sum_s w_s (log partition sum of chain s - score of its labels), convex in the field.

    Its gradient is expected minus observed counts, and its curvature is the covariance of the counts, which couples
    all positions of a chain.

    If `piecewise` is positive, the loss of each position without its chain, -log softmax(u)_y, is added with this
    weight (Sutton & McCallum 2005). Where neighbours determine the labels of the training chains, the functions of
    inputs have nothing left to learn from the chains alone.
    """

    chains: Chains
    labels: Indices  # (n,)
    weights: Array  # (S,)
    mean: Array  # (C, C + 2): prior mean of the scores of pairs, first and last labels; latents are relative to it
    piecewise: float = 0.0

    @cached_property
    def counts(self) -> Array:
        """Weighted counts of the labels as a field."""
        return self.chains.count(self.labels, self.weights)

    @cached_property
    def place_weights(self) -> Array:
        """The weight of the chain of each position, (n,)."""
        return self.weights[self.chains.chain_of]

    def weighted(self, weights: Array, piecewise: float) -> "ChainLikelihood":
        """The same chains with other weights."""
        return replace(self, weights=weights, piecewise=piecewise)

    def take(self, chosen: Indices) -> "ChainLikelihood":
        """Some of the chains."""
        rows = np.isin(self.chains.chain_of, chosen)
        lengths = np.diff(self.chains.offsets)[chosen]
        chains = Chains(np.append(0, np.cumsum(lengths)).astype(np.intp), self.chains.n_labels)
        return replace(self, chains=chains, labels=self.labels[rows], weights=self.weights[chosen])

    def infer(self, latent: Array) -> Prediction:
        """The distribution of labels at a latent field."""
        soft = soft_maximum(latent[None, :, : self.chains.n_positions])
        return Prediction(infer(self.chains, self._scores(latent)), soft.probabilities[0], soft.log_total[0])

    def _scores(self, latent: Array) -> Array:
        field = latent.copy()
        field[:, self.chains.n_positions :] += self.mean
        return field

    def losses(self, found: Prediction, latent: Array) -> Array:
        """The loss of every chain without weights, (S,)."""
        chains = self.chains
        joint = found.posterior.log_partition - chains.scores_of(self._scores(latent), self.labels)
        alone = found.log_total - latent[self.labels, np.arange(chains.n_positions)]
        return joint + self.piecewise * np.add.reduceat(alone, chains.offsets[:-1])

    def loss(self, found: Prediction, latent: Array) -> float:
        """The weighted loss."""
        return float(self.weights @ self.losses(found, latent))

    def gradient(self, found: Prediction) -> Array:
        """The gradient as a field."""
        gradient = found.posterior.expect(self.weights) - self.counts
        if self.piecewise:
            gradient[:, : self.chains.n_positions] += self.piecewise * self.place_gradient(found)
        return gradient

    def place_gradient(self, found: Prediction) -> Array:
        """The gradient of the weighted losses of positions alone, (C, n)."""
        return found.alone * self.place_weights - self.counts[:, : self.chains.n_positions]

    def curve(self, found: Prediction, direction: Array) -> Array:
        """W times a field, W the curvature at the prediction."""
        product = found.posterior.differentiate(self.weights, direction)
        if self.piecewise:
            along = found.alone * direction[:, : self.chains.n_positions]
            along -= found.alone * along.sum(axis=0)
            along *= self.piecewise * self.place_weights
            product[:, : self.chains.n_positions] += along
        return product


class TransitionMean(NamedTuple):
    """Prior mean of the scores of pairs, first and last labels (C, C + 2), and its derivative in log(pseudocount)."""

    value: Array
    derivative: Array


def count_transitions(chains: Chains, labels: Indices, weights: Array, pseudocount: float) -> TransitionMean:
    """log(P(j | i) / p_j) from counts, and in the same way for first and last labels.

    P(j | i) = (n_ij + a p_j) / (n_i + a) shrinks the share of label j after label i towards its overall share p_j, by
    a pseudo-observations. Without transitions in the data, or for infinite a, the mean is zero.
    """
    counts, n = chains.count(labels, weights), chains.n_positions
    shares = counts[:, :n].sum(axis=1) + 1.0
    # Rows are what comes before: each label, the start, and (in reverse) the end.
    relative = np.vstack([counts[:, n:-2], counts[:, -2:].T])  # (C + 2, C)
    totals = relative.sum(axis=1, keepdims=True)
    relative = relative * (shares.sum() / shares)
    if np.isinf(pseudocount):
        return TransitionMean(*np.zeros((2, *counts[:, n:].shape)))
    logarithms = np.log((relative + pseudocount) / (totals + pseudocount))
    derivative = pseudocount / (relative + pseudocount) - pseudocount / (totals + pseudocount)
    return TransitionMean(*(np.hstack([rows[:-2], rows[-2:].T]) for rows in (logarithms, derivative)))


class FieldGradient(NamedTuple):
    """Derivatives of a contraction in the logarithms of all hyperparameters of the covariance of fields."""

    positions: CovarianceGradient
    transition_variance: float
    window: Array  # (2 r,): weights of neighbours

    def scaled(self, factor: float) -> "FieldGradient":
        """All derivatives times a factor."""
        own = (self.positions.scaled(factor), factor * self.transition_variance, factor * self.window)
        return FieldGradient(*own)


@dataclass(frozen=True, eq=False)
class FieldCovariance:
    """The prior covariance of a field: K~ at positions, and independent scores of pairs, first and last labels."""

    positions: ClassCovariance | WindowCovariance
    transition_variance: float

    def matmul(self, field: Array) -> Array:
        """The covariance times a field."""
        n = self.positions.n_points
        return self._join(field, self.positions.matmul(field[None, :, :n]))

    def accurate_matmul(self, field: Array) -> Array:
        """`matmul` with kernel values computed in float64."""
        n = self.positions.n_points
        return self._join(field, self.positions.accurate_matmul(np.ascontiguousarray(field[None, :, :n])))

    def _join(self, field: Array, image: Array) -> Array:
        return np.hstack([image[0], self.transition_variance * field[:, self.positions.n_points :]])

    def contract_gradient(self, left: Array, right: Array) -> FieldGradient:
        """d/d log h of sum left . (covariance right), left and right several fields each, (B, C, n + C + 2)."""
        n = self.positions.n_points
        found = self.positions.contract_gradient(left[..., :n], right[..., :n])
        single, weights = (found, np.zeros(0)) if isinstance(found, CovarianceGradient) else found
        return FieldGradient(
            single, self.transition_variance * float(np.vdot(left[..., n:], right[..., n:])), weights
        )
