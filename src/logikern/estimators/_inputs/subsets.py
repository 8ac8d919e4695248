"""Which points a search sees, and which of them it holds out."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from logikern.criteria.folds import Folds, folds_from_splits
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.splits import split_points
from logikern.numerics.outcome import Array, Indices

DEFAULT_FOLDS = 5


def nested_order(data: TrainingData, smallest_class: int, seed: int) -> Indices:
    """An order of the points in which every prefix has the classes in proportion, rare classes first."""
    random = np.random.default_rng(seed)
    labels = np.zeros(len(data.weights), dtype=int) if data.labels is None else data.labels
    place = np.empty(len(labels))
    for label in np.unique(labels):
        own = random.permutation(np.flatnonzero(labels == label))
        place[own] = (np.arange(len(own)) + random.random()) / len(own)
        place[own[:smallest_class]] -= 1.0
    return np.argsort(place, kind="stable")


def draw_folds(
    cv: Any, data: TrainingData, chosen: Indices, groups: Array | None, seed: int, most_entries: int
) -> Folds:
    """The folds of the chosen points.

    If `cv` is a number, fewer folds are used until folds times classes times points is at most `most_entries`. With
    very many classes, only one fold is held out.
    """
    if len(chosen) < 2:
        raise ValueError("Nothing can be held out, because there is 1 sample. Pass more rows, or use criterion=None.")
    cv = DEFAULT_FOLDS if cv is None else cv
    own_groups = None if groups is None else np.asarray(groups)[data.kept[chosen]]
    with warnings.catch_warnings():
        # Folds that lack a rare class are fitted anyway.
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(split_points(cv, data, chosen, own_groups, seed))
    if isinstance(cv, int | np.integer):
        splits = splits[: max(1, int(most_entries / (len(data.classes) * len(chosen))))]
    folds = folds_from_splits(splits, data.weights[chosen])
    if not (folds.held_out.any() and folds.kept.any(axis=1).all()):
        raise ValueError(
            f"`cv` must hold out some points and keep some, but no split does so among the {len(chosen)} rows of the "
            "search. Pass other splits, or a larger `search_size`."
        )
    return folds


def check_groups(groups: Array) -> None:
    """Raise unless leave-one-out has two groups to hold out."""
    names = set(groups.tolist())
    if len(names) < 2:
        raise ValueError(
            f"`groups` has only one group, {names.pop()!r}: if it is held out, there is nothing to learn from. "
            "Pass two groups or more, or None."
        )


def whole_folds(folds: Folds) -> Indices:
    """The fold that holds out each point: with the squared loss, whole folds are left out in closed form as well."""
    held_out, kept = folds.held_out > 0, folds.kept > 0
    if not (held_out.sum(axis=0) == 1).all() or (held_out == kept).any():
        raise ValueError(
            "With criterion='loo', the splits of `cv` must be a partition: each row is held out exactly once, and "
            "every split keeps all other rows. The given `cv` is not a partition. Pass cv=None, a number of folds or "
            "other splits, or use criterion='cv'."
        )
    return held_out.argmax(axis=0)


def data_at(data: TrainingData, rows: Indices) -> TrainingData:
    """The training data at some rows."""
    return replace(
        data,
        points=data.points[rows],
        targets=np.ascontiguousarray(data.targets[:, rows]),
        weights=data.weights[rows],
        labels=None if data.labels is None else data.labels[rows],
        kept=data.kept[rows],
    )
