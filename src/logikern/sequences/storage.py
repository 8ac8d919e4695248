"""Kernel matrices of fits to many positions: half of a symmetric matrix in memory."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import TILES, for_each, slices
from logikern.operators.base import KernelOperator
from logikern.operators.choose import choose
from logikern.operators.dense import StoredOperator
from logikern.sequences.window import Window, WindowCovariance
from logikern.structure.covariance import ClassCovariance
from logikern.structure.specification import Specification


@dataclass(frozen=True)
class StoragePolicy:
    """Sizes of the blocks of a stored matrix, and how much memory it may take."""

    # Rows of a block: few enough to skip nearly half of a matrix of 2000 rows, enough for a fast matrix product.
    block_rows: int = 256
    # Fraction of the free memory that matrices may take.
    memory_fraction: float = 0.6


POLICY = StoragePolicy()


@dataclass(frozen=True, eq=False)
class HalfStored(KernelOperator):
    """Rows of a symmetric matrix in blocks, each from its first diagonal entry on; products use each block twice."""

    inner: KernelOperator  # the kernel on single positions, for all that is not a product
    blocks: tuple[tuple[slice, Array], ...] = field(repr=False)  # rows, and their values (rows, n - rows.start)

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.inner.kernel

    @property
    def X(self) -> Any:  # noqa: N802
        return self.inner.X

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return self.inner.n_points

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.inner.dtype

    def matmul(self, functions: Array) -> Array:
        columns = np.ascontiguousarray(functions.T, dtype=self.dtype)
        n_parts = min(TILES.partial_sums, len(self.blocks))

        def multiply(part: int) -> Array:
            total = np.zeros_like(columns)
            for rows, values in self.blocks[part::n_parts]:
                total[rows] += values @ columns[rows.start :]
                total[rows.stop :] += values[:, rows.stop - rows.start :].T @ columns[rows]
            return total

        return np.sum(for_each(multiply, range(n_parts)), axis=0).T.astype(functions.dtype)

    def accurate_matmul(self, functions: Array) -> Array:
        return self.inner.accurate_matmul(functions)

    def in_double(self) -> KernelOperator:
        return self.inner.in_double()

    def diagonal(self) -> Array:
        return np.concatenate([values.diagonal() for _, values in self.blocks]).astype(np.float64)

    def rows(self, indices: Indices) -> Array:
        result = np.empty((len(indices), self.n_points), self.dtype)
        for rows, values in self.blocks:
            inside = (indices >= rows.start) & (indices < rows.stop)
            result[inside, rows.start :] = values[indices[inside] - rows.start]
            after = indices >= rows.stop
            result[after, rows] = values[:, indices[after] - rows.start].T
        return result

    def contract_gradient(self, left: Array, right: Array) -> Array:
        return self.inner.contract_gradient(left, right)


def store(operator: KernelOperator, window: Window | None, policy: StoragePolicy = POLICY) -> HalfStored:
    """Half of the matrix of an operator, or of a window over its positions."""
    parts = slices(0, operator.n_points, policy.block_rows)
    return HalfStored(operator, tuple(for_each(lambda rows: (rows, _values(operator, window, rows)), parts)))


def _values(operator: KernelOperator, window: Window | None, rows: slice) -> Array:
    """Entries of some rows of the matrix, from the diagonal on."""
    n, reach = operator.n_points, 0 if window is None else len(window.weights) // 2
    first, last = max(0, rows.start - reach), min(n, rows.stop + reach)
    single = np.empty((last - first, n - first), operator.dtype)
    operator.kernel.fill(single, operator.X[first:last], operator.X[first:])
    if window is None:
        return single
    total = np.zeros((rows.stop - rows.start, n - rows.start), operator.dtype)
    for step, weight in window.steps:
        _add_shifted(total, single, step, rows.start, first, weight * window.has(step).astype(operator.dtype))
    return total


def _add_shifted(total: Array, single: Array, step: int, start: int, first: int, present: Array) -> None:
    """Add w_d K(s + d, t + d) to entry (s - start, t - start) of the total; single[0, 0] is K(first, first)."""
    begin = max(start, first - step)
    rows = slice(begin, min(start + len(total), first + len(single) - step))
    columns = slice(begin, min(len(present), len(present) - step))
    moved = [slice(part.start + step - first, part.stop + step - first) for part in (rows, columns)]
    own = single[moved[0], moved[1]] * present[rows, None]
    own *= present[columns] > 0
    total[rows.start - start : rows.stop - start, columns.start - start : columns.stop - start] += own


def bind_window(
    single: ClassCovariance, edges: Indices, weights: tuple[float, ...]
) -> ClassCovariance | WindowCovariance:
    """The covariance of windows, with stored matrices if the matrices of single positions are stored."""
    if not weights:
        return single
    window = Window(edges, weights)
    if not all(isinstance(operator, StoredOperator) for operator in single.operators):
        return WindowCovariance(single, window)
    return WindowCovariance(single, window, _store_all(single, window))


def _store_all(single: ClassCovariance, window: Window | None) -> ClassCovariance:
    return replace(single, operators=tuple(store(operator, window) for operator in single.operators))


def bind_all(
    specification: Specification, rows: Any, edges: Indices, weights: tuple[float, ...], precision: str
) -> ClassCovariance | WindowCovariance:
    """The covariance for one fit to many positions: halves of matrices in memory, or tiles where they do not fit."""
    kernels, n = specification.kernels, rows.shape[0]
    choice = choose(kernels, rows, precision=precision)
    needed = 0.5 * len(kernels) * n**2 * choice.dtype.itemsize
    if choice.name == "features" or needed > POLICY.memory_fraction * choice.memory:
        return bind_window(specification.bind(choice.points(rows)), edges, weights)
    single = specification.bind(choose(kernels, rows, "tiled", precision).points(rows))
    if not weights:
        return _store_all(single, None)
    window = Window(edges, weights)
    return WindowCovariance(single, window, _store_all(single, window))
