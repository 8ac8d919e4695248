"""Approximate inverses of the Newton system for conjugate gradients."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf

from logikern.likelihoods.base import Curvature
from logikern.numerics.conjugate_gradient import of
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, point_tiles
from logikern.numerics.pivoted_cholesky import LowRankFactor, randomly_pivoted_cholesky
from logikern.operators.base import KernelOperator
from logikern.structure.base import Mixing
from logikern.structure.covariance import ClassCovariance

LARGEST_SINGLE_ERROR = 0.2
# Rows of the Woodbury matrix that are computed at a time.
ROW_CHUNK = 128


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
        curvature = self.curvature.of(members).in_precision(residual.dtype)
        return curvature.project(of(self.inverse, members).astype(residual.dtype, copy=False) * residual)


def diagonal_preconditioner(covariance: ClassCovariance, curvature: Curvature) -> Diagonal:
    """From the covariance between classes at each point."""
    own = covariance.diagonal()  # (C, n)
    scale, null = curvature.scale, curvature.null
    if null is None:
        return Diagonal(1.0 / (1.0 + scale**2 * own), curvature)
    probabilities = null**2
    spread = covariance.matmul_at_points(probabilities)  # K_i pi_i
    mean = np.einsum("bcn,bcn->bn", probabilities, spread)[:, None, :]
    system = 1.0 + scale**2 * (own - 2.0 * spread + mean)
    return Diagonal(1.0 / system, curvature)


@dataclass(frozen=True, eq=False)
class CovarianceFactors:
    """K~ ~ Mixing blockdiag(v_p F_p' F_p) Mixing' + bias_variance (I (x) 1 1') + diag(residual).

    A *piece* is a latent function with the factor of its operator, or the constant of a class, whose factor is a
    row of ones and which lies below the last latent function of its class.

    Attributes
    ----------
    factors : tuple of arrays of shape (r, n), one per operator
    assignment : integer array of shape (P,)
    deviations : array of shape (P,)
        Square roots of the variances.
    bias_deviation : float
    residual : array of shape (C, n)
    mixing : Mixing
    dtype : numpy dtype
        Of what is solved with it.
    scratch : list of arrays of shape (sum of ranks, n)
        Where rows of all pieces are stacked, again and again: new memory each time would cost much.
    """

    factors: tuple[Array, ...]
    assignment: Indices
    deviations: Array
    bias_deviation: float
    residual: Array
    mixing: Mixing
    dtype: np.dtype
    scratch: list[Array] = field(default_factory=list)

    @cached_property
    def function_of(self) -> Indices:
        """The latent function in whose place each piece is, (P,) and for constants another (C,)."""
        latent = np.arange(len(self.assignment))
        return np.concatenate([latent, self.mixing.leaf_latents]) if self.bias_deviation else latent

    @cached_property
    def offsets(self) -> Indices:
        """Where the coordinates of each piece begin."""
        ranks = [len(self.factors[index]) for index in self.assignment]
        ranks += [1] * (len(self.function_of) - len(ranks))
        return np.concatenate([[0], np.cumsum(ranks)]).astype(int)

    @cached_property
    def above(self) -> list[list[int]]:
        """Of every piece the latent functions on the way to it, (those of classes without structure have none)."""
        above: list[list[int]] = [[] for _ in self.assignment]
        for number, upper in self.mixing.links:
            above[number] = [*above[upper], upper]
        return above + [[*above[leaf], leaf] for leaf in self.function_of[len(above) :]]

    @property
    def constants(self) -> slice:
        """Where the coordinates of the constants are."""
        return slice(self.offsets[len(self.assignment)], self.offsets[-1])

    def project(self, functions: Array, points: slice) -> tuple[Array, Array]:
        """Part of the coordinates of class functions (m, C, points), to be summed over points and then mixed.

        With one factor for all, it is the coordinates of classes that are mixed rather than functions.
        """
        constants = functions.sum(axis=-1, dtype=np.float64)  # (m, C)
        if len(self.factors) > 1:
            return self._project_each(functions, points), constants
        factor = self.factors[0][:, points]
        own = functions.reshape(-1, functions.shape[2]).astype(factor.dtype, copy=False) @ factor.T
        return own.astype(np.float64).reshape(*functions.shape[:2], len(factor)), constants

    def mix(self, parts: list[tuple[Array, Array]]) -> Array:
        """Coordinates (m, sum of ranks) from what was projected at all points."""
        own, constants = (np.sum(pieces, axis=0) for pieces in zip(*parts, strict=True))
        coordinates = np.empty((len(constants), self.offsets[-1]))
        if self.bias_deviation:
            coordinates[:, self.constants] = self.bias_deviation * constants
        if len(self.factors) == 1 and own.size:
            own = (self.mixing.adjoint(own) * self.deviations[:, None]).reshape(len(constants), -1)
        if own.size:
            coordinates[:, : self.constants.start] = own
        return coordinates

    def _project_each(self, functions: Array, points: slice) -> Array:
        latent = self.mixing.adjoint(functions)
        coordinates = np.empty((len(functions), self.constants.start))
        for number, whole in enumerate(self.factors):
            factor, users = whole[:, points], np.flatnonzero(self.assignment == number)
            own = latent[:, users].astype(factor.dtype).reshape(-1, factor.shape[1]) @ factor.T
            own = own.reshape(len(functions), len(users), len(factor)) * self.deviations[users][:, None]
            for place, index in enumerate(users):
                coordinates[:, self.offsets[index] : self.offsets[index + 1]] = own[:, place]
        return coordinates

    def unmix(self, coordinates: Array) -> tuple[Array, Array]:
        """The transposed map of `mix`: what is expanded at every point."""
        inner = coordinates[:, : self.constants.start]
        if len(self.factors) == 1:
            rank = len(self.factors[0])
            own = inner.reshape(len(inner), len(self.assignment), rank) * self.deviations[:, None]
            inner = (self.mixing.forward(own) if rank else own[:, :0]).astype(self.factors[0].dtype)
        n_constants = self.mixing.n_classes
        constants = self.bias_deviation * coordinates[:, self.constants] if self.bias_deviation else None
        return inner, np.zeros((len(inner), n_constants)) if constants is None else constants

    def expand(self, unmixed: tuple[Array, Array], points: slice) -> Array:
        """The transposed map of `project`, at some points, (m, C, points)."""
        own, constants = unmixed
        shape = (*constants.shape, points.stop - points.start)
        if len(self.factors) > 1:
            functions = self._expand_each(own, points)
        elif own.size:
            factor = self.factors[0][:, points]
            functions = (own.reshape(-1, len(factor)) @ factor).astype(self.dtype, copy=False).reshape(shape)
        else:
            functions = np.zeros(shape, dtype=self.dtype)
        functions += constants[:, :, None].astype(self.dtype)
        return functions

    def _expand_each(self, coordinates: Array, points: slice) -> Array:
        n_points = points.stop - points.start
        latent = np.empty((len(coordinates), len(self.assignment), n_points), dtype=self.dtype)
        for number, whole in enumerate(self.factors):
            factor, users = whole[:, points], np.flatnonzero(self.assignment == number)
            own = np.stack(
                [
                    self.deviations[index] * coordinates[:, self.offsets[index] : self.offsets[index + 1]]
                    for index in users
                ],
                axis=1,
            )
            image = own.astype(factor.dtype).reshape(len(coordinates) * len(users), len(factor)) @ factor
            latent[:, users] = image.reshape(len(coordinates), len(users), n_points)
        return self.mixing.forward(latent)

    def borrow(self) -> Array:
        """An array for the scaled rows of all pieces, to be put back on `scratch`."""
        try:
            return self.scratch.pop()
        except IndexError:
            return np.empty((self.offsets[-1], self.residual.shape[1]), dtype=self.factors[0].dtype)

    def scale_rows(self, piece: int, weights: Array, out: Array) -> Array:
        """The rows of a piece times weights (n,)."""
        if piece >= len(self.assignment):
            np.multiply(self.bias_deviation, weights, out=out[0], casting="same_kind")
            return out
        scaled = (weights * self.deviations[piece]).astype(out.dtype)
        return np.multiply(self.factors[self.assignment[piece]], scaled, out=out)


def row_chunks(length: int) -> list[slice]:
    """Rows of a matrix in pieces for one product each."""
    return [slice(start, min(start + ROW_CHUNK, length)) for start in range(0, length, ROW_CHUNK)]


def factorise(covariance: ClassCovariance, rank: int, random: np.random.Generator) -> CovarianceFactors:
    """Low-rank factors of the covariance: one pivoted factor per operator."""

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
        covariance.mixing.forward_diagonal(residual * covariance.variances[:, None]),
        covariance.mixing,
        covariance.working_dtype,
    )


class LowRank(Preconditioner):
    """(B + G G')^-1 by Woodbury, with the classes coupled and what the factors miss on the diagonal.

    K~ ~ F' F + diag(d), F the rows of all pieces, makes the system, on the range of the projector
    Pi = I - U U', equal to Pi (I + S d S) Pi + G G' with G = Pi S F'. The first
    part B is a C x C matrix for each point, inverted in closed form:
    with a = 1 / (1 + S^2 d), B^-1 x = a x - a U (U' a x) / (U' a U). With T_c = S_c^2 a_c, and T_p the sum of it
    over the classes below p, the Woodbury matrix I + G' B^-1 G has the blocks F_p (T_pq - T_p T_q / T) F_q', where
    T_pq is T_q if p is q or above it, and else nothing: one symmetric product of the stacked rows F_p T_p / T^(1/2),
    and small ones along the paths.
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
        self.damping = curvature.scale**2
        self.damping *= factors.residual
        self.damping += 1.0
        np.divide(1.0, self.damping, out=self.damping)  # a, (B, C, n)
        self.scale = curvature.scale.astype(factors.dtype, copy=False)
        self.null: Array | None = None
        self.tilted: Array | None = None
        self.total: Array | None = None
        if curvature.null is not None:
            self.null = curvature.null.astype(factors.dtype, copy=False)
            tilted = self.damping * curvature.null  # a U
            self.total = np.einsum("bcn,bcn->bn", tilted, curvature.null).astype(factors.dtype)  # U' a U
            self.tilted = tilted.astype(factors.dtype, copy=False)
        self.woodbury = for_each(self._woodbury, range(len(curvature.scale)))
        self.damping = self.damping.astype(factors.dtype, copy=False)

    def _woodbury(self, member: int) -> tuple[Array, bool]:
        """Cholesky factor of the matrix, of which the part below the diagonal is computed."""
        factors, offsets = self.factors, self.offsets
        per_class = self.curvature.scale[member] ** 2 * self.damping[member]  # T_c, (C, n)
        strength = factors.mixing.adjoint(per_class)  # T_p, (P, n)
        coupled = self.curvature.null is not None
        total = per_class.sum(axis=0) if coupled else np.inf
        total = np.where(total > 0, total, 1.0)
        matrix = np.zeros((offsets[-1],) * 2)
        stacked = factors.borrow()

        def own_block(piece: int) -> Array:
            rows, own = slice(offsets[piece], offsets[piece + 1]), strength[factors.function_of[piece]]
            factors.scale_rows(piece, np.sqrt(np.maximum(own - own**2 / total, 0.0)), stacked[rows])
            block = stacked[rows] @ stacked[rows].T
            if coupled:
                factors.scale_rows(piece, own / np.sqrt(total), stacked[rows])
            return block

        def couple_rows(rows: slice) -> None:
            np.negative(stacked[rows] @ stacked[: rows.stop].T, out=matrix[rows, : rows.stop])

        pieces = range(len(offsets) - 1)
        blocks = for_each(own_block, pieces)
        if coupled:
            # The last rows are the longest: they come first, so that threads end together.
            for_each(couple_rows, row_chunks(len(matrix))[::-1])
        for piece in pieces:
            rows = slice(offsets[piece], offsets[piece + 1])
            matrix[rows, rows] = blocks[piece]
            upper = [place for place in factors.above[piece] if offsets[place + 1] > offsets[place]]
            if upper and rows.stop > rows.start:
                self._add_path(matrix, rows, upper, piece, strength)
        factors.scratch.append(stacked)
        matrix.flat[:: len(matrix) + 1] += 1.0
        return _robust_cholesky(matrix)

    def _add_path(self, matrix: Array, rows: slice, upper: list[int], piece: int, strength: Array) -> None:
        """F_q T_q F_p' for every function p above the piece q."""
        factors, offsets = self.factors, self.offsets
        n_rows, n_points = rows.stop - rows.start, self.factors.residual.shape[1]
        own = np.empty((n_rows, n_points), dtype=factors.factors[0].dtype)
        factors.scale_rows(piece, strength[factors.function_of[piece]], own)
        images: dict[int, Array] = {}
        for place in upper:
            number = factors.assignment[place]
            if number not in images:
                images[number] = own @ factors.factors[number].T
            columns = slice(offsets[place], offsets[place + 1])
            matrix[rows, columns] += factors.deviations[place] * images[number]

    def solve(self, residual: Array, members: Indices) -> Array:
        part = _Part.of(self, members)
        tiles = point_tiles(residual.shape)
        base = np.empty_like(residual)

        def begin(points: slice) -> tuple[Array, Array]:
            base[..., points] = part.base_solve(residual[..., points], points)
            return self.factors.project(part.scale[..., points] * base[..., points], points)

        coordinates = self.factors.mix(for_each(begin, tiles))

        def invert(position: int) -> None:
            coordinates[position] = cho_solve(
                self.woodbury[members[position]], coordinates[position], check_finite=False
            )

        for_each(invert, range(len(members)))

        unmixed = self.factors.unmix(coordinates)

        def finish(points: slice) -> None:
            inner = self.factors.expand(unmixed, points)
            inner *= part.scale[..., points]
            base[..., points] -= part.base_solve(inner, points)

        for_each(finish, tiles)
        return base


class _Part(NamedTuple):
    """What the base of the preconditioner holds for some members of the batch."""

    damping: Array
    scale: Array
    null: Array | None
    tilted: Array | None
    total: Array | None

    @classmethod
    def of(cls, whole: LowRank, members: Indices) -> "_Part":
        arrays = (whole.damping, whole.scale, whole.null, whole.tilted, whole.total)
        return cls(*(None if array is None else of(array, members) for array in arrays))  # type: ignore[arg-type]

    def base_solve(self, per_class: Array, points: slice) -> Array:
        """B^-1 at some points, a new array."""
        result = self.damping[..., points] * per_class
        if self.null is None or self.tilted is None or self.total is None:
            return result
        along = np.einsum("bcn,bcn->bn", self.null[..., points], result) / self.total[:, points]
        result -= self.tilted[..., points] * along[:, None, :]
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
