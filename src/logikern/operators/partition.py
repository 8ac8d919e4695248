"""A balanced partition of points into cells of neighbours. It is a binary tree, so new points can be assigned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.kernels.metrics import SQUARED_EUCLIDEAN
from logikern.kernels.stationary import DistanceKernel
from logikern.numerics.outcome import Array, Indices


@dataclass(frozen=True)
class PartitionPolicy:
    """How a node of the tree is split.

    Parameters
    ----------
    n_directions : int, default=3
        Points are split along a random combination of this many principal directions. A few directions keep cells
        compact; the random combination makes repeated partitions differ.
    sample : int, default=1000
        Largest number of points of a node from which its principal directions are estimated.
    power_steps : int, default=4
        Number of subspace iterations that estimate these directions.
    """

    n_directions: int = 3
    sample: int = 1000
    power_steps: int = 4


USUAL = PartitionPolicy()


@dataclass(frozen=True, eq=False)
class Partition:
    """A binary tree of half-spaces; its leaves are the cells.

    Inner node k sends x to `children[k, 0]` if x @ directions[k] <= thresholds[k], else to `children[k, 1]`. A child
    below zero is a cell: -1 is cell 0, -2 is cell 1, and so on. A tree without inner nodes has one cell.
    """

    directions: Array  # (n_inner, d)
    thresholds: Array  # (n_inner,)
    children: Indices  # (n_inner, 2)

    @property
    def n_cells(self) -> int:
        return len(self.thresholds) + 1

    def assign(self, X: Any) -> Indices:
        """The cell of each point, (n,)."""
        cells = np.zeros(X.shape[0], dtype=np.intp)
        waiting = [(0, np.arange(X.shape[0]))] if len(self.thresholds) else []
        while waiting:
            node, members = waiting.pop()
            beyond = np.asarray(X[members] @ self.directions[node]) > self.thresholds[node]
            for child, own in zip(self.children[node], (members[~beyond], members[beyond]), strict=True):
                if child < 0:
                    cells[own] = -1 - child
                elif len(own):
                    waiting.append((int(child), own))
        return cells


def metric_weights(kernel: Kernel, n_inputs: int) -> Array:
    """Factors (d,) that scale inputs to the coordinates of the kernel's metric; ones if it has no metric."""
    if not isinstance(kernel, DistanceKernel):
        return np.ones(n_inputs)
    rate = kernel.rate
    if isinstance(rate, tuple) and kernel.columns is not None:
        rate = tuple(rate[place] for place in kernel.columns)
    parts = []
    for metric, own in zip(kernel.metrics, kernel.metric_rates(rate), strict=True):
        power = 0.5 if metric is SQUARED_EUCLIDEAN else 1.0
        parts.append(np.broadcast_to(np.asarray(own, dtype=float) ** power, (n_inputs,)))
    return np.mean(parts, axis=0)


def mean_metric(kernels: Sequence[Kernel], n_inputs: int) -> Array:
    """The mean of `metric_weights` over kernels, (d,)."""
    return np.mean([metric_weights(kernel, n_inputs) for kernel in kernels], axis=0)


def divide(X: Any, weights: Array, largest: int, random: np.random.Generator) -> tuple[Partition, list[Indices]]:
    """Divide points into cells of nearly equal size; returns the partition and the points of each cell.

    Training points that lie on a threshold may go to either side, which keeps the sizes balanced. New points on a
    threshold go to the lower side.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    weights : array of shape (d,)
        Factors that scale the inputs; neighbours are close in the scaled inputs.
    largest : int
        Largest number of points of a cell.
    random : numpy.random.Generator
    """
    directions: list[Array] = []
    thresholds: list[float] = []
    children: list[tuple[int, int]] = []
    cells: list[Indices] = []

    def cut(members: Indices, n_cells: int) -> int:
        """Split these points into cells; returns the number of their node."""
        if n_cells == 1:
            cells.append(np.sort(members))
            return -len(cells)
        direction = weights * _direction(X, members, weights, random)
        values = np.asarray(X[members] @ direction)
        n_lower = len(members) * (n_cells // 2) // n_cells
        order = np.argpartition(values, n_lower)
        lower, upper = order[:n_lower], order[n_lower:]
        number = len(thresholds)
        directions.append(direction)
        thresholds.append(0.5 * float(values[lower].max() + values[upper].min()))
        children.append((0, 0))
        children[number] = (cut(members[lower], n_cells // 2), cut(members[upper], n_cells - n_cells // 2))
        return number

    n = X.shape[0]
    cut(np.arange(n), -(-n // max(1, largest)))
    n_inner, d = len(thresholds), len(weights)
    links = np.array(children, dtype=np.intp).reshape(n_inner, 2)
    return Partition(np.array(directions).reshape(n_inner, d), np.array(thresholds), links), cells


def _direction(X: Any, members: Indices, weights: Array, random: np.random.Generator) -> Array:
    """A random combination of the first principal directions of the weighted points, (d,)."""
    if len(members) > USUAL.sample:
        members = np.sort(random.choice(members, USUAL.sample, replace=False))
    own, scale = X[members], weights[:, None]
    mean = np.asarray(own.mean(axis=0)).reshape(-1)
    n_directions = min(USUAL.n_directions, len(weights))
    basis, spread = _orthonormal(random.standard_normal((len(weights), n_directions)))
    for _ in range(USUAL.power_steps):
        image = np.asarray(own @ (scale * basis)) - mean @ (scale * basis)
        basis, spread = _orthonormal(scale * (np.asarray(own.T @ image) - np.outer(mean, image.sum(axis=0))))
    # Lengths are eigenvalues of the scatter matrix; their roots are the spread along each direction.
    return np.asarray(basis @ (np.sqrt(spread) * random.standard_normal(n_directions)))


def _orthonormal(columns: Array) -> tuple[Array, Array]:
    """Orthonormal columns, and the length of each column of the argument that is orthogonal to those before it.

    LAPACK leaves signs to rounding errors if inputs are constant; with these lengths positive they are unique.
    """
    basis, triangle = np.linalg.qr(columns)
    diagonal = np.diag(triangle)
    return basis * np.where(diagonal < 0, -1.0, 1.0), np.abs(diagonal)
