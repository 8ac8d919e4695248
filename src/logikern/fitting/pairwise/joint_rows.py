"""The joint kernel of points and classes of Memisevic (2006), sec. 4, by blocks of its rows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from logikern.fitting.newton.joint import coupling_of
from logikern.numerics.outcome import Array, Indices
from logikern.operators.dense import product
from logikern.operators.row_cache import rows_of
from logikern.structure.covariance import ClassCovariance

# Entries of all couplings between classes: 128 MB.
MOST_COUPLINGS = 2**24


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of some points.

    Parameters
    ----------
    points : integer array of shape (m,)
    rows : list of arrays of shape (m, n)
        One for each operator.
    kernels : array of shape (O, m, m)
        Values between the points themselves, one for each coupling.
    """

    points: Indices
    rows: list[Array]
    kernels: Array


@dataclass(frozen=True, eq=False)
class JointRows:
    """k((x, c), (x', e)) = sum_o couplings[o, c, e] k_o(x, x'). Build it by `joint_rows`.

    Parameters
    ----------
    couplings : array of shape (O, C, C)
        Of each operator; a last one for the bias, whose kernel is one, unless it is part of the only kernel.
    users : list of integer arrays
        Classes that each operator's coupling changes.
    fetch : list of callables
        Rows of each operator.
    bias_variance : float
    """

    couplings: Array
    users: list[Indices]
    fetch: list[Callable[[Indices], Array]]
    bias_variance: float

    def block(self, points: Indices) -> Block:
        """Computed at once: many rows are one matrix product, shared among threads."""
        rows = [fetch(points) for fetch in self.fetch]
        kernels = np.empty((len(self.couplings), len(points), len(points)))
        for number, own in enumerate(rows):
            kernels[number] = own[:, points]
        if len(self.couplings) > len(rows):
            kernels[-1] = 1.0
        elif self.bias_variance:
            kernels[0] += self.bias_variance / self.couplings[0, 0, 0]
        return Block(points, rows, kernels)

    def pass_on(self, block: Block, change: Array, latent: Array) -> None:
        """Add to the latents (C, n) of all points what a change (C, m) of the block's dual does to them."""
        for own, coupling, rows in zip(self.users, self.couplings, block.rows, strict=False):
            latent[own] += product(coupling[own] @ change, rows)
        latent += self.bias_variance * change.sum(axis=1, keepdims=True)


def joint_rows(covariance: ClassCovariance, memory: float) -> JointRows:
    """Couplings and rows of a covariance, with a cache of so many bytes for the rows that are not stored.

    Raises
    ------
    ValueError
        Where couplings between all classes would not fit, or the bias is free.
    """
    n_classes, n_operators = covariance.n_classes, len(covariance.operators)
    if n_operators * n_classes**2 > MOST_COUPLINGS:
        raise ValueError(
            f"Pairwise training keeps couplings between all pairs of classes, but {n_classes} classes with "
            f"{n_operators} kernels have more than {MOST_COUPLINGS}. Use solver='newton'."
        )
    if not np.isfinite(covariance.bias_variance):
        raise ValueError("`bias_variance` must be finite for pairwise training, but is inf. Use solver='exact'.")
    parts = covariance.mixing.as_matrix()
    couplings = [coupling_of(covariance, index, parts) for index in range(n_operators)]
    users = [np.flatnonzero(own.any(axis=1)) for own in couplings]
    identity = np.eye(n_classes)
    # Where all classes have one kernel and one variance the bias is a constant added to that kernel.
    alike = n_operators == 1 and np.array_equal(couplings[0], couplings[0][0, 0] * identity)
    if covariance.bias_variance and not (alike and couplings[0][0, 0] > 0):
        couplings.append(covariance.bias_variance * identity)
    fetch = [rows_of(operator, memory / n_operators) for operator in covariance.operators]
    return JointRows(np.stack(couplings), users, fetch, covariance.bias_variance)
