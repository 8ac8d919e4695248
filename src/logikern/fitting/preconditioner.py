"""Approximate inverses of the Newton system for conjugate gradients."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf

from logikern.likelihoods.base import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, shares
from logikern.numerics.pivoted_cholesky import LowRankFactor, randomly_pivoted_cholesky
from logikern.operators.base import KernelOperator
from logikern.structure.covariance import ClassCovariance

LARGEST_SINGLE_ERROR = 0.2
# Rows or columns of a factor below which a second thread takes longer to wake than to multiply.
SMALLEST_SHARE = 32


class Preconditioner(ABC):
    """A symmetric positive definite approximation of (I + V' K~ V)^-1 on the range of the projector."""

    @abstractmethod
    def solve(self, residual: Array, members: Indices) -> Array:
        """Apply it to residuals (members, C, n)."""


@dataclass(frozen=True, eq=False)
class Diagonal(Preconditioner):
    """diag(I + V' K~ V)^-1, Seeger (2008), App. B, projected on both sides.

    Parameters
    ----------
    inverse : array of shape (B, C, n)
    curvature : Curvature
    """

    inverse: Array
    curvature: Curvature

    def solve(self, residual: Array, members: Indices) -> Array:
        return self.curvature.project(self.inverse[members] * residual, members)


def diagonal_preconditioner(covariance: ClassCovariance, curvature: Curvature) -> Diagonal:
    """From the diagonal of the covariance alone; the classes' own blocks only (flat classes)."""
    own = covariance.diagonal()  # (C, n)
    scale, null = curvature.scale, curvature.null
    if null is None:
        return Diagonal(1.0 / (1.0 + scale**2 * own), curvature)
    probabilities = null**2
    mean = np.einsum("bcn,cn->bn", probabilities**2, own)[:, None, :]
    system = 1.0 + scale**2 * ((1.0 - 2.0 * probabilities) * own + mean)
    return Diagonal(1.0 / system, curvature)


class CovarianceFactors(NamedTuple):
    """K~_c ~ v_c F' F + bias_variance 1 1' + diag(residual[c]), F the factor of the class's operator.

    Attributes
    ----------
    factors : tuple of arrays of shape (r, n), one per operator
    assignment : integer array of shape (C,)
    deviations : array of shape (C,)
        Square roots of the variances.
    bias_deviation : float
    residual : array of shape (C, n)
    scratch : list of arrays of shape (sum of ranks, n)
        Where rows of all classes are stacked, again and again: new memory each time would cost much.
    """

    factors: tuple[Array, ...]
    assignment: Indices
    deviations: Array
    bias_deviation: float
    residual: Array
    scratch: list[Array]

    @property
    def offsets(self) -> Indices:
        """Where the coordinates of each class begin: the rank of its factor and one for the bias."""
        ranks = [len(self.factors[index]) + 1 for index in self.assignment]
        return np.concatenate([[0], np.cumsum(ranks)])

    def project(self, functions: Array) -> Array:
        """Coordinates (m, sum of ranks) of functions (m, C, n): one product for all classes of an operator."""
        offsets, coordinates = self.offsets, np.empty((len(functions), self.offsets[-1]))

        def project_on(share: tuple[int, slice]) -> None:
            number, rows = share
            factor, users = self.factors[number][rows], np.flatnonzero(self.assignment == number)
            own = functions[:, users].astype(factor.dtype).reshape(-1, factor.shape[1]) @ factor.T
            own = own.reshape(len(functions), len(users), len(factor)) * self.deviations[users][:, None]
            for place, index in enumerate(users):
                coordinates[:, offsets[index] + rows.start : offsets[index] + rows.stop] = own[:, place]

        for_each(project_on, self._shares([len(factor) for factor in self.factors]))
        coordinates[:, offsets[1:] - 1] = self.bias_deviation * functions.sum(axis=-1)
        return coordinates

    def expand(self, coordinates: Array) -> Array:
        """The transposed map, (m, sum of ranks) -> (m, C, n)."""
        offsets, n_points = self.offsets, self.residual.shape[1]
        functions = np.empty((len(coordinates), len(self.assignment), n_points))

        def expand_on(share: tuple[int, slice]) -> None:
            number, columns = share
            factor, users = self.factors[number], np.flatnonzero(self.assignment == number)
            own = np.stack(
                [self.deviations[index] * coordinates[:, offsets[index] : offsets[index + 1] - 1] for index in users],
                axis=1,
            )
            image = own.astype(factor.dtype).reshape(len(coordinates) * len(users), len(factor)) @ factor[:, columns]
            functions[:, users, columns] = image.reshape(len(coordinates), len(users), -1)

        for_each(expand_on, self._shares([n_points] * len(self.factors)))
        functions += self.bias_deviation * coordinates[:, offsets[1:] - 1][:, :, None]
        return functions

    def borrow(self) -> Array:
        """An array for the scaled rows of all classes, to be put back on `scratch`."""
        try:
            return self.scratch.pop()
        except IndexError:
            return np.empty((self.offsets[-1], self.residual.shape[1]), dtype=self.factors[0].dtype)

    def scale_rows(self, index: int, weights: Array, out: Array) -> None:
        """The rows of a class and its bias, times weights (n,)."""
        scaled = (weights * self.deviations[index]).astype(out.dtype)
        np.multiply(self.factors[self.assignment[index]], scaled, out=out[:-1])
        out[-1] = self.bias_deviation * weights

    def _shares(self, lengths: list[int]) -> list[tuple[int, slice]]:
        """Operators in one piece, a single one in as many as there are threads."""
        if len(lengths) == 1:
            return [(0, share) for share in shares(lengths[0], SMALLEST_SHARE)]
        return [(number, slice(0, length)) for number, length in enumerate(lengths)]


def factorise(covariance: ClassCovariance, rank: int, random: np.random.Generator) -> CovarianceFactors:
    """Low-rank factors of all class covariances: one pivoted factor per operator."""
    def factorise_one(share: tuple[KernelOperator, np.random.Generator]) -> LowRankFactor:
        operator, own_random = share
        return randomly_pivoted_cholesky(operator.rows, operator.diagonal(), rank, own_random)

    own = for_each(factorise_one, zip(covariance.operators, random.spawn(len(covariance.operators)), strict=True))
    residual = np.stack([own[index].residual for index in covariance.assignment])
    # The Woodbury matrix is a difference of products of this size: the identity in it must not be rounded away.
    largest = float(covariance.variances.max()) * covariance.n_points * np.finfo(np.float32).eps
    dtype = np.float64 if largest > LARGEST_SINGLE_ERROR else own[0].factor.dtype
    return CovarianceFactors(
        tuple(part.factor.astype(dtype, copy=False) for part in own),
        covariance.assignment,
        np.sqrt(covariance.variances),
        float(np.sqrt(covariance.bias_variance)),
        residual * covariance.variances[:, None],
        [],
    )


class LowRank(Preconditioner):
    """(B + G G')^-1 by Woodbury, with the classes coupled and what the factor misses on the diagonal.

    K~_c ~ F_c' F_c + diag(d_c) makes the system, on the range of the projector
    Pi = I - U U', equal to Pi (I + S d S) Pi + G G' with G = Pi S F'. The first
    part B is a C x C matrix for each point, inverted in closed form:
    with a = 1 / (1 + S^2 d), B^-1 x = a x - a U (U' a x) / (U' a U). The
    Woodbury matrix I + G' B^-1 G has the blocks
    F_c (delta_ce T_c - T_c T_e / T) F_e', T_c = S_c^2 a_c, T = sum_c T_c:
    C small products and one symmetric product of the stacked rows F_c T_c / T^(1/2).
    Without d it would be blind at rough kernels, whose matrices are nearly diagonal.

    Parameters
    ----------
    factors : CovarianceFactors
    curvature : Curvature
    """

    def __init__(self, factors: CovarianceFactors, curvature: Curvature):
        self.factors = factors
        self.curvature = curvature
        self.offsets = factors.offsets
        self.damping = 1.0 / (1.0 + curvature.scale**2 * factors.residual)  # a, (B, C, n)
        if curvature.null is not None:
            self.tilted = self.damping * curvature.null  # a U
            self.total = np.einsum("bcn,bcn->bn", self.tilted, curvature.null)  # U' a U
        self.woodbury = for_each(self._woodbury, range(len(curvature.scale)))

    def _woodbury(self, member: int) -> tuple[Array, bool]:
        """Cholesky factor of the matrix, of which the part below the diagonal is computed."""
        factors, offsets = self.factors, self.offsets
        strength = self.curvature.scale[member] ** 2 * self.damping[member]  # T_c, (C, n)
        coupled = self.curvature.null is not None
        total = strength.sum(axis=0) if coupled else np.inf
        total = np.where(total > 0, total, 1.0)
        own = np.sqrt(np.maximum(strength - strength**2 / total, 0.0))
        shared = strength / np.sqrt(total)
        matrix = np.zeros((offsets[-1],) * 2)
        stacked = factors.borrow()

        def fill_diagonal(index: int) -> None:
            rows = slice(offsets[index], offsets[index + 1])
            factors.scale_rows(index, own[index], stacked[rows])
            matrix[rows, rows] = stacked[rows] @ stacked[rows].T
            if coupled:
                factors.scale_rows(index, shared[index], stacked[rows])

        def fill_below(index: int) -> None:
            rows, before = slice(offsets[index], offsets[index + 1]), slice(0, offsets[index])
            np.negative(stacked[rows] @ stacked[before].T, out=matrix[rows, before])

        n_classes = len(factors.assignment)
        for_each(fill_diagonal, range(n_classes))
        if coupled:
            for_each(fill_below, range(n_classes - 1, 0, -1))
        factors.scratch.append(stacked)
        matrix.flat[:: len(matrix) + 1] += 1.0
        return _robust_cholesky(matrix)

    def solve(self, residual: Array, members: Indices) -> Array:
        base = self._base_solve(residual, members)
        scale = self.curvature.scale[members]
        inner = scale * base
        coordinates = self.factors.project(inner)

        def invert(position: int) -> None:
            coordinates[position] = cho_solve(
                self.woodbury[members[position]], coordinates[position], check_finite=False
            )

        for_each(invert, range(len(members)))
        inner = self.factors.expand(coordinates)
        inner *= scale
        base -= self._base_solve(inner, members)
        return base

    def _base_solve(self, per_class: Array, members: Indices) -> Array:
        result = self.damping[members] * per_class
        if self.curvature.null is None:
            return result
        along = np.einsum("bcn,bcn->bn", self.curvature.null[members], result) / self.total[members]
        result -= self.tilted[members] * along[:, None, :]
        return result


def _robust_cholesky(matrix: Array) -> tuple[Array, bool]:
    """Factor for `cho_solve`, from the part below the diagonal; a growing ridge if rounding made it indefinite."""
    ridge = 0.0
    for _ in range(8):
        # In the order of LAPACK rows are columns, so what is below the diagonal is above it.
        upper, failed = dpotrf(matrix.T, lower=False, clean=False)
        if not failed:
            return upper, False
        added = max(9 * ridge, 1e-7 * float(np.trace(matrix)) / len(matrix))
        matrix.flat[:: len(matrix) + 1] += added
        ridge += added
    return np.diag(np.sqrt(np.maximum(np.diag(matrix), 0.0) + 1.0)), False
