"""Neighbourhoods of covtype at learned hyperparameters: their size, landmarks, partitions, and boundaries.

A row near a cut of its partition lacks neighbours beyond the cut. Test rows are grouped by their distance from the
nearest cut on their way down the tree of the first partition, in units of the spread of all rows across that cut.
Larger neighbourhoods have fewer cuts, and an average over partitions has cuts in different places.
"""

import time

import numpy as np

from data import Split, covtype
from logikern import KernelLogisticClassifier, NeighbourhoodSettings
from logikern.model.neighbourhoods import NeighbourhoodModel
from report import Report, main

QUINTILES = ("nearest fifth", "second", "third", "fourth", "farthest fifth")
SETTINGS = tuple(
    NeighbourhoodSettings(size, rank, 3) for size, rank in ((1000, 0), (2500, 0), (5000, 0), (1000, 200))
)


def refit(
    split: Split, learned: KernelLogisticClassifier, operator: NeighbourhoodSettings
) -> KernelLogisticClassifier:
    """A fit at the learned kernel and variance, to inputs of the learned scale."""
    specification = learned.model_.specification
    model = KernelLogisticClassifier(
        specification.kernels[0],
        variance=specification.variances[0],
        criterion=None,
        operator=operator,
        inputs="raw",
        random_state=0,
    )
    return model.fit(split.X, split.y)


def log_proba(fitted: NeighbourhoodModel, n_members: int, new: np.ndarray) -> np.ndarray:
    """Log probabilities by the first partitions."""
    latent = NeighbourhoodModel(fitted.specification, fitted.points, fitted.members[:n_members]).latents(new)
    return latent - np.logaddexp.reduce(latent, axis=1)[:, None]


def distances(fitted: NeighbourhoodModel, new: np.ndarray) -> np.ndarray:
    """Distance (n,) of new points from the nearest cut of the first partition."""
    partition = fitted.members[0].partition
    spread = (fitted.points @ partition.directions.T).std(axis=0)
    margins = np.abs(new @ partition.directions.T - partition.thresholds) / spread  # (n, n_inner)
    nearest, node = np.full(len(new), np.inf), np.zeros(len(new), dtype=int)
    while (node >= 0).any():
        inside = np.flatnonzero(node >= 0)
        at = node[inside]
        nearest[inside] = np.minimum(nearest[inside], margins[inside, at])
        beyond = np.einsum("nd,nd->n", new[inside], partition.directions[at]) > partition.thresholds[at]
        node[inside] = partition.children[at, beyond.astype(int)]
    return nearest


def by_setting(
    split: Split, fitted: NeighbourhoodModel, settings: NeighbourhoodSettings, seconds: float
) -> list[dict]:
    """Scores of one partition and of all."""
    rows = []
    for n_members in (1, len(fitted.members)):
        began = time.perf_counter()
        found = log_proba(fitted, n_members, split.X_test)
        rows.append(
            {
                "size": settings.size,
                "landmarks": settings.landmarks,
                "partitions": n_members,
                "log loss": float(-found[np.arange(len(found)), split.y_test].mean()),
                "error": float((found.argmax(axis=1) != split.y_test).mean()),
                "fit seconds": seconds * n_members / len(fitted.members),
                "test rows per second": len(found) / (time.perf_counter() - began),
            }
        )
    return rows


def by_distance(split: Split, fitted: NeighbourhoodModel, size: int) -> list[dict]:
    """Log losses of each fifth, by one partition and by all."""
    order, rows = np.argsort(distances(fitted, split.X_test)), []
    both = [log_proba(fitted, n_members, split.X_test) for n_members in (1, len(fitted.members))]
    for name, part in zip(QUINTILES, np.array_split(order, len(QUINTILES)), strict=True):
        one, several = (float(-own[part, split.y_test[part]].mean()) for own in both)
        rows.append({"size": size, "distance from a cut": name, "one partition": one, "three partitions": several})
    return rows


def run(report: Report, quick: bool) -> None:
    split = covtype(5_000 if quick else 20_000, 2_000 if quick else 20_000)
    learned = KernelLogisticClassifier(tying="shared", ard=True, random_state=0).fit(split.X, split.y)
    scale = learned.encoder_.transform
    split = Split(split.name, scale(split.X), split.y, scale(split.X_test), split.y_test)
    scores, boundaries = [], []
    for settings in SETTINGS[:1] if quick else SETTINGS:
        began = time.perf_counter()
        fitted = refit(split, learned, settings).model_
        scores += by_setting(split, fitted, settings, time.perf_counter() - began)
        if not settings.landmarks:
            boundaries += by_distance(split, fitted, settings.size)
    report.table("Size, landmarks and partitions", scores)
    report.table("Log loss by distance from a cut", boundaries)


if __name__ == "__main__":
    main("neighbourhoods", __doc__, run)
