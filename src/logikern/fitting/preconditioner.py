"""Approximate inverses of the Newton system for conjugate gradients."""

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve

from logikern.likelihoods.base import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.pivoted_cholesky import randomly_pivoted_cholesky
from logikern.structure.covariance import ClassCovariance

LARGEST_SINGLE_ERROR = 0.2


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
    scratch : array of shape (sum of ranks, n)
        Where rows of all classes are stacked, again and again: new memory each time would cost much.
    """

    factors: tuple[Array, ...]
    assignment: Indices
    deviations: Array
    bias_deviation: float
    residual: Array
    scratch: Array

    @property
    def offsets(self) -> Indices:
        """Where the coordinates of each class begin: the rank of its factor and one for the bias."""
        ranks = [len(self.factors[index]) + 1 for index in self.assignment]
        return np.concatenate([[0], np.cumsum(ranks)])

    def project(self, functions: Array) -> Array:
        """Coordinates (m, sum of ranks) of functions (m, C, n): one product for all classes of an operator."""
        offsets, coordinates = self.offsets, np.empty((len(functions), self.offsets[-1]))
        for number, factor in enumerate(self.factors):
            users = np.flatnonzero(self.assignment == number)
            own = functions[:, users].astype(factor.dtype).reshape(-1, factor.shape[1]) @ factor.T
            own = own.reshape(len(functions), len(users), len(factor)) * self.deviations[users][:, None]
            for place, index in enumerate(users):
                coordinates[:, offsets[index] : offsets[index + 1] - 1] = own[:, place]
        coordinates[:, offsets[1:] - 1] = self.bias_deviation * functions.sum(axis=-1)
        return coordinates

    def expand(self, coordinates: Array) -> Array:
        """The transposed map, (m, sum of ranks) -> (m, C, n)."""
        offsets, n_points = self.offsets, self.residual.shape[1]
        functions = np.empty((len(coordinates), len(self.assignment), n_points))
        for number, factor in enumerate(self.factors):
            users = np.flatnonzero(self.assignment == number)
            own = np.stack(
                [self.deviations[index] * coordinates[:, offsets[index] : offsets[index + 1] - 1] for index in users],
                axis=1,
            )
            image = own.astype(factor.dtype).reshape(len(coordinates) * len(users), len(factor)) @ factor
            functions[:, users] = image.reshape(len(coordinates), len(users), n_points)
        functions += self.bias_deviation * coordinates[:, offsets[1:] - 1][:, :, None]
        return functions


def factorise(covariance: ClassCovariance, rank: int, random: np.random.Generator) -> CovarianceFactors:
    """Low-rank factors of all class covariances: one pivoted factor per operator."""
    own = [
        randomly_pivoted_cholesky(operator.rows, operator.diagonal(), rank, random)
        for operator in covariance.operators
    ]
    residual = np.stack([own[index].residual for index in covariance.assignment])
    # The Woodbury matrix is a difference of products of this size: the identity in it must not be rounded away.
    largest = float(covariance.variances.max()) * covariance.n_points * np.finfo(np.float32).eps
    dtype = np.float64 if largest > LARGEST_SINGLE_ERROR else own[0].factor.dtype
    n_rows = sum(len(own[index].factor) + 1 for index in covariance.assignment)
    return CovarianceFactors(
        tuple(part.factor.astype(dtype, copy=False) for part in own),
        covariance.assignment,
        np.sqrt(covariance.variances),
        float(np.sqrt(covariance.bias_variance)),
        residual * covariance.variances[:, None],
        np.empty((n_rows, covariance.n_points), dtype=dtype),
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
        self.woodbury = [self._woodbury(member) for member in range(len(curvature.scale))]

    def _woodbury(self, member: int) -> tuple[Array, bool]:
        strength = self.curvature.scale[member] ** 2 * self.damping[member]  # T_c, (C, n)
        stacked = self._stack(np.sqrt(strength), self.factors.scratch)
        matrix = np.zeros((self.offsets[-1],) * 2)
        for start, end in itertools.pairwise(self.offsets):
            matrix[start:end, start:end] = stacked[start:end] @ stacked[start:end].T
        if self.curvature.null is not None:
            total = strength.sum(axis=0)
            stacked = self._stack(strength / np.sqrt(np.where(total > 0, total, 1.0)), self.factors.scratch)
            matrix -= stacked @ stacked.T
        matrix.flat[:: len(matrix) + 1] += 1.0
        return _robust_cholesky(matrix)

    def _stack(self, weights: Array, stacked: Array) -> Array:
        """Rows F_c * weights[c] of all classes, one below the other, written into `stacked`."""
        factors = self.factors
        dtype = stacked.dtype
        for index, own in enumerate(weights):
            start, end = self.offsets[index], self.offsets[index + 1] - 1
            scaled = (own * factors.deviations[index]).astype(dtype)
            np.multiply(factors.factors[factors.assignment[index]], scaled, out=stacked[start:end])
            stacked[end] = factors.bias_deviation * own
        return stacked

    def solve(self, residual: Array, members: Indices) -> Array:
        base = self._base_solve(residual, members)
        scale = self.curvature.scale[members]
        inner = scale * base
        coordinates = self.factors.project(inner)
        for position, member in enumerate(members):
            coordinates[position] = cho_solve(self.woodbury[member], coordinates[position], check_finite=False)
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
    """Cholesky factor; a growing ridge if rounding made the matrix indefinite.

    By NumPy, like the products around it: the threads of SciPy's own linear algebra would wait for those of NumPy.
    """
    ridge = 0.0
    for _ in range(8):
        try:
            lower = np.linalg.cholesky(matrix + ridge * np.eye(len(matrix)) if ridge else matrix)
            return np.asfortranarray(lower), True  # as LAPACK wants it, or every solve would copy it
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, 1e-7 * float(np.trace(matrix)) / len(matrix))
    return np.diag(np.sqrt(np.maximum(np.diag(matrix), 0.0) + ridge + 1.0)), True
