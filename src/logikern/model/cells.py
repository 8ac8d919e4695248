"""Consistency of a loaded model of neighbourhoods: indices in range, and a partition that ends in its cells."""

from typing import Any

import numpy as np

from logikern.model.neighbourhoods import Landmarks, LocalModels, NeighbourhoodModel
from logikern.operators.partition import Partition


def check_members(model: NeighbourhoodModel, n_inputs: int) -> None:
    """Raise a ValueError unless every partition covers all points and has a cell for every leaf.

    Points and specification are checked elsewhere.
    """
    members, n_points = model.members, model.points.shape[0]
    _require(isinstance(members, tuple) and len(members) > 0, "it has no neighbourhoods")
    for member in members:
        _require(isinstance(member, LocalModels), "its neighbourhoods are not models")
        n_cells = _check_partition(member.partition, n_inputs)
        _check_cells(member, n_cells, n_points)
        n_classes = model.specification.mixing.n_classes
        _check_numbers(member.dual, (n_classes, n_points), "its coefficients")
        _check_numbers(member.constants, (n_cells, n_classes), "its biases")
        if member.landmarks is not None:
            _check_landmarks(member.landmarks, (n_cells, model.specification.mixing.n_latent), n_points)


def _check_partition(partition: Any, n_inputs: int) -> int:
    """Check that splits form a tree, with every node and cell below one other node; returns the number of cells."""
    _require(isinstance(partition, Partition), "its neighbourhoods have no partition")
    thresholds: Any = partition.thresholds
    _require(isinstance(thresholds, np.ndarray) and thresholds.ndim == 1, "its partition has no thresholds")
    n_inner = len(thresholds)
    _check_numbers(thresholds, (n_inner,), "the thresholds of its partition")
    _check_numbers(partition.directions, (n_inner, n_inputs), "the directions of its partition")
    children: Any = partition.children
    _require(_are_places(children) and children.shape == (n_inner, 2), "its partition is not a tree")
    # Children come after their parent, so that every path ends; the root has no parent.
    below = np.sort(children.ravel())
    expected = [*range(-n_inner - 1, 0), *range(1, n_inner)] if n_inner else []
    later = children > np.arange(n_inner)[:, None]
    _require(below.tolist() == expected and bool((later | (children < 0)).all()), "its partition is not a tree")
    return n_inner + 1


def _check_cells(member: LocalModels, n_cells: int, n_points: int) -> None:
    """Every point is in one cell, and no cell is empty."""
    order: Any = member.order
    edges: Any = member.edges
    _require(_are_places(order) and order.shape == (n_points,), "its neighbourhoods do not match its points")
    _require(np.array_equal(np.sort(order), np.arange(n_points)), "its neighbourhoods do not cover its points")
    _require(_are_places(edges) and edges.shape == (n_cells + 1,), "its neighbourhoods do not match its partition")
    ends = edges[0] == 0 and edges[-1] == n_points and bool((np.diff(edges) > 0).all())
    _require(bool(ends), "its neighbourhoods overlap or are empty")


def _check_landmarks(landmarks: Any, shape: tuple[int, int], n_points: int) -> None:
    """Distinct training points, and a coefficient of each for every cell and function."""
    _require(isinstance(landmarks, Landmarks), "its landmarks have the wrong type")
    places: Any = landmarks.points
    _require(_are_places(places) and places.ndim == 1 and len(places) > 0, "its landmarks are not points")
    inside = places.min() >= 0 and places.max() < n_points and len(np.unique(places)) == len(places)
    _require(bool(inside), "its landmarks are not among its points")
    _check_numbers(landmarks.coefficients, (*shape, len(places)), "the coefficients of its landmarks")


def _are_places(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "i"


def _check_numbers(values: Any, shape: tuple[int, ...], subject: str) -> None:
    is_table = isinstance(values, np.ndarray) and values.dtype.kind == "f"
    _require(is_table and values.shape == shape, f"{subject} have the wrong shape")
    _require(bool(np.isfinite(values).all()), f"{subject} are not finite")


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
