"""Kernel matrices that are exact within blocks of neighbours and have low rank between blocks."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.operators.base import KernelOperator
from logikern.operators.landmarks import Nystrom, PairWeights, weigh_derivative


@dataclass(frozen=True, eq=False)
class Neighbourhoods(KernelOperator):
    """F' F + blockdiag(K - F' F) with F' F = K_nL K_LL^-1 K_Ln, L the landmarks.

    This is the partially independent conditional covariance of Snelson & Ghahramani (2007). It is positive
    semidefinite, and equal to K within blocks. Special cases: blocks of one point give the low-rank matrix with the
    true diagonal of Seeger (2008), sec. 7.4.3; without landmarks, blocks are independent; one block gives K itself.
    Derivatives are taken with landmarks and blocks fixed.
    """

    kernel: Kernel
    X: Any  # points, block by block
    edges: Indices  # (n_blocks + 1,): block b has points edges[b] to edges[b + 1] - 1
    blocks: tuple[KernelOperator, ...]  # the kernel on the points of each block
    coupling: Nystrom | None = field(default=None, repr=False)  # F; None if blocks are independent

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return int(self.edges[-1])

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.blocks[0].dtype

    @property
    def parts(self) -> tuple[KernelOperator, ...]:
        return self.blocks

    @property
    def n_reads(self) -> float:
        rank = 0 if self.coupling is None else len(self.coupling.factor)
        return sum(block.n_reads for block in self.blocks) + 2.0 * rank * self.n_points

    @property
    def block_slices(self) -> list[slice]:
        return [slice(start, stop) for start, stop in pairwise(self.edges.tolist())]

    def matmul(self, functions: Array) -> Array:
        return self._product(functions, [block.matmul for block in self.blocks])

    def summed_matmul(self, functions: Array) -> Array:
        return self._product(functions, [block.summed_matmul for block in self.blocks])

    def accurate_matmul(self, functions: Array) -> Array:
        return self._product(functions.astype(np.float64), [block.accurate_matmul for block in self.blocks])

    def _product(self, functions: Array, products: list) -> Array:
        result = np.empty_like(functions)
        slices = self.block_slices

        def multiply(number: int) -> None:
            own = slices[number]
            result[:, own] = products[number](np.ascontiguousarray(functions[:, own]))

        for_each(multiply, range(len(slices)))
        if self.coupling is not None:
            self._couple(functions, self.coupling.factor, result)
        return result

    def _couple(self, functions: Array, factor: Array, result: Array) -> None:
        """Add the product with the part of F' F outside the blocks."""
        slices = self.block_slices
        parts = for_each(lambda own: functions[:, own] @ factor[:, own].T, slices)
        total = np.sum(parts, axis=0)

        def add(number: int) -> None:
            own = slices[number]
            result[:, own] += (total - parts[number]) @ factor[:, own]

        for_each(add, range(len(slices)))

    def accurate_columns(self, functions: Array, indices: Indices) -> Array:
        result = np.zeros((len(functions), len(indices)))
        numbers = self._block_of(indices)
        for number in np.unique(numbers):
            own, places = self.block_slices[number], np.flatnonzero(numbers == number)
            within = indices[places] - own.start
            result[:, places] = self.blocks[number].accurate_columns(functions[:, own], within)
            if self.coupling is not None:
                factor = self.coupling.factor
                others = functions @ factor.T - functions[:, own] @ factor[:, own].T
                result[:, places] += others @ factor[:, indices[places]]
        return result

    def _block_of(self, indices: Indices) -> Indices:
        return np.searchsorted(self.edges, indices, side="right") - 1

    def in_double(self) -> KernelOperator:
        blocks = tuple(block.in_double() for block in self.blocks)
        return Neighbourhoods(self.kernel, self.X, self.edges, blocks, self.coupling)

    def diagonal(self) -> Array:
        return np.concatenate([block.diagonal() for block in self.blocks])

    def rows(self, indices: Indices) -> Array:
        indices = np.arange(self.n_points)[indices]  # a slice is accepted, as by a stored matrix
        if self.coupling is None:
            result = np.zeros((len(indices), self.n_points), self.dtype)
        else:
            factor = self.coupling.factor
            result = (factor[:, indices].T @ factor).astype(self.dtype)
        numbers = self._block_of(indices)
        for number in np.unique(numbers):
            own, places = self.block_slices[number], np.flatnonzero(numbers == number)
            result[places, own] = self.blocks[number].rows(indices[places] - own.start)
        return result

    def contract_gradient(self, left: Array, right: Array) -> Array:
        slices = self.block_slices
        parts = for_each(
            lambda number: self.blocks[number].contract_gradient(
                np.ascontiguousarray(left[:, slices[number]]), np.ascontiguousarray(right[:, slices[number]])
            ),
            range(len(slices)),
        )
        total = np.sum(parts, axis=0)
        return total if self.coupling is None else total + self._contract_coupling(left, right, self.coupling)

    def _contract_coupling(self, left: Array, right: Array, nystrom: Nystrom) -> Array:
        """Derivative of sum_r left[r]' B right[r], where B is the part of F' F outside the blocks."""
        interpolation, slices = nystrom.interpolation, self.block_slices
        by_left = [interpolation[:, own] @ left[:, own].T for own in slices]
        by_right = [interpolation[:, own] @ right[:, own].T for own in slices]
        all_left, all_right = np.sum(by_left, axis=0), np.sum(by_right, axis=0)
        beyond = np.empty(interpolation.shape)
        for number, own in enumerate(slices):
            beyond[:, own] = (all_left - by_left[number]) @ right[:, own]
            beyond[:, own] += (all_right - by_right[number]) @ left[:, own]
        return weigh_derivative(self, nystrom, PairWeights(np.zeros(self.n_points), beyond))
