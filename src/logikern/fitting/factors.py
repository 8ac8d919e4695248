"""Low-rank factors of the covariance between classes."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.numerics.pivoted_cholesky import LowRankFactor, randomly_pivoted_cholesky
from logikern.operators.base import KernelOperator
from logikern.structure.base import Mixing
from logikern.structure.covariance import ClassCovariance

LARGEST_SINGLE_ERROR = 0.2


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
