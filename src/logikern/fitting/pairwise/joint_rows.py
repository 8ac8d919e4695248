"""The joint kernel of points and classes of Memisevic (2006), sec. 4, by blocks of its rows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from logikern.fitting.newton.joint import coupling_of
from logikern.fitting.pairwise.policy import POLICY
from logikern.numerics.outcome import Array, Indices
from logikern.operators.dense import product
from logikern.operators.row_cache import row_getter
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of some points."""

    points: Indices  # (m,)
    rows: list[Array]  # (m, n): one for each operator
    kernels: Array  # (O, m, m): values between the points themselves, one for each coupling


@dataclass(frozen=True, eq=False)
class JointRows:
    """k((x, c), (x', e)) = sum_o couplings[o, c, e] k_o(x, x'). Build it with `joint_rows`."""

    # (O, C, C): one for each operator, and a last one for the bias, whose kernel is the constant one. The last one is
    # missing if the bias is part of the only kernel.
    couplings: Array
    users: list[Indices]  # classes that each operator's coupling changes
    fetch: list[Callable[[Indices], Array]]  # rows of each operator
    bias_variance: float

    def block(self, points: Indices) -> Block:
        """Rows of some points, computed together: one matrix product."""
        rows = [fetch(points) for fetch in self.fetch]
        kernels = np.empty((len(self.couplings), len(points), len(points)))
        for number, own in enumerate(rows):
            kernels[number] = own[:, points]
        if len(self.couplings) > len(rows):
            kernels[-1] = 1.0
        elif self.bias_variance:
            kernels[0] += self.bias_variance / self.couplings[0, 0, 0]
        return Block(points, rows, kernels)

    def update_latents(self, block: Block, change: Array, latent: Array) -> None:
        """Update the latents (C, n) of all points for a change (C, m) of the block's dual."""
        for own, coupling, rows in zip(self.users, self.couplings, block.rows, strict=False):
            latent[own] += product(coupling[own] @ change, rows)
        latent += self.bias_variance * change.sum(axis=1, keepdims=True)


def joint_rows(covariance: ClassCovariance, memory: float, most_couplings: int = POLICY.most_couplings) -> JointRows:
    """Couplings and rows of a covariance, with a cache of `memory` bytes for rows that are not stored.

    Raises
    ------
    ValueError
        If couplings between all classes would not fit, or the bias is not penalised.
    """
    n_classes, n_operators = covariance.n_classes, len(covariance.operators)
    if n_operators * n_classes**2 > most_couplings:
        kernels = "1 kernel" if n_operators == 1 else f"{n_operators} kernels"
        raise ValueError(
            f"solver='smo' stores a coupling for every pair of classes, but {n_classes} classes with {kernels} "
            f"exceed the limit of {most_couplings} couplings. Use solver='newton'."
        )
    if not np.isfinite(covariance.bias_variance):
        raise ValueError("`bias_variance` must be finite for solver='smo', but is inf. Use solver='exact'.")
    parts = covariance.mixing.as_matrix()
    couplings = [coupling_of(covariance, index, parts) for index in range(n_operators)]
    users = [np.flatnonzero(own.any(axis=1)) for own in couplings]
    identity = np.eye(n_classes)
    # If all classes have one kernel and one variance, the bias is a constant added to that kernel.
    is_uniform = n_operators == 1 and np.array_equal(couplings[0], couplings[0][0, 0] * identity)
    if covariance.bias_variance and not (is_uniform and couplings[0][0, 0] > 0):
        couplings.append(covariance.bias_variance * identity)
    fetch = [row_getter(operator, memory / n_operators) for operator in covariance.operators]
    return JointRows(np.stack(couplings), users, fetch, covariance.bias_variance)
