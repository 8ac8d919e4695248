"""Chains by enumeration of all label sequences, and a linear conditional random field in its primal form."""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp


class Enumerated(NamedTuple):
    """Log partition sums, expected counts, and the covariance of counts over flat fields."""

    log_partition: np.ndarray
    expected: np.ndarray
    covariance: np.ndarray


def counts_of(labels, begin, n_positions, n_labels):
    """The counts of one chain's labels as a field."""
    field = np.zeros((n_labels, n_positions + n_labels + 2))
    for position, label in enumerate(labels):
        field[label, begin + position] += 1
        if position:
            field[labels[position - 1], n_positions + label] += 1
    field[labels[0], -2] += 1
    field[labels[-1], -1] += 1
    return field


def enumerate_chains(field, lengths, weights):
    n_labels, n_positions = len(field), sum(lengths)
    totals, expected, covariance = [], np.zeros(field.size), np.zeros((field.size, field.size))
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    for begin, length, weight in zip(begins, lengths, weights, strict=True):
        every = itertools.product(range(n_labels), repeat=length)
        counts = np.array([counts_of(labels, begin, n_positions, n_labels).ravel() for labels in every])
        scores = counts @ field.ravel()
        totals.append(logsumexp(scores))
        chances = np.exp(scores - totals[-1])
        mean = chances @ counts
        expected += weight * mean
        covariance += weight * ((counts * chances[:, None]).T @ counts - np.outer(mean, mean))
    return Enumerated(np.array(totals), expected.reshape(field.shape), covariance)


def _chain_loss(scores, pairs, labels):
    """Negative log likelihood of one chain and its gradients, by sums of logarithms forwards and backwards."""
    length = len(scores)
    forward, backward = np.zeros_like(scores), np.zeros_like(scores)
    forward[0] = scores[0]
    for t in range(1, length):
        forward[t] = scores[t] + logsumexp(forward[t - 1][:, None] + pairs, axis=0)
    for t in range(length - 2, -1, -1):
        backward[t] = logsumexp(pairs + scores[t + 1] + backward[t + 1], axis=1)
    total = logsumexp(forward[-1])
    positions, both = np.exp(forward + backward - total), np.zeros_like(pairs)
    for t in range(1, length):
        both += np.exp(forward[t - 1][:, None] + pairs + scores[t] + backward[t] - total)
        both[labels[t - 1], labels[t]] -= 1
    loss = total - scores[np.arange(length), labels].sum() - pairs[labels[:-1], labels[1:]].sum()
    positions[np.arange(length), labels] -= 1
    return loss, positions, both


def fit_linear_field(X, y, n_labels, variance, bias_variance, transition_variance):
    """Weights (d, C), constants, pairs, first and last scores at the minimum of the penalised loss, by L-BFGS."""
    d = X[0].shape[1]
    sizes = [(d, n_labels), (n_labels,), (n_labels, n_labels), (n_labels,), (n_labels,)]
    precisions = 1 / np.array([variance, bias_variance, *[transition_variance] * 3])
    cuts = np.cumsum([np.prod(size) for size in sizes])[:-1]

    def unpack(flat):
        return [part.reshape(size) for part, size in zip(np.split(flat, cuts), sizes, strict=True)]

    def objective(flat):
        weights, constants, pairs, first, last = parts = unpack(flat)
        value, slopes = 0.0, [precision * part for precision, part in zip(precisions, parts, strict=True)]
        value += 0.5 * sum(float(np.vdot(part, slope)) for part, slope in zip(parts, slopes, strict=True))
        for rows, labels in zip(X, y, strict=True):
            scores = rows @ weights + constants
            scores[0] += first
            scores[-1] += last
            loss, positions, both = _chain_loss(scores, pairs, labels)
            value += loss
            for slope, own in zip(
                slopes, (rows.T @ positions, positions.sum(0), both, positions[0], positions[-1]), strict=True
            ):
                slope += own
        return value, np.concatenate([slope.ravel() for slope in slopes])

    start = np.zeros(sum(int(np.prod(size)) for size in sizes))
    tight = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
    return unpack(minimize(objective, start, jac=True, method="L-BFGS-B", options=tight).x)
