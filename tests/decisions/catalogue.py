"""Random cases, and slow references that follow the definitions."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np


@dataclass(frozen=True, eq=False)
class Sample:
    true: np.ndarray  # (n,), columns
    probabilities: np.ndarray  # (n, C)


def draw(n_cases=40, n_classes=4, seed=0, sharpness=1.0):
    """Calibrated probabilities: each truth is drawn from its own row."""
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.full(n_classes, 1.0 / sharpness), size=n_cases)
    cumulative = probabilities.cumsum(axis=1)
    true = (generator.random(n_cases)[:, None] > cumulative[:, :-1]).sum(axis=1)
    return Sample(true, probabilities)


def round_off(probabilities, step=0.125):
    """The same with many ties in the largest of two probabilities; the step is a power of two, so they are exact."""
    top = np.round(probabilities[:, 1] / step) * step
    return np.column_stack([1.0 - top, top])


def two_columns(confidence, correct):
    """Truth and probabilities of two classes: class 1 is always predicted, with the given confidence."""
    confidence = np.asarray(confidence, dtype=float)
    return np.asarray(correct, dtype=int), np.column_stack([1.0 - confidence, confidence])


def error_over_all_orders(confidence, wrong, n_kept):
    """Mean error among the n_kept most confident cases, over all orders of all cases that respect confidence."""
    errors = [
        np.mean([wrong[case] for case in order[:n_kept]])
        for order in permutations(range(len(wrong)))
        if all(np.diff([confidence[case] for case in order]) <= 0)
    ]
    return np.mean(errors)
