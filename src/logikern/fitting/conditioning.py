"""Which preconditioner a Newton fit uses, how large it is and when it is rebuilt."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from logikern.fitting.preconditioner import LowRank, Preconditioner, diagonal_preconditioner, factorise
from logikern.likelihoods.base import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.structure.covariance import ClassCovariance

Condition = Callable[[Curvature, Indices], Preconditioner]

# A Woodbury matrix larger than this costs more to factor than the products that it saves.
LARGEST_WOODBURY = 3000
# Flops of the Woodbury product, which runs at full speed, that take the time of one flop of a kernel
# product, which waits for memory.
FLOP_ADVANTAGE = 4.0
PRODUCTS_PER_BUILD = 4.0
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
    largest_rank : int, default=150
        Bound on the rank that None begins with.
    staleness : float, default=0.003
        Relative change of the curvature up to which an old preconditioner is used again.
    memory : float, default=inf
        Bytes that the stacked factors may take.
    seed : int, default=0
        Of the random pivots.
    """

    rank: int | None = None
    largest_rank: int = 150
    staleness: float = 0.003
    memory: float = np.inf
    seed: int = 0

    def prepare(self, covariance: ClassCovariance) -> Condition:
        rank = (
            self.rank if self.rank is not None else min(self.largest_rank, affordable_rank(covariance, self.memory))
        )
        return _Conditioner(self, covariance, rank)


def affordable_rank(covariance: ClassCovariance, memory: float) -> int:
    """The rank at which building the preconditioner takes the time of a few products.

    Building is n (r C)^2 flops, a product 2 n^2 C.
    """
    n, n_classes = covariance.n_points, covariance.n_classes
    by_time = np.sqrt(PRODUCTS_PER_BUILD * FLOP_ADVANTAGE * 2 * n / n_classes)
    by_size = LARGEST_WOODBURY / n_classes
    by_memory = memory / (n * n_classes * covariance.operators[0].dtype.itemsize)
    return int(np.clip(min(by_time, by_size, by_memory), 4, n))


class _Conditioner:
    """Builds, reuses and enlarges the low-rank preconditioner over the steps of one fit."""

    def __init__(self, policy: LowRankConditioning, covariance: ClassCovariance, rank: int):
        self.policy = policy
        self.covariance = covariance
        self.rank = rank
        self.random = np.random.default_rng(policy.seed)
        self.factors = factorise(covariance, rank, self.random)
        self.built: _Counted | None = None
        self.built_for: Indices = np.arange(0)

    def __call__(self, curvature: Curvature, members: Indices) -> Preconditioner:
        if self.built is not None and self._still_good(self.built, curvature, members):
            return _Reused(self.built, curvature, np.searchsorted(self.built_for, members))
        self._enlarge_if_it_pays()
        self.built = _Counted(LowRank(self.factors, curvature))
        self.built_for = members
        return self.built

    def _still_good(self, built: "_Counted", curvature: Curvature, members: Indices) -> bool:
        if built.n_solves > MANY_PRODUCTS or not np.isin(members, self.built_for).all():
            return False
        old = built.inner.curvature.scale[np.searchsorted(self.built_for, members)] ** 2
        new = curvature.scale**2
        change = np.abs(new - old).sum(axis=(1, 2)) / new.sum(axis=(1, 2))
        return bool((change <= self.policy.staleness).all())

    def _enlarge_if_it_pays(self) -> None:
        """Double the rank when the last direction cost more products than a larger factor would."""
        doubled = min(2 * self.rank, self.covariance.n_points)
        cost = doubled**2 * self.covariance.n_classes / (2 * FLOP_ADVANTAGE * self.covariance.n_points)
        n_solves = self.built.n_solves if self.built is not None else 0
        if self.policy.rank is None and doubled > self.rank and n_solves > MANY_PRODUCTS + cost:
            self.rank = doubled
            self.factors = factorise(self.covariance, doubled, self.random)


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
        self.curvature = curvature
        self.positions = positions
        earlier.n_solves = 0

    def solve(self, residual: Array, members: Indices) -> Array:
        return self.curvature.project(self.earlier.solve(residual, self.positions[members]), members)
