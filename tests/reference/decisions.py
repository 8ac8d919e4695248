"""Decisions and scores, one case at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.reference.tree import below, children, leaves, path


def expected_losses(proba: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """sum_c p(c) loss[d, c] of every case and decision, (n, D)."""
    return np.array([[sum(p * cost for p, cost in zip(row, costs, strict=True)) for costs in loss] for row in proba])


def node_distance(parents: Sequence[int], first: int, second: int) -> float:
    """Half the number of edges between two nodes."""
    one, other = set(path(parents, first)), set(path(parents, second))
    return 0.5 * len(one ^ other)


def taxonomic_losses(labels: Sequence[Any], parents: Sequence[int], decisions: Sequence[int]) -> np.ndarray:
    """loss[d, c] between nodes that may be decided and the classes."""
    ends = leaves(labels, parents)
    return np.array([[node_distance(parents, node, leaf) for leaf in ends] for node in decisions])


def parent_losses(labels: Sequence[Any], parents: Sequence[int]) -> np.ndarray:
    """1 where the parents of two classes differ."""
    ends = leaves(labels, parents)
    return np.array([[float(parents[one] != parents[other]) for other in ends] for one in ends])


def brier_score(true: np.ndarray, proba: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean of sum_c (p_c - [c is true])^2."""
    total = 0.0
    for c, row, w in zip(true, proba, weights, strict=True):
        total += w * sum((p - float(e == c)) ** 2 for e, p in enumerate(row))
    return float(total / weights.sum())


def target_information(true: np.ndarray, proba: np.ndarray, prior: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean of log2 p(true class) - log2 prior(true class)."""
    bits = [np.log2(row[c]) - np.log2(prior[c]) for c, row in zip(true, proba, strict=True)]
    return float(np.average(bits, weights=weights))


def error_kept(true: np.ndarray, proba: np.ndarray, weights: np.ndarray, rejected: float) -> float:
    """Error among what is kept when a fraction of the weight is rejected, the least confident first.

    Cases of equal confidence leave together, each by the same part.
    """
    confidence, wrong = proba.max(axis=1), (proba.argmax(axis=1) != true).astype(float)
    left = weights / weights.sum()
    to_go = rejected
    for value in np.unique(confidence)[:-1]:
        own = confidence == value
        part = min(1.0, to_go / left[own].sum()) if to_go > 0 else 0.0
        to_go -= part * left[own].sum()
        left = np.where(own, (1.0 - part) * left, left)
    # What is most confident of all is never rejected whole: the curve ends there, at a constant.
    return float((left * wrong).sum() / left.sum())


def hierarchical_f1(
    parents: Sequence[int], true: Sequence[int], decided: Sequence[int], weights: np.ndarray
) -> float:
    """2 |common nodes| / (|true path| + |decided path|), both pooled over cases; the root is not counted."""
    common = [len(set(path(parents, t)) & set(path(parents, d))) for t, d in zip(true, decided, strict=True)]
    both = [len(path(parents, t)) + len(path(parents, d)) for t, d in zip(true, decided, strict=True)]
    return float(2.0 * (weights @ common) / (weights @ both))


def node_log_loss(
    labels: Sequence[Any], parents: Sequence[int], true: Sequence[int], proba: np.ndarray, weights: np.ndarray
) -> float:
    """Weighted mean of -log of the probability of the true node, which has that of the leaves below it."""
    inside = below(labels, parents)  # (N, C)
    losses = [-np.log(inside[node] @ row) for node, row in zip(true, proba, strict=True)]
    return float(np.average(losses, weights=weights))


def reciprocal_rank(true: np.ndarray, proba: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean of 1 / number of classes that are at least as probable as the true one."""
    ranks = [sum(p >= row[c] for p in row) for c, row in zip(true, proba, strict=True)]
    return float(np.average(1.0 / np.array(ranks), weights=weights))


def level_accuracies(
    labels: Sequence[Any], parents: Sequence[int], true: Sequence[int], proba: np.ndarray, weights: np.ndarray
) -> list[float]:
    """Accuracy of the most probable node in the tree cut at depth 1, 2, ...

    A decision is right if it is the true node's ancestor at that depth, or lies below a true node that is higher.
    """
    inside = below(labels, parents)
    depth = [len(path(parents, node)) for node in range(len(parents))]
    found = []
    for level in range(1, max(depth) + 1):
        cut = [n for n in range(len(parents)) if depth[n] == level or (depth[n] < level and not children(parents, n))]
        right = []
        for node, row in zip(true, proba, strict=True):
            mass = [inside[one] @ row for one in cut]
            best = cut[int(np.argmax(mass))]
            wanted = [one for one in path(parents, node) if depth[one] <= level][0]
            right.append(float(wanted in path(parents, best)))
        found.append(float(np.average(right, weights=weights)))
    return found


def sibling_confusions(
    parents: Sequence[int], true: Sequence[int], decided: Sequence[int], weights: np.ndarray
) -> dict[tuple[int, int], float]:
    """Weight of the cases whose paths part at an ordered pair of siblings: the true one, the decided one."""
    counts: dict[tuple[int, int], float] = {}
    for t, d, w in zip(true, decided, weights, strict=True):
        one, other = path(parents, t)[::-1], path(parents, d)[::-1]  # from the top down
        for left, right in zip(one, other, strict=False):
            if left != right:
                counts[left, right] = counts.get((left, right), 0.0) + float(w)
                break
    return counts
