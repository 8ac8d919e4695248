"""Random labels, soft targets, weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.tables import Random


@dataclass(frozen=True, eq=False)
class Targets:
    """What is given as `y`, and what it means.

    Parameters
    ----------
    given : labels, or a table of distributions
    classes : array, (C,)
        In the order of `classes_`.
    distributions : array, (C, n)
    """

    given: Any
    classes: np.ndarray
    distributions: np.ndarray


def draw_classes(random: Random, values: np.ndarray, n_classes: int) -> np.ndarray:
    """Numbers of classes that depend on the inputs, with rare ones; those that occur are 0, ..., C - 1."""
    spread = values.std(axis=0)
    standard = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    waves = np.sin(standard @ random.normal(size=(values.shape[1], 6)) + random.uniform(0, 6, 6))
    latent = 10 ** random.uniform(-0.5, 0.8) * waves @ random.normal(size=(6, n_classes))
    latent -= random.choice([0.0, 3.0]) * random.random(n_classes)
    classes = np.argmax(latent + random.gumbel(size=latent.shape), axis=1)
    if len(np.unique(classes)) < 2:
        classes = np.arange(len(classes)) % 2
    return np.unique(classes, return_inverse=True)[1]


def draw_names(random: Random, n_classes: int) -> np.ndarray:
    """Labels in sorted order, of one of several kinds."""
    kinds = [
        np.arange(n_classes),
        np.arange(n_classes) * 3 - 7,
        np.array([f"class {number:02d}" for number in range(n_classes)]),
        np.array([f"{chr(ord('a') + number)}ö/ü" for number in range(n_classes)], dtype=object),
        np.arange(n_classes) + 10.0,
        np.arange(n_classes).astype(np.int8),
    ]
    if n_classes == 2:
        kinds.append(np.array([False, True]))
    return kinds[random.integers(len(kinds))]


def draw_targets(random: Random, values: np.ndarray, n_classes: int, soft: bool | None = None) -> Targets:
    """Labels, or distributions in a table, for each row."""
    numbers = draw_classes(random, values, n_classes)
    n_classes = int(numbers.max()) + 1
    hard = np.eye(n_classes)[numbers].T
    if soft is None:
        soft = random.random() < 0.2
    if not soft:
        names = draw_names(random, n_classes)
        given: Any = names[numbers]
        form = random.integers(6)
        if form == 0:
            given = given.tolist()
        elif form == 1:
            given = pd.Series(given)
        elif form == 2:
            given = pd.Series(given).astype("category")
        return Targets(given, names, hard)
    mixed = random.dirichlet(np.full(n_classes, 0.7), size=len(numbers)).T
    share = random.random(len(numbers)) < 0.5
    distributions = np.where(share, hard, 0.5 * hard + 0.5 * mixed)
    if random.random() < 0.3:
        names = draw_names(random, n_classes)
        return Targets(pd.DataFrame(distributions.T, columns=names), names, distributions)
    return Targets(distributions.T.copy(), np.arange(n_classes), distributions)


def draw_weights(random: Random, targets: np.ndarray) -> np.ndarray | None:
    """Weights of rows, or None; at least two classes keep some."""
    n = targets.shape[1]
    kind = random.integers(8)
    if kind < 4:
        return None
    weights = np.asarray(random.gamma(1.0, size=n) + 0.01)
    if kind == 5:
        weights = random.integers(0, 4, n).astype(float)
    elif kind == 6:
        weights *= 10 ** random.uniform(-3, 3)
    elif kind == 7:
        weights *= random.random(n) < 0.7
    kept = targets[:, weights > 0].sum(axis=1) > 0
    return weights if kept.sum() >= 2 else None


def balanced_weights(numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Every class that occurs has the same total weight, and all together what they had."""
    totals = np.bincount(numbers, weights)
    return weights * weights.sum() / ((totals > 0).sum() * np.where(totals > 0, totals, 1.0))[numbers]
