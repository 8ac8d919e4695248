"""A cache for rows of a kernel matrix, within a bound on memory."""

from collections.abc import Callable

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.operators.base import KernelOperator
from logikern.operators.dense import StoredOperator


class RowCache:
    """K[indices] of an operator, computed where it is not cached.

    A sweep over all points in random order would evict every row from a cache of the most recent rows before it is
    needed again. Rows therefore stay until they are idle: every sweep finds all rows of the cache, and rows of points
    that are no longer visited are replaced.

    Parameters
    ----------
    operator : KernelOperator
    memory : float
        Bytes for the rows that are kept.
    idle_sweeps : int, default=2
        A row that was not requested during this many sweeps over all points may be replaced.
    """

    def __init__(self, operator: KernelOperator, memory: float, idle_sweeps: int = 2):
        n = operator.n_points
        n_slots = int(min(n, memory // (n * operator.dtype.itemsize)))
        self.operator = operator
        self.idle_after = idle_sweeps * n
        self.kept = np.empty((n_slots, n), operator.dtype)
        self.slot_of = np.full(n, -1)
        self.owner_of = np.full(n_slots, -1)
        self.asked_at = np.full(n_slots, -np.inf)
        self.n_asked = 0
        self.n_computed = 0

    def rows(self, indices: Indices) -> Array:
        """K[indices], (len(indices), n), a new array; the missing rows are computed in one call."""
        slots = self.slot_of[indices]
        found = slots >= 0
        self.n_asked += len(indices)
        self.asked_at[slots[found]] = self.n_asked
        if found.all() and len(indices):
            return self.kept[slots]
        missing = indices[~found]
        computed = self.operator.rows(missing)
        self.n_computed += len(missing)
        self._keep(missing, computed)
        if not found.any():
            return computed
        rows = np.empty((len(indices), self.operator.n_points), self.kept.dtype)
        rows[found], rows[~found] = self.kept[slots[found]], computed
        return rows

    def _keep(self, indices: Indices, rows: Array) -> None:
        idle = np.flatnonzero(self.asked_at < self.n_asked - self.idle_after)
        slots = idle[: len(indices)]
        evicted = self.owner_of[slots]
        self.slot_of[evicted[evicted >= 0]] = -1
        kept = indices[: len(slots)]
        self.kept[slots] = rows[: len(slots)]
        self.owner_of[slots], self.slot_of[kept], self.asked_at[slots] = kept, slots, self.n_asked


def row_getter(operator: KernelOperator, memory: float) -> Callable[[Indices], Array]:
    """A function for K[indices]: from the stored matrix, or through a cache of `memory` bytes."""
    return operator.rows if isinstance(operator, StoredOperator) else RowCache(operator, memory).rows
