"""Which preconditioner a Newton fit uses, its rank, and when it is rebuilt."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from logikern.fitting.preconditioning.low_rank import CovarianceFactors, factorise, functions_of_classes, operators_on
from logikern.fitting.preconditioning.preconditioner import LowRank, Preconditioner, diagonal_preconditioner
from logikern.likelihoods.curvature import Curvature, PointwiseCurvature
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.structure.covariance import ClassCovariance

Condition = Callable[[Curvature, Indices], Preconditioner]


@dataclass(frozen=True)
class RankPolicy:
    """The best rank of a preconditioner, from a model of the time of products and of its construction."""

    # Largest Woodbury matrix: a larger one costs more to factor than the products that it saves.
    largest_size: int = 3000
    # Time to build the first preconditioner, in units of a product.
    products_per_build: float = 2.0
    # Operations of the processor while it reads a byte. A product reads each stored matrix once.
    flops_per_byte: float = 5.0
    # Passes over all functions per product; negligible compared with a dense matrix.
    passes_per_product: float = 20.0
    # Rank that is allowed for any memory limit.
    least_rank: int = 4
    # Products for one direction above which a larger rank is tried.
    many_products: int = 25

    def product_cost(self, covariance: ClassCovariance, n_batch: int) -> float:
        """Time of one product with the covariance, in floating-point operations."""
        n_reads, itemsize = covariance.operators[0].n_reads, covariance.operators[0].dtype.itemsize
        reading = len(covariance.operators) * n_reads * itemsize * self.flops_per_byte
        beside = self.passes_per_product * covariance.n_points
        return reading + (2.0 * n_reads + beside) * covariance.n_classes * n_batch

    def build_cost(self, covariance: ClassCovariance, n_batch: int, rank: int) -> float:
        """Time to build a preconditioner, in floating-point operations."""
        size = rank * rows_per_rank(covariance)
        return n_batch * (covariance.n_points * size**2 + size**3 / 3)

    def affordable_rank(self, covariance: ClassCovariance, n_batch: int, memory: float) -> int:
        """The rank at which building the preconditioner takes the time of a few products."""
        per_square = n_batch * covariance.n_points * rows_per_rank(covariance) ** 2
        by_time = np.sqrt(self.products_per_build * self.product_cost(covariance, n_batch) / per_square)
        return int(min(by_time, self.largest_rank(covariance, n_batch, memory)))

    def largest_rank(self, covariance: ClassCovariance, n_batch: int, memory: float) -> int:
        """The rank that memory and the size of the Woodbury matrix allow."""
        n, n_rows, n_kernels = covariance.n_points, rows_per_rank(covariance), len(covariance.operators)
        by_size = int(min(n, self.largest_size / n_rows))
        n_bytes = preconditioner_bytes(n_rows, n, n_kernels, n_batch, np.arange(by_size + 1))
        return int(max(np.flatnonzero(n_bytes <= memory).max(initial=0), min(by_size, self.least_rank)))


POLICY = RankPolicy()


def rows_per_rank(covariance: ClassCovariance) -> int:
    """Number of rows of all classes (or of coordinates, if larger) per row of an operator's factor."""
    forest = covariance.mixing.forest
    if forest is not None and not len(forest.inner):
        return covariance.n_classes
    rows = sum(map(len, operators_on(functions_of_classes(covariance.mixing), covariance.assignment)))
    return max(rows, covariance.mixing.n_latent)


class Conditioning(ABC):
    """How the Newton systems of a covariance are preconditioned."""

    @abstractmethod
    def prepare(self, covariance: ClassCovariance) -> Condition:
        """Prepare what all systems of a fit share."""


@dataclass(frozen=True)
class DiagonalConditioning(Conditioning):
    """The diagonal of Seeger (2008), App. B."""

    def prepare(self, covariance: ClassCovariance) -> Condition:
        return lambda curvature, members: diagonal_preconditioner(covariance, curvature)


@dataclass(frozen=True)
class LowRankConditioning(Conditioning):
    """The coupled low-rank preconditioner, at a rank that saves time, rebuilt only when necessary.

    Parameters
    ----------
    rank : int or None, default=None
        Rank of each operator's factor; None lets `policy` weigh the cost against the products that it saves.
    largest_rank : int, default=300
        Upper bound on the first rank if `rank` is None.
    staleness : float, default=0.03
        Relative change of the curvature up to which an old preconditioner is used again.
    memory : float, default=inf
        Largest size in bytes, for all weightings together; the smallest rank may exceed it.
    seed : int, default=0
        Seed of the random pivots.
    policy : RankPolicy
    """

    rank: int | None = None
    largest_rank: int = 300
    staleness: float = 0.03
    memory: float = np.inf
    seed: int = 0
    policy: RankPolicy = POLICY

    def prepare(self, covariance: ClassCovariance) -> Condition:
        parts = covariance.parts
        if len(parts) == 1:
            return _Conditioner(self, covariance)
        own = replace(self, memory=self.memory / len(parts))
        return PartwiseConditioner([_Conditioner(own, part) for part in parts])

    def first_rank(self, covariance: ClassCovariance, n_batch: int) -> int:
        if self.rank is not None:
            return self.rank
        return min(self.largest_rank, self.policy.affordable_rank(covariance, n_batch, self.memory))


def preconditioner_bytes(n_rows: int, n_points: int, n_kernels: int, n_batch: int, rank: Any) -> Any:
    """Peak memory of a preconditioner of some rank, or of several ranks; `n_rows` is `rows_per_rank`.

    It consists of the factors of all kernels (twice while they are assembled) and, for every weighting, the scaled
    rows of all classes and Woodbury's matrix (twice while it is built), all in double precision, which large
    variances need. Each class also has a row for its constant.
    """
    size = (rank + 1.0) * n_rows
    return 8.0 * (2.0 * n_kernels * rank * n_points + n_batch * size * n_points + 2.0 * (n_batch + 1) * size**2)


class _Conditioner:
    """Builds, reuses and enlarges the low-rank preconditioner over the steps of one fit."""

    def __init__(self, settings: LowRankConditioning, covariance: ClassCovariance):
        self.settings = settings
        self.covariance = covariance
        self.rank = 0
        self.random = np.random.default_rng(settings.seed)
        self.factors: CovarianceFactors | None = None
        self.built: LowRank | None = None
        self.built_for: Indices = np.arange(0)

    def __call__(self, curvature: Curvature, members: Indices) -> Preconditioner:
        if self.built is not None and self._is_reusable(self.built, curvature, members):
            return _Reused(self.built, curvature, np.searchsorted(self.built_for, members))
        factors = self._factors(curvature.pointwise)
        self.built = None  # free it before its successor is built, which takes the same memory
        self.built = LowRank(factors, curvature.pointwise)
        self.built_for = members
        return _Reused(self.built, curvature, np.arange(len(members))) if curvature.couples_points else self.built

    def _is_reusable(self, built: LowRank, curvature: Curvature, members: Indices) -> bool:
        if built.n_solves > self.settings.policy.many_products or not np.isin(members, self.built_for).all():
            return False
        old = built.curvature.scale[np.searchsorted(self.built_for, members)] ** 2
        new = curvature.pointwise
        # Relative to the diagonal of W, which is far below S^2 where probabilities are near zero and one.
        size = new.diagonal().sum(axis=(1, 2))
        change, allowed = np.abs(new.scale**2 - old).sum(axis=(1, 2)), self.settings.staleness * size
        return bool((change <= allowed).all())

    def _factors(self, curvature: PointwiseCurvature) -> CovarianceFactors:
        """Factors of the covariance; the rank is doubled if the last direction cost more than new factors would."""
        policy, covariance, n_batch = self.settings.policy, self.covariance, curvature.n_batch
        rank = self.rank or self.settings.first_rank(covariance, n_batch)
        doubled = min(2 * rank + 1, policy.largest_rank(covariance, n_batch, self.settings.memory))
        n_solves = self.built.n_solves if self.built is not None else 0
        cost = policy.build_cost(covariance, n_batch, doubled) / policy.product_cost(covariance, n_batch)
        if self.settings.rank is None and n_solves > policy.many_products + cost:
            rank = doubled
        if self.factors is None or rank > self.rank:
            self.rank = rank
            self.factors = self.built = None
            self.factors = factorise(covariance, rank, self.random, _importance(curvature))
        return self.factors


def _importance(curvature: PointwiseCurvature, least: float = 1e-3) -> Array:
    """Curvature at each point, (n,): where probabilities are near zero and one, the covariance hardly matters."""
    of_points = curvature.diagonal().sum(axis=(0, 1), dtype=float)
    return of_points + max(least * float(of_points.mean()), np.finfo(float).tiny)


class PartwiseConditioner:
    """A preconditioner for each part of the points, as if they were independent (block Jacobi)."""

    def __init__(self, conditioners: "list[_Conditioner]"):
        self.conditioners = conditioners
        edges = accumulate((own.covariance.n_points for own in conditioners), initial=0)
        self.slices = [slice(start, stop) for start, stop in pairwise(edges)]

    def __call__(self, curvature: Curvature, members: Indices) -> Preconditioner:
        pointwise = curvature.pointwise

        def condition(number: int) -> Preconditioner:
            return self.conditioners[number](pointwise.at(self.slices[number]), members)

        parts = for_each(condition, range(len(self.slices)))
        return _Partwise(parts, self.slices, curvature)


class _Partwise(Preconditioner):
    """Preconditioners of consecutive points, side by side."""

    def __init__(self, parts: list[Preconditioner], slices: list[slice], curvature: Curvature):
        self.parts = parts
        self.slices = slices
        self.curvature = curvature

    def solve(self, residual: Array, members: Indices) -> Array:
        solved = np.empty_like(residual)

        def solve_part(number: int) -> None:
            own = self.slices[number]
            solved[..., own] = self.parts[number].solve(np.ascontiguousarray(residual[..., own]), members)

        for_each(solve_part, range(len(self.parts)))
        if not self.curvature.couples_points:
            return solved
        return self.curvature.take_members(members).in_precision(solved.dtype).project(solved)


class _Reused(Preconditioner):
    """The preconditioner of an earlier step, projected on the range of the current step."""

    def __init__(self, earlier: LowRank, curvature: Curvature, positions: Indices):
        self.earlier = earlier
        self.curvature = curvature.in_precision(earlier.factors.dtype)
        self.positions = positions
        earlier.n_solves = 0

    def solve(self, residual: Array, members: Indices) -> Array:
        solved = self.earlier.solve(residual, self.positions[members])
        return self.curvature.take_members(members).in_precision(solved.dtype).project(solved)
