"""Conditional random fields by pairwise ascent: every label sequence of a chain has a probability of its own.

The loss of a chain is max over distributions alpha of alpha' Phi f + H(alpha), minus the score of its labels; Phi has
a row of counts for each label sequence. With f = K a and a = sum_s w_s (counts of the labels - Phi_s' alpha_s), the
minimum of the penalised loss is the maximum of

    sum_s w_s (H(alpha_s) + (Phi_s' alpha_s - counts)' m) - a' K a / 2

where m is the prior mean of the field. A step moves probability between the two label sequences of a chain whose
scores minus log probabilities are the largest and the smallest; the best amount is the zero of a decreasing function.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax


class Alternatives(NamedTuple):
    """Label sequences of a chain: their counts (m, p), which of them is observed, and the weight of the chain."""

    counts: np.ndarray
    observed: int
    weight: float


def ascend(chains: list[Alternatives], gram: np.ndarray, mean: np.ndarray, tolerance: float, sweeps: int):
    """The dual field (p,) at the maximum, for the covariance `gram` (p, p) of fields with this mean (p,)."""
    logs = [np.full(len(own.counts), -np.log(len(own.counts))) for own in chains]
    parts = zip(chains, logs, strict=True)
    dual = sum(own.weight * (own.counts[own.observed] - np.exp(log) @ own.counts) for own, log in parts)
    latent = gram @ dual
    for _ in range(sweeps):
        error = 0.0
        for own, log in zip(chains, logs, strict=True):
            scores = own.counts @ (latent + mean)
            error = max(error, float(np.abs(softmax(scores) - np.exp(log)).max()))
            pair = [int((scores - log).argmax()), int((scores - log).argmin())]
            difference = own.counts[pair[0]] - own.counts[pair[1]]
            image = gram @ difference
            before = np.exp(log[pair[0]])
            log[pair] = best_pair(log[pair], scores[pair], own.weight * float(difference @ image))
            moved = own.weight * (np.exp(log[pair[0]]) - before)
            dual = dual - moved * difference
            latent = latent - moved * image
        if error < tolerance:
            return dual
    raise RuntimeError(f"Probabilities still differ by {error} from those of the scores.")


def best_pair(logs: np.ndarray, scores: np.ndarray, curvature: float) -> np.ndarray:
    """Log probabilities of two label sequences, with the same sum, at the maximum along d.

    d is the probability that the first one gains. The slope, log odds of the scores - d curvature - log odds of the
    probabilities, is found to be zero in terms of the log odds, so that no probability becomes zero.
    """
    total = np.logaddexp(*logs)

    def slope(odds):
        gained = np.exp(total - np.logaddexp(0, -odds)) - np.exp(logs[0])
        return scores[0] - scores[1] - gained * curvature - odds

    largest = abs(scores[0] - scores[1]) + curvature + 1.0
    odds = brentq(slope, -largest, largest, xtol=1e-14, rtol=1e-14)
    return total - np.logaddexp(0, [-odds, odds])
