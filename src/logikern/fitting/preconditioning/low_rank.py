"""Low-rank factors of the covariance between classes."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.numerics.pivoted_cholesky import LowRankFactor, randomly_pivoted_cholesky
from logikern.operators.base import KernelOperator
from logikern.structure.covariance import ClassCovariance
from logikern.structure.forest import ClassForest, ClassOrder
from logikern.structure.mixing import Flat, Mixing


def operators_on(paths: list[list[int]], assignment: Indices) -> list[list[int]]:
    """The operators used by the latent functions of each path."""
    return [sorted({int(assignment[number]) for number in path}) for path in paths]


def functions_of_classes(mixing: Mixing) -> list[list[int]]:
    """The latent functions of each class: along its path in class order, or any number of them without a forest."""
    if mixing.forest is not None:
        return mixing.forest.order.paths
    return [np.flatnonzero(row).tolist() for row in mixing.as_matrix()]


@dataclass(frozen=True, eq=False)
class CovarianceFactors:
    """K~ ~ Mixing blockdiag(v_p (F_p' F_p + diag(r_p))) Mixing' + bias_variance (I (x) 1 1').

    Without a forest, the residuals r count on the diagonal of K~ only, not between classes.

    Coordinates belong to latent functions, one after the other, and then to the constants of classes. The *rows* of a
    class are the factors of all operators of its functions and, for its constant, a row of ones.
    """

    factors: tuple[Array, ...]  # (r, n), one per operator
    assignment: Indices  # (P,)
    deviations: Array  # (P,): square roots of the variances
    bias_deviation: float
    residuals: Array  # (operators, n): the part of the missed diagonal that counts, see `diagonal_fraction`
    mixing: Mixing
    dtype: np.dtype  # dtype of residuals and solutions
    # (rows of all classes, n): buffers for stacked rows: allocating them each time would be slow.
    scratch: list[Array] = field(default_factory=list)

    @cached_property
    def offsets(self) -> Indices:
        """First coordinate of each latent function, and then of the constants."""
        ranks = [len(self.factors[index]) for index in self.assignment]
        ranks += [1] * (self.mixing.n_classes if self.bias_deviation else 0)
        return np.concatenate([[0], np.cumsum(ranks)]).astype(int)

    @cached_property
    def forest(self) -> ClassForest:
        """The forest along which residuals couple classes at a point.

        If the mixing has no forest, a flat one, so that residuals do not couple classes.
        """
        return self.mixing.forest or Flat(self.mixing.n_classes).forest

    @property
    def is_separate(self) -> bool:
        """Whether every class has a function of its own and no other."""
        return self.mixing.forest is not None and not len(self.forest.inner)

    @property
    def order(self) -> ClassOrder:
        return self.forest.order

    @cached_property
    def operators_of(self) -> list[list[int]]:
        """The operators of each class, in class order."""
        return operators_on(functions_of_classes(self.mixing), self.assignment)

    @cached_property
    def row_offsets(self) -> Indices:
        """First row of each class, in class order."""
        counts = [sum(len(self.factors[index]) for index in own) for own in self.operators_of]
        return np.concatenate([[0], np.cumsum(np.array(counts) + bool(self.bias_deviation))]).astype(int)

    def missing(self, points: slice) -> Array:
        """Residual variance of every function of the forest at some points, (functions, points)."""
        latent = self.residuals[self.assignment, points] * (self.deviations**2)[:, None]
        return latent if self.mixing.forest is not None else self.mixing.forward_diagonal(latent)

    @property
    def constants(self) -> slice:
        """Coordinates of the constants."""
        return slice(self.offsets[len(self.assignment)], self.offsets[-1])

    def project(self, functions: Array, points: slice) -> tuple[Array, Array]:
        """Part of the coordinates of class functions (m, C, points), to be summed over points and then mixed.

        With one factor for all functions, `mix` mixes coordinates of classes, which is cheaper.
        """
        constants = functions.sum(axis=-1, dtype=np.float64)  # (m, C)
        if len(self.factors) > 1:
            return self._project_each(functions, points), constants
        factor = self.factors[0][:, points]
        own = functions.reshape(-1, functions.shape[2]).astype(factor.dtype, copy=False) @ factor.T
        return own.astype(np.float64).reshape(*functions.shape[:2], len(factor)), constants

    def mix(self, parts: list[tuple[Array, Array]]) -> Array:
        """Coordinates (m, sum of ranks) from the projections at all points."""
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
        """The transpose of `mix`; its result is the argument of `expand`."""
        inner = coordinates[:, : self.constants.start]
        if len(self.factors) == 1:
            rank = len(self.factors[0])
            own = inner.reshape(len(inner), len(self.assignment), rank) * self.deviations[:, None]
            inner = (self.mixing.forward(own) if rank else own[:, :0]).astype(self.factors[0].dtype)
        n_constants = self.mixing.n_classes
        constants = self.bias_deviation * coordinates[:, self.constants] if self.bias_deviation else None
        return inner, np.zeros((len(inner), n_constants)) if constants is None else constants

    def expand(self, unmixed: tuple[Array, Array], points: slice) -> Array:
        """The transpose of `project`, at some points, (m, C, points)."""
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
        """A buffer for the scaled rows of all classes, to be returned to `scratch`."""
        try:
            return self.scratch.pop()
        except IndexError:
            return np.empty((self.row_offsets[-1], self.residuals.shape[1]), dtype=self.factors[0].dtype)

    def scale_rows(self, place: int, weights: Array, out: Array) -> slice:
        """Write the rows of a class times weights (n,) into the buffer; returns their slice."""
        rows = slice(*self.row_offsets[place : place + 2])
        start, weights = rows.start, weights.astype(out.dtype)
        for index in self.operators_of[place]:
            factor = self.factors[index]
            np.multiply(factor, weights, out=out[start : start + len(factor)])
            start += len(factor)
        if self.bias_deviation:
            out[start] = weights
        return rows

    def gather(self, matrix: Array) -> Array:
        """Convert a matrix over rows to one over coordinates in the order `arranged`, both below the diagonal."""
        spread = self._spread
        if self.is_separate:
            matrix *= spread.data
            matrix *= spread.data[:, None]
            return matrix
        full = np.tril(matrix)
        full += np.tril(matrix, -1).T
        return spread.T @ (spread.T @ full).T

    @property
    def arranged(self) -> Indices | slice:
        """Coordinates in the order of Woodbury's matrix; without links, in the order of their rows."""
        return self._spread.indices if self.is_separate else slice(None)

    @cached_property
    def _spread(self) -> sparse.csr_array:
        """The linear map from coordinates to the rows of classes, (rows, coordinates)."""
        rows, columns, values = [], [], []
        # Along a path of a forest all loadings are one.
        matrix = self.mixing.as_matrix() if self.mixing.forest is None else None
        for place, path in enumerate(functions_of_classes(self.mixing)):
            starts, start = {}, self.row_offsets[place]
            for index in self.operators_of[place]:
                starts[index] = start
                start += len(self.factors[index])
            for number in path:
                rank = np.arange(len(self.factors[self.assignment[number]]))
                rows.append(starts[self.assignment[number]] + rank)
                columns.append(self.offsets[number] + rank)
                loading = 1.0 if matrix is None else matrix[place, number]
                values.append(np.full(len(rank), self.deviations[number] * loading))
            if self.bias_deviation:
                rows.append(np.array([start]))
                columns.append(np.array([self.constants.start + self.order.classes[place]]))
                values.append(np.array([self.bias_deviation]))
        shape = (self.row_offsets[-1], self.offsets[-1])
        return sparse.csr_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape
        )


def factorise(
    covariance: ClassCovariance,
    rank: int,
    random: np.random.Generator,
    weights: Array | None = None,
    largest_single_error: float = 0.2,
) -> CovarianceFactors:
    """Low-rank factors of the covariance: one pivoted factor per operator, exact where weights (n,) are large.

    They are in double precision if the Woodbury matrix, a difference of large products, would otherwise have a
    rounding error above `largest_single_error` relative to its identity.
    """

    def factorise_one(task: tuple[KernelOperator, np.random.Generator]) -> LowRankFactor:
        operator, own_random = task
        found = randomly_pivoted_cholesky(operator.rows, operator.diagonal(), rank, own_random, weights=weights)
        return found._replace(residual=found.residual * diagonal_fraction(operator, found, own_random))

    own = for_each(factorise_one, zip(covariance.operators, random.spawn(len(covariance.operators)), strict=True))
    largest = float(covariance.variances.max()) * covariance.n_points * np.finfo(np.float32).eps
    dtype = np.float64 if largest > largest_single_error else own[0].factor.dtype
    return CovarianceFactors(
        tuple(part.factor.astype(dtype, copy=False) for part in own),
        covariance.assignment,
        np.sqrt(covariance.variances),
        float(np.sqrt(covariance.bias_variance)),
        np.stack([part.residual for part in own]),
        covariance.mixing,
        covariance.working_dtype,
    )


def diagonal_fraction(
    operator: KernelOperator, found: LowRankFactor, random: np.random.Generator, n_probes: int = 32
) -> float:
    """The fraction of the residual diagonal to use: the root of its share in the squares of all missed entries.

    If the kernel is rough, the factor misses a nearly diagonal matrix, and all of the diagonal counts. If rows are
    similar, the same diagonal belongs to a few large eigenvalues and many near zero. A multiple of the identity would
    then spread over the many directions that the kernel hardly sees. The fraction is estimated from `n_probes` random
    rows.
    """
    n = len(found.residual)
    probes = random.choice(n, size=min(n_probes, n), replace=False)
    missed = operator.rows(probes) - found.factor[:, probes].T @ found.factor
    squares = float(np.einsum("in,in->", missed, missed, dtype=float))
    on_diagonal = float((found.residual[probes] ** 2).sum())
    return float(np.sqrt(min(1.0, on_diagonal / squares))) if squares > 0 else 1.0
