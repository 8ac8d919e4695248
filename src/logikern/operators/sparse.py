"""Kernels that decay within a short distance: products over the pairs of near points alone."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from logikern.kernels.base import Kernel
from logikern.kernels.inputs import is_sparse, scale_inputs
from logikern.kernels.metrics import FARTHEST
from logikern.kernels.stationary import Stationary
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, n_threads, slices
from logikern.operators.base import KernelOperator, kernel_rows


@dataclass(frozen=True)
class PairPolicy:
    """Which pairs of points are stored, and how many are processed at a time."""

    # Kernel values up to this one count as zero. Rounding to single precision changes values near one by six times as
    # much. A Gaussian falls to it within 6 length scales, a Matern 1/2 within 18.
    dropped: float = 1e-8
    # Pairs whose distances are computed at a time; each takes 24 bytes.
    block_pairs: int = 2**20
    # Points whose neighbours are counted one by one, and the share of all pairs above which the pairs of other points
    # are not counted: stored or recomputed matrices are then equally fast, and counting takes long.
    sample: int = 32
    most_filled: float = 0.1
    # Number of kernel values that tiles recompute and multiply in the time of one stored pair.
    values_per_pair: float = 2.0
    # Up to this number of functions, one product for each is faster than one product for all: 3.0 and 3.3 ns per pair
    # for 8 functions, 7.0 and 4.1 ns for 16.
    few_functions: int = 8
    # Bytes of a stored pair in addition to its value, and of a pair while it is computed.
    index_bytes: int = 4
    work_bytes: int = 64


POLICY = PairPolicy()


@dataclass(frozen=True, eq=False)
class NearPairs(KernelOperator):
    """K without its values up to `dropped` = 1e-8: the values of all pairs within the radius where k falls to it.

    Values are computed in float64 from differences of points, and stored in the dtype of products. Exact arithmetic
    with these values gives |(f K)_i - (f K_stored)_i| <= dropped * sum_j |f_j| for every function f.

    The stored matrix is symmetric with a true diagonal, but need not be positive definite: its smallest eigenvalue is
    at least -dropped * (n - 1), and in practice about -dropped times the number of points just outside the radius. So
    the matrix I + variance * K of a fit is positive definite if variance * n < 1e8.

    Points are stored in the order of a KD-tree, in which near points have similar positions.
    """

    kernel: Stationary
    X: Any
    order: Indices  # (n,): the point at each position
    scaled: Array = field(repr=False)  # (n, d): points times their rates, in that order
    blocks: tuple[sparse.csr_array, ...] = field(repr=False)  # rows of the matrix, in that order

    @property
    def n_points(self) -> int:  # type: ignore[override]
        return len(self.order)

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.blocks[0].dtype

    @property
    def n_reads(self) -> float:
        return float(sum(block.nnz for block in self.blocks))

    def matmul(self, functions: Array) -> Array:
        product = self._product(functions.astype(self.dtype, copy=False), lambda _, block: block)
        return product.astype(functions.dtype, copy=False)

    def accurate_matmul(self, functions: Array) -> Array:
        functions = functions.astype(np.float64, copy=False)
        return self.matmul(functions) if self.dtype == np.float64 else self._product(functions, self._in_double)

    def in_double(self) -> KernelOperator:
        if self.dtype == np.float64:
            return self
        blocks = for_each(lambda pair: self._in_double(*pair), self._parts())
        return NearPairs(self.kernel, self.X, self.order, self.scaled, tuple(blocks))

    def diagonal(self) -> Array:
        return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    def rows(self, indices: Indices) -> Array:
        return kernel_rows(self.kernel, self.X, indices, self.dtype)

    def contract_gradient(self, left: Array, right: Array) -> Array:
        """See `KernelOperator`; dropped values and their derivatives count as zero."""
        left, right = left[:, self.order].astype(np.float64), right[:, self.order].astype(np.float64)

        def contract(part: tuple[slice, sparse.csr_array]) -> Array:
            first, second = _places(*part)
            weights = np.zeros(len(first))
            for own, other in zip(left, right, strict=True):
                weights += own[first] * other[second]
            return self._weigh(first, second, weights)

        return np.sum(for_each(contract, self._parts()), axis=0)

    def _weigh(self, first: Indices, second: Indices, weights: Array) -> Array:
        """d/d log h of sum_p weights_p k(x_p, z_p) over some pairs of points."""
        by_input = self._differences(first, second)  # (pairs, d): the part of each input in s
        distance = by_input.sum(axis=1)
        pulls, by_shape = self.kernel.pull([distance], weights)
        return np.concatenate([self.kernel.sum_by_rate(pulls[0] @ by_input), by_shape])

    def _differences(self, first: Indices, second: Indices) -> Array:
        return np.abs(self.scaled[first] - self.scaled[second]) ** self.kernel.metric.power

    def _product(self, functions: Array, values: Callable[[slice, sparse.csr_array], sparse.csr_array]) -> Array:
        """functions @ K in the precision of the functions; `values` returns each block with its kernel values."""
        result, ordered = np.empty_like(functions), functions[:, self.order]
        is_few = len(functions) <= POLICY.few_functions
        columns = ordered if is_few else np.ascontiguousarray(ordered.T)

        def multiply(part: tuple[slice, sparse.csr_array]) -> None:
            block, places = values(*part), self.order[part[0]]
            if is_few:
                for own, image in zip(columns, result, strict=True):
                    image[places] = block @ own
            else:
                result[:, places] = (block @ columns).T

        for_each(multiply, self._parts())
        return result

    def _in_double(self, rows: slice, block: sparse.csr_array) -> sparse.csr_array:
        """The same pairs with values in float64."""
        distance = self._differences(*_places(rows, block)).sum(axis=1)
        self.kernel.to_correlation(distance)
        return sparse.csr_array((distance, block.indices, block.indptr), shape=block.shape)

    def _parts(self) -> Iterator[tuple[slice, sparse.csr_array]]:
        start = 0
        for block in self.blocks:
            yield slice(start, start + block.shape[0]), block
            start += block.shape[0]


def _places(rows: slice, block: sparse.csr_array) -> tuple[Indices, Indices]:
    """First and second point of every stored pair of a block."""
    return np.repeat(np.arange(rows.start, rows.stop), np.diff(block.indptr)), block.indices


def has_near_pairs(kernel: Kernel, X: Any) -> TypeGuard[Stationary]:
    """Whether near points can be found, which needs a kernel with only one distance and an array of numbers."""
    is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"
    return isinstance(kernel, Stationary) and is_table and not is_sparse(X)


def reach(kernel: Stationary, value: float) -> float:
    """The distance s at which the kernel falls to a value, by bisection of its logarithm; at most `FARTHEST`."""
    low, high = math.log(1e-12), math.log(FARTHEST)
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        at = np.array([math.exp(middle)])
        kernel.to_correlation(at)
        low, high = (middle, high) if at[0] > value else (low, middle)
    return math.exp(high)


@dataclass(frozen=True, eq=False)
class PairCount:
    """Pairs of points that are near each other under a kernel, counted before any is stored."""

    kernel: Stationary
    X: Any
    policy: PairPolicy = POLICY

    @cached_property
    def scaled(self) -> Array:
        """Points times their rates: s is a sum of powers of their differences, (n, d)."""
        power = 1.0 / self.kernel.metric.power
        rates = self.kernel.input_rates(self.X.shape[1])
        return np.ascontiguousarray(scale_inputs(self.X.astype(np.float64, copy=False), rates, power))

    @cached_property
    def tree(self) -> cKDTree:
        return cKDTree(self.scaled)

    @property
    def norm(self) -> int:
        """Order of the norm of the tree's distances: 2 for squared differences, 1 for absolute ones."""
        return self.kernel.metric.power

    @property
    def radius(self) -> float:
        return reach(self.kernel, self.policy.dropped) ** (1.0 / self.norm)

    @cached_property
    def n_pairs(self) -> float:
        """Number of values to store: both orders of every pair, and the diagonal. Estimated if there are too many."""
        n = len(self.scaled)
        some = self.scaled[:: max(1, n // self.policy.sample)]
        near = sum(np.count_nonzero(self._distances(own) <= self.radius) for own in some)
        if near > self.policy.most_filled * len(some) * n:
            return float(n) * near / len(some)
        return float(self.tree.count_neighbors(self.tree, self.radius, p=self.norm))

    def _distances(self, point: Array) -> Array:
        return np.asarray(np.linalg.norm(self.scaled - point, self.norm, axis=1))

    @property
    def n_values(self) -> float:
        """Number of kernel values that tiles could recompute in the time of one product."""
        n_all = float(len(self.scaled)) ** 2
        is_sparse = self.n_pairs <= self.policy.most_filled * n_all
        return self.policy.values_per_pair * self.n_pairs if is_sparse else np.inf

    def n_bytes(self, dtype: np.dtype) -> float:
        """Memory of the stored pairs, including their values in double precision, and of temporary blocks."""
        values = sum(own.itemsize for own in {dtype, np.dtype(np.float64)})
        stored = self.n_pairs * (self.policy.index_bytes + values)
        working = min(self.n_pairs, n_threads() * self.policy.block_pairs)
        return float(stored + self.policy.work_bytes * working)

    def bind(self, dtype: np.dtype) -> NearPairs:
        """The operator: values of all pairs, some rows at a time."""
        order = self.tree.indices.astype(np.intp)
        points, n = self.scaled[order], len(order)
        tree = cKDTree(points)
        width = max(1, int(n * min(1.0, self.policy.block_pairs / max(1, self.n_pairs))))

        def compute(rows: slice) -> sparse.csr_array:
            near = cKDTree(points[rows]).sparse_distance_matrix(tree, self.radius, p=self.norm, output_type="ndarray")
            values = near["v"] ** self.norm
            self.kernel.to_correlation(values)
            places = near["i"].astype(np.int32), near["j"].astype(np.int32)
            shape = (rows.stop - rows.start, n)
            return sparse.csr_array(sparse.coo_array((values.astype(dtype), places), shape=shape))

        blocks = for_each(compute, slices(0, n, width))
        return NearPairs(self.kernel, self.X, order, points, tuple(blocks))
