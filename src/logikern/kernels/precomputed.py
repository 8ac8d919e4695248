"""Kernel values computed by the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Kernel, Matrix, Points, Vector


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Points given by their kernel values with the training points, or by their positions among the training points.

    They are sliced like an array. Build them with `training_points`, `new_points` or `reference_points`.

    Parameters
    ----------
    values : array, (n, n_training), or None
        Kernel values between every point and all training points; needed to the left, as X in k(X, Z).
    indices : array of int, (n,), or None
        Position of every point among the training points; needed to the right, as Z in k(X, Z).
    """

    values: Matrix | None
    indices: Vector | None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n_training), with 0 columns where no values are held."""
        if self.values is not None:
            return self.values.shape[0], self.values.shape[1]
        return (0 if self.indices is None else self.indices.shape[0]), 0

    @property
    def dtype(self) -> np.dtype:
        """Type of the kernel values."""
        return np.dtype(np.float64) if self.values is None else np.result_type(self.values, np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> KernelRows:
        return KernelRows(
            None if self.values is None else self.values[rows],
            None if self.indices is None else self.indices[rows],
        )


def training_points(matrix: Matrix) -> KernelRows:
    """The training points, from their kernel matrix.

    Parameters
    ----------
    matrix : array, (n, n)
        Kernel values between all pairs of training points; symmetric.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"A precomputed kernel matrix of training points must be square, but has shape {matrix.shape!r}. "
            "Pass the kernel values between all pairs of training points."
        )
    return KernelRows(matrix, np.arange(matrix.shape[0]))


def new_points(matrix: Matrix) -> KernelRows:
    """Points to predict, from their kernel values with the training points.

    Parameters
    ----------
    matrix : array, (n, n_training)
        Kernel values.
    """
    return KernelRows(matrix, None)


def reference_points(indices: Vector) -> KernelRows:
    """Training points given by their position only: all that a fitted model has to keep.

    Parameters
    ----------
    indices : array of int, (n,)
        Position of every point among the training points.
    """
    return KernelRows(None, indices)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """k(x, z) = the given value; nothing is learned.

    The matrix belongs to the data, not to the kernel: it is passed as X to `fit` and to predictions. (Internally, its
    rows are `KernelRows`.)
    """

    def __call__(self, X: KernelRows, Z: KernelRows) -> Matrix:
        values = _values(X)
        if Z.indices is None:
            raise ValueError(
                "Kernel values are known only between a point and the training points, but were requested between "
                "new points. Pass training points as `Z`."
            )
        return np.take(values, Z.indices, axis=1).astype(X.dtype, copy=False)

    def diagonal(self, X: KernelRows) -> Vector:
        if X.indices is None:
            raise ValueError(
                "The diagonal of a precomputed kernel is known for training points only, but was requested for "
                "new points. Pass training points."
            )
        return _values(X)[np.arange(len(X)), X.indices].astype(X.dtype, copy=False)

    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        return np.zeros(0)


def _values(X: KernelRows) -> Matrix:
    if X.values is None:
        raise ValueError(
            "Kernel values are needed, but these points contain only positions in the training set. Create points "
            "with `training_points` or `new_points`."
        )
    return X.values
