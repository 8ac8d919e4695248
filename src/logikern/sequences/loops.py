"""Recursions over the positions of chains: compiled loops.

The labels of a chain are a Markov chain, given its inputs. All functions work on its conditional probabilities
P_t(j | i) of label j at position t after label i, which are normalised at every position: no product of small numbers
occurs, however long the chain and however large the scores. Everything here is plain Python; `compiled` makes it
fast.

Positions of all chains are rows; chain s has the rows from offsets[s] to offsets[s + 1]. Scores (n, C) include the
scores of the first and of the last label.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from logikern.numerics.compilation import compile_together
from logikern.numerics.outcome import Array, Indices

# Sums of products of exponentials above this have lost no term that matters.
SAFE = 1e-200


def normalise(logarithms: Array) -> float:
    """Replace values (C,) by their softmax, and return the logarithm of their sum of exponentials."""
    largest, total = logarithms.max(), 0.0
    for label in range(len(logarithms)):
        logarithms[label] = math.exp(logarithms[label] - largest)
        total += logarithms[label]
    for label in range(len(logarithms)):
        logarithms[label] /= total
    return float(largest + math.log(total))


def find_conditionals(
    scores: Array, transition: Array, offsets: Indices, first: Array, conditional: Array, totals: Array
) -> None:
    """Backward recursion: P(label) at first positions, (S, C), P_t(j | i), (n, C, C), and log partition sums, (S,).

    With b_t(i) the log sum over all labels after position t, P_t(j | i) is the softmax over j of
    transition_ij + scores_tj + b_t(j), and b_(t-1)(i) is the logarithm of its denominator. Exponentials of both parts
    are multiplied. If their sum is nearly zero, the softmax of the sum itself is taken instead.
    """
    n_labels, shared, before = scores.shape[1], transition.copy(), transition[0].copy()
    largest = transition[0].copy()
    for label in range(n_labels):
        largest[label] = transition[label].max()
        shared[label] = np.exp(transition[label] - largest[label])
    for chain in range(len(offsets) - 1):
        after = scores[offsets[chain + 1] - 1].copy()
        for position in range(offsets[chain + 1] - 1, offsets[chain], -1):
            highest = after.max()
            own = np.exp(after - highest)
            for label in range(n_labels):
                total = 0.0
                for successor in range(n_labels):
                    conditional[position, label, successor] = shared[label, successor] * own[successor]
                    total += conditional[position, label, successor]
                if total > SAFE:
                    conditional[position, label] *= 1.0 / total
                    rest = highest + largest[label] + math.log(total)
                else:
                    conditional[position, label] = transition[label] + after
                    rest = normalise(conditional[position, label])
                before[label] = scores[position - 1, label] + rest
            after[:] = before
        first[chain] = after
        totals[chain] = normalise(first[chain])


def find_marginals(offsets: Indices, first: Array, conditional: Array, marginals: Array) -> None:
    """Forward recursion: probabilities of labels at every position, (n, C)."""
    for chain in range(len(offsets) - 1):
        marginals[offsets[chain]] = first[chain]
        for position in range(offsets[chain] + 1, offsets[chain + 1]):
            marginals[position] = 0.0
            for label in range(marginals.shape[1]):
                marginals[position] += marginals[position - 1, label] * conditional[position, label]


def count_pairs(offsets: Indices, conditional: Array, marginals: Array, weights: Array, pairs: Array) -> None:
    """Expected numbers of transitions, (C, C), with a weight for each chain."""
    for chain in range(len(offsets) - 1):
        for position in range(offsets[chain] + 1, offsets[chain + 1]):
            for label in range(marginals.shape[1]):
                pairs[label] += weights[chain] * marginals[position - 1, label] * conditional[position, label]


def find_gains(
    begin: int, end: int, conditional: Array, direction: Array, transition: Array, gains: Array, after: Array
) -> None:
    """Mean change of the score from a position on (`gains`), and after it (`after`), given its label, (n, C)."""
    gains[end - 1], after[end - 1] = direction[end - 1], 0.0
    for position in range(end - 1, begin, -1):
        for label in range(gains.shape[1]):
            mean = 0.0
            for successor in range(gains.shape[1]):
                change = transition[label, successor] + gains[position, successor]
                mean += conditional[position, label, successor] * change
            after[position - 1, label] = mean
            gains[position - 1, label] = direction[position - 1, label] + mean


def differentiate(
    offsets: Indices,
    conditional: Array,
    marginals: Array,
    weights: Array,
    direction: Array,
    transition: Array,
    scratch: Array,
    change: Array,
    pairs: Array,
) -> None:
    """Weighted derivatives of marginals, (n, C), and of expected transitions, (C, C), along a direction.

    The direction changes scores (n, C) and transitions (C, C): the R-operator of Pearlmutter (1994) applied to both
    recursions. The scratch space is (2, n, C).
    """
    gains, after = scratch[0], scratch[1]
    for chain in range(len(offsets) - 1):
        begin, end, weight = offsets[chain], offsets[chain + 1], weights[chain]
        change[begin:end] = 0.0
        if weight == 0.0:
            continue
        find_gains(begin, end, conditional, direction, transition, gains, after)
        mean = (marginals[begin] * gains[begin]).sum()
        change[begin] = weight * marginals[begin] * (gains[begin] - mean)
        for position in range(begin + 1, end):
            for label in range(marginals.shape[1]):
                share, before = weight * marginals[position - 1, label], change[position - 1, label]
                rest = before - share * after[position - 1, label]
                for successor in range(marginals.shape[1]):
                    gain = transition[label, successor] + gains[position, successor]
                    both = conditional[position, label, successor] * (rest + share * gain)
                    change[position, successor] += both
                    pairs[label, successor] += both


def find_best_labels(scores: Array, transition: Array, offsets: Indices, best: Indices, came: Indices) -> None:
    """The most probable labels of each chain, (n,), by the recursion of Viterbi; `came` (n, C) is scratch space."""
    n_labels = scores.shape[1]
    for chain in range(len(offsets) - 1):
        begin, end = offsets[chain], offsets[chain + 1]
        reached = scores[begin].copy()
        for position in range(begin + 1, end):
            before = reached.copy()
            for label in range(n_labels):
                came[position, label] = (before + transition[:, label]).argmax()
                origin = came[position, label]
                reached[label] = before[origin] + transition[origin, label] + scores[position, label]
        best[end - 1] = reached.argmax()
        for position in range(end - 1, begin, -1):
            best[position - 1] = came[position, best[position]]


def draw(offsets: Indices, first: Array, conditional: Array, uniform: Array, labels: Indices) -> None:
    """Labels (r, n) drawn from the chains, from uniform numbers (r, n)."""
    last = first.shape[1] - 1
    for round_ in range(len(uniform)):
        for chain in range(len(offsets) - 1):
            for position in range(offsets[chain], offsets[chain + 1]):
                chances = first[chain]
                if position > offsets[chain]:
                    chances = conditional[position, labels[round_, position - 1]]
                label, below = 0, chances[0]
                while label < last and below <= uniform[round_, position]:
                    label += 1
                    below += chances[label]
                labels[round_, position] = label


@cache
def compiled(function: Callable[..., None]) -> Callable[..., Any]:
    """The compiled form of one of the functions above."""
    return compile_together([normalise, find_gains, function], fastmath={"reassoc", "contract", "nsz"})
