"""Which preconditioner a Newton fit uses, how large it is and when it is rebuilt."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.fitting.preconditioning.low_rank import CovarianceFactors, factorise, operators_on
from logikern.fitting.preconditioning.preconditioner import LowRank, Preconditioner, diagonal_preconditioner
from logikern.likelihoods.curvature import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.structure.covariance import ClassCovariance

Condition = Callable[[Curvature, Indices], Preconditioner]

# A Woodbury matrix larger than this costs more to factor than the products that it saves.
LARGEST_WOODBURY = 3000
# Building a preconditioner may take the time of so many products.
PRODUCTS_PER_BUILD = 2.0
# A product passes once over each stored matrix, and the processor does so many operations while it reads a byte.
FLOPS_PER_BYTE = 5.0
# Beside each product an iteration passes so many times over all functions; it is nothing beside a dense matrix.
PASSES_PER_PRODUCT = 20.0
# A preconditioner of a lower rank is hardly worth its name: this one is allowed whatever the memory.
LEAST_RANK = 4
# Products for one direction above which a larger factor is tried.
MANY_PRODUCTS = 25


class Conditioning(ABC):
    """A policy: from the covariance to a function that preconditions each Newton system in turn."""

    @abstractmethod
    def prepare(self, covariance: ClassCovariance) -> Condition:
        """Do once what serves all systems of a fit."""


@dataclass(frozen=True)
class DiagonalConditioning(Conditioning):
    """The diagonal of Seeger (2008), App. B."""

    def prepare(self, covariance: ClassCovariance) -> Condition:
        return lambda curvature, members: diagonal_preconditioner(covariance, curvature)


@dataclass(frozen=True)
class LowRankConditioning(Conditioning):
    """The coupled low-rank preconditioner, at a rank that pays and rebuilt only when it must.

    Parameters
    ----------
    rank : int or None, default=None
        Rank of each operator's factor; None weighs the cost of the factor against the products that it saves.
    largest_rank : int, default=300
        Bound on the rank that None begins with.
    staleness : float, default=0.03
        Relative change of the curvature up to which an old preconditioner is used again.
    memory : float, default=inf
        Bytes that it may take, for all weightings together, at ranks beyond the least.
    seed : int, default=0
        Of the random pivots.
    """

    rank: int | None = None
    largest_rank: int = 300
    staleness: float = 0.03
    memory: float = np.inf
    seed: int = 0

    def prepare(self, covariance: ClassCovariance) -> Condition:
        if covariance.mixing.forest is None:
            return DiagonalConditioning().prepare(covariance)
        return _Conditioner(self, covariance)

    def rank_for(self, covariance: ClassCovariance, n_batch: int) -> int:
        """The rank to begin with."""
        if self.rank is not None:
            return self.rank
        return min(self.largest_rank, affordable_rank(covariance, n_batch, self.memory))


def product_cost(covariance: ClassCovariance, n_batch: int) -> float:
    """Time of one product with the covariance, in floating-point operations."""
    n_reads, itemsize = covariance.operators[0].n_reads, covariance.operators[0].dtype.itemsize
    reading = len(covariance.operators) * n_reads * itemsize * FLOPS_PER_BYTE
    beside = PASSES_PER_PRODUCT * covariance.n_points
    return reading + (2.0 * n_reads + beside) * covariance.n_classes * n_batch


def build_cost(covariance: ClassCovariance, n_batch: int, rank: int) -> float:
    """Time of building a preconditioner, in floating-point operations."""
    size = rank * rows_per_rank(covariance)
    return n_batch * (covariance.n_points * size**2 + size**3 / 3)


def rows_per_rank(covariance: ClassCovariance) -> int:
    """Rows of all classes, or coordinates where these are more, for each row of an operator's factor."""
    forest = covariance.mixing.forest
    if forest is None or not len(forest.inner):
        return covariance.n_classes
    rows = sum(map(len, operators_on(forest.order.paths, covariance.assignment)))
    return max(rows, covariance.mixing.n_latent)


def affordable_rank(covariance: ClassCovariance, n_batch: int, memory: float) -> int:
    """The rank at which building the preconditioner takes the time of a few products."""
    per_square = n_batch * covariance.n_points * rows_per_rank(covariance) ** 2
    by_time = np.sqrt(PRODUCTS_PER_BUILD * product_cost(covariance, n_batch) / per_square)
    return int(min(by_time, largest_rank(covariance, n_batch, memory)))


def largest_rank(covariance: ClassCovariance, n_batch: int, memory: float) -> int:
    """What memory allows, and the size of the Woodbury matrix."""
    n, n_rows, n_kernels = covariance.n_points, rows_per_rank(covariance), len(covariance.operators)
    by_size = int(min(n, LARGEST_WOODBURY / n_rows))
    ranks = np.arange(by_size + 1)
    by_memory = np.flatnonzero(preconditioner_bytes(n_rows, n, n_kernels, n_batch, ranks) <= memory).max(initial=0)
    return int(max(by_memory, min(by_size, LEAST_RANK)))


def preconditioner_bytes(n_rows: int, n_points: int, n_kernels: int, n_batch: int, rank: Any) -> Any:
    """What the preconditioner of a rank holds at its peak.

    Factors of all kernels, while they are put together; for every weighting the scaled rows of all classes, and
    Woodbury's matrix, twice while it is built. All in double precision, in which they are where variances are large.

    Parameters
    ----------
    n_rows : int
        `rows_per_rank`; each class has a row for its constant besides.
    n_points, n_kernels, n_batch : int
    rank : number or array of them
    """
    size = (rank + 1.0) * n_rows
    return 8.0 * (2.0 * n_kernels * rank * n_points + n_batch * size * n_points + 2.0 * (n_batch + 1) * size**2)


class _Conditioner:
    """Builds, reuses and enlarges the low-rank preconditioner over the steps of one fit."""

    def __init__(self, policy: LowRankConditioning, covariance: ClassCovariance):
        self.policy = policy
        self.covariance = covariance
        self.rank = 0
        self.random = np.random.default_rng(policy.seed)
        self.factors: CovarianceFactors | None = None
        self.built: _Counted | None = None
        self.built_for: Indices = np.arange(0)

    def __call__(self, curvature: Curvature, members: Indices) -> Preconditioner:
        if self.built is not None and self._still_good(self.built, curvature, members):
            return _Reused(self.built, curvature, np.searchsorted(self.built_for, members))
        factors = self._factors(len(members))
        self.built = None  # before its successor is built, which takes as much memory
        self.built = _Counted(LowRank(factors, curvature.pointwise))
        self.built_for = members
        return _Reused(self.built, curvature, np.arange(len(members))) if curvature.couples_points else self.built

    def _still_good(self, built: "_Counted", curvature: Curvature, members: Indices) -> bool:
        if built.n_solves > MANY_PRODUCTS or not np.isin(members, self.built_for).all():
            return False
        old = built.inner.curvature.scale[np.searchsorted(self.built_for, members)] ** 2
        new = curvature.pointwise
        # Relative to the diagonal of W, which is far below S^2 for probabilities near zero and one.
        size = new.diagonal().sum(axis=(1, 2))
        change, allowed = np.abs(new.scale**2 - old).sum(axis=(1, 2)), self.policy.staleness * size
        return bool((change <= allowed).all())

    def _factors(self, n_batch: int) -> CovarianceFactors:
        """Factors of the covariance, of twice the rank when the last direction cost more products than they would."""
        rank = self.rank or self.policy.rank_for(self.covariance, n_batch)
        doubled = min(2 * rank + 1, largest_rank(self.covariance, n_batch, self.policy.memory))
        n_solves = self.built.n_solves if self.built is not None else 0
        cost = build_cost(self.covariance, n_batch, doubled) / product_cost(self.covariance, n_batch)
        if self.policy.rank is None and n_solves > MANY_PRODUCTS + cost:
            rank = doubled
        if self.factors is None or rank > self.rank:
            self.rank = rank
            self.factors = self.built = None
            self.factors = factorise(self.covariance, rank, self.random)
        return self.factors


class _Counted(Preconditioner):
    """A preconditioner that counts its uses, which is how many products a direction took."""

    def __init__(self, inner: LowRank):
        self.inner = inner
        self.n_solves = 0

    def solve(self, residual: Array, members: Indices) -> Array:
        self.n_solves += 1
        return self.inner.solve(residual, members)


class _Reused(Preconditioner):
    """A preconditioner of an earlier step, projected on the range that belongs to this one."""

    def __init__(self, earlier: _Counted, curvature: Curvature, positions: Indices):
        self.earlier = earlier
        self.curvature = curvature.in_precision(earlier.inner.factors.dtype)
        self.positions = positions
        earlier.n_solves = 0

    def solve(self, residual: Array, members: Indices) -> Array:
        solved = self.earlier.solve(residual, self.positions[members])
        return self.curvature.take_members(members).in_precision(solved.dtype).project(solved)
