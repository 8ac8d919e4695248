"""The Newton system at one expansion, and the one linear map that everything needs: the response."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from logikern.fitting.newton.contrasts import contrast_of
from logikern.fitting.newton.policy import POLICY, NewtonPolicy
from logikern.fitting.preconditioning.preconditioner import Preconditioner
from logikern.fitting.problem import max_norm
from logikern.likelihoods.curvature import Curvature, PointwiseCurvature
from logikern.numerics.conjugate_gradient import Image, conjugate_gradient, inner_products
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import for_each, n_threads, row_tiles
from logikern.numerics.symmetric import Solve, solver, solver_and_inverse
from logikern.numerics.tiled_cholesky import for_each_block
from logikern.structure.covariance import ClassCovariance


class Response(NamedTuple):
    """R f, its image K~ R f, and the products that they cost."""

    value: Array
    image: Array
    n_products: int


class StoppingRule(NamedTuple):
    """When a solution x of (I + W K~) x = c is accurate enough; a solve in closed form always is."""

    tolerance: Array  # (B,): for max |(I + W K~) x - c|
    # (B,): stop as well if at most this fraction of the possible gain is missed, the decrease of
    # x' K~ (x / 2 - c) + x' K~ W K~ x / 2 from its value at zero.
    missed_gain: Array | None = None
    most: int | None = None  # largest number of products
    # Set by a system, (B,).
    gained: Array | None = None  # the gain at its start plus half of |r|^2 there
    longest: Array | None = None  # a bound on |r|^2, in addition to the tolerance

    def is_met(self, members: Array, largest: Array, square: Array, energy: Array) -> Array:
        """Whether to stop, (members,), from max |V r|, |r|^2 and the decrease of r' A^-1 r.

        With A = I + V' K~ V the model lies above its minimum by (|r|^2 - r' A^-1 r) / 2, at most by |r|^2 / 2.
        """
        met = largest <= self.tolerance[members]
        if self.longest is not None:
            met &= square <= self.longest[members]
        if self.missed_gain is not None and self.gained is not None:
            gained = self.gained[members] - 0.5 * (square + energy)
            met |= 0.5 * square <= self.missed_gain[members] * gained
        return met


class NewtonSystem(ABC):
    """R = (I + W K~)^-1 W = V (I + V' K~ V)^-1 V' at one curvature W = V V'.

    With rho = dual + gradient, the Newton step is -(I + W K~)^-1 rho = -rho + R K~ rho:
    no division by a probability, however small (Seeger 2008, App. B, needs thresholds for that).
    """

    @abstractmethod
    def image(self, functions: Array) -> Array:
        """K~ f, (B, C, n) -> (B, C, n)."""

    @abstractmethod
    def response(self, functions: Array, tolerance: Array) -> Response:
        """R f for f of shape (B, C, n), with max |(I + W K~) R f - W f| <= tolerance (B,)."""

    def solve(self, constant: Array, rule: StoppingRule, guess: Array | None = None) -> Response:
        """x = (I + W K~)^-1 c = c - R K~ c and its image, for c (B, C, n) and perhaps a guess of the image."""
        image = self.image(constant)
        response = self.response(image, rule.tolerance)
        return Response(constant - response.value, image - response.image, 1 + response.n_products)


class IterativeSystem(NewtonSystem):
    """The response by conjugate gradients inside the range of the projector."""

    def __init__(
        self,
        covariance: ClassCovariance,
        curvature: Curvature,
        preconditioner: Preconditioner,
        max_products: int,
        policy: NewtonPolicy = POLICY,
    ):
        self.covariance = covariance
        self.curvature = curvature
        self.preconditioner = preconditioner
        self.max_products = max_products
        self.policy = policy

    def image(self, functions: Array) -> Array:
        return self.covariance.matmul(functions)

    def response(self, functions: Array, tolerance: Array) -> Response:
        working = self.covariance.working_dtype
        right_side = self.curvature.in_precision(working).root_adjoint(functions.astype(working, copy=False))
        longest = self.policy.response_residual**2 * inner_products(right_side, right_side)
        return self._solve(right_side, StoppingRule(tolerance, longest=longest), functions.dtype)

    def solve(self, constant: Array, rule: StoppingRule, guess: Array | None = None) -> Response:
        """From a guess z of the image: x = d + V y with d = c - W z and (I + V' K~ V) y = V' (z - K~ d).

        At z = 0 the right side is c multiplied by the large eigenvalues of K~, and half of the products would undo
        that. Without a guess, z is the solution for one common eigenvalue; it is nearly zero where W is far below the
        inverse of that eigenvalue, so nothing is divided by a probability.
        """
        tiles, damping = self.curvature.tiles(constant.shape), 1.0 / self._typical_eigenvalue()
        inner, start = np.empty_like(constant), np.empty_like(constant)

        def begin(points: slice) -> None:
            own = self.curvature.at(points)
            near = constant[..., points] / (own.pointwise.scale**2 + damping) if guess is None else guess[..., points]
            inner[..., points] = own.root_adjoint(near)
            start[..., points] = constant[..., points] - own.root(inner[..., points])

        for_each(begin, tiles)
        image = self.image(start)

        def subtract(points: slice) -> Array:
            seen = self.curvature.at(points).root_adjoint(image[..., points])
            inner[..., points] -= seen
            return inner_products(seen, seen)

        squares = np.sum(for_each(subtract, tiles), axis=0)
        right_side = inner.astype(self.covariance.working_dtype, copy=False)
        if rule.missed_gain is not None:
            gained = inner_products(constant, image) - 0.5 * inner_products(start, image)
            gained += 0.5 * (inner_products(right_side, right_side) - squares)
            rule = rule._replace(gained=gained)
        solved = self._solve(right_side, rule, constant.dtype)
        value, image = np.add(start, solved.value, out=start), np.add(image, solved.image, out=image)
        return Response(value, image, 1 + solved.n_products)

    def _typical_eigenvalue(self) -> float:
        """A value between the variance (for uncorrelated functions) and n times the variance (for a constant)."""
        variance = max(self.covariance.mean_variance(), self.policy.smallest_variance)
        return variance * float(np.sqrt(self.covariance.n_points))

    def _solve(self, right_side: Array, rule: StoppingRule, dtype: np.dtype) -> Response:
        """V y and its image, with (I + V' K~ V) y equal to the right side, in the range of the projector."""
        # Elementwise work is bound by memory: half the bytes are half the time.
        curvature = self.curvature.in_precision(right_side.dtype)
        remaining, scratch = _Remaining(curvature), np.empty_like(right_side)

        def apply(direction: Array, members: Array) -> Image:
            own, place = remaining(members), scratch[: len(members)]
            image = self.covariance.matmul(own.root(direction, out=place))

            def finish(points: slice) -> None:
                place[..., points] = own.at(points).root_adjoint(image[..., points], direction[..., points])

            for_each(finish, own.tiles(direction.shape))
            return Image(place, image)

        def small_enough(residual: Array, members: Array, gained: Array) -> Array:
            own = remaining(members)

            def largest_of(points: slice) -> Array:
                # Rounding outside the range of the projector is not part of the system.
                part = own.at(points)
                return max_norm(part.root(part.project(residual[..., points].copy())))

            largest = np.max(for_each(largest_of, own.tiles(residual.shape)), axis=0)
            return rule.is_met(members, largest, inner_products(residual, residual), gained)

        most = self.max_products if rule.most is None else min(rule.most, self.max_products)
        result = conjugate_gradient(apply, self.preconditioner.solve, right_side, small_enough, most)
        value = curvature.root(result.solution)
        return Response(
            value.astype(dtype, copy=False), result.companion.astype(dtype, copy=False), result.n_products
        )


class _Remaining:
    """The curvature of the active members of a solve, copied only when these change."""

    def __init__(self, curvature: Curvature):
        self.whole = curvature
        self.part = curvature
        self.members = np.arange(curvature.n_batch)

    def __call__(self, members: Array) -> Curvature:
        if len(members) != len(self.members) or (members != self.members).any():
            self.members, self.part = members, self.whole.take_members(members)
        return self.part


class ExactSystem(NewtonSystem):
    """The response by Cholesky factors in O(C n^3), Seeger (2008), App. C.

    With A = I + S K~ S and U the null directions, (I + V' K~ V)^-1 restricted to the range of the projector is
    A^-1 - A^-1 U (U' A^-1 U)^-1 U' A^-1. Two classes are one function, their difference, without null directions.

    Parameters
    ----------
    blocks : array of shape (C, n, n) or (1, C n, C n)
        The blocks of K~: one per class, or one of all classes that are coupled a priori, in O(C^3 n^3).
    curvature : Curvature
    covariances : array of shape (F, n, n) or (1, F n, F n) or None, default=None
        Covariances of the functions that the curvature distinguishes, if known already.
    """

    def __init__(self, blocks: Array, curvature: PointwiseCurvature, covariances: Array | None = None):
        self.blocks = blocks
        self.contrast = contrast_of(curvature)
        self.curvature = self.contrast.curvature(curvature)
        self.covariances = self.contrast.covariances(blocks) if covariances is None else covariances
        self.inverses = [self._factorise(member) for member in range(curvature.n_batch)]

    def _factorise(self, member: int) -> tuple[list[Solve], Solve | None]:
        """Solves with A, and with the coupling U' A^-1 U; each thread holds one inverse at a time."""
        scales = self.curvature.scale[member].reshape(len(self.covariances), -1)
        pairs = list(zip(self.covariances, scales, strict=True))
        size = scales.shape[1]
        if self.curvature.null is None:
            return for_each_block(lambda pair: solver(scaled_covariance(*pair)), pairs, size), None
        n = self.curvature.null.shape[2]
        null, coupling, solves = self.curvature.null[member].reshape(len(scales), -1, n), np.zeros((n, n)), []
        for start in range(0, len(pairs), n_threads()):
            some = slice(start, start + n_threads())
            found = for_each_block(lambda pair: solver_and_inverse(scaled_covariance(*pair)), pairs[some], size)
            add_null_coupling(coupling, [inverse for _, inverse in found], null[some])
            solves += [solve for solve, _ in found]
        return solves, solver(coupling)

    def response(self, functions: Array, tolerance: Array) -> Response:
        seen = self.contrast.see(functions)
        beta = np.stack([self._solve(member, function) for member, function in enumerate(seen)])
        value = self.contrast.expand(beta)
        return Response(value, self.image(value), 1)

    def image(self, functions: Array) -> Array:
        rows = functions.reshape(len(functions), len(self.blocks), -1).swapaxes(0, 1)
        image = np.stack([own @ block for own, block in zip(rows, self.blocks, strict=True)], axis=1)
        return image.reshape(functions.shape)

    def _solve(self, member: int, function: Array) -> Array:
        scale = self.curvature.scale[member]
        inverses, coupling = self.inverses[member]
        inner = _solve_blocks(inverses, scale * function)
        if coupling is not None and self.curvature.null is not None:
            null = self.curvature.null[member]
            inner -= _solve_blocks(inverses, null * coupling((null * inner).sum(axis=0)))
        return scale * inner


def _solve_blocks(inverses: list[Solve], functions: Array) -> Array:
    """A^-1 f, (F, n) -> (F, n)."""
    rows = functions.reshape(len(inverses), -1)
    return np.stack([inverse(x) for inverse, x in zip(inverses, rows, strict=True)]).reshape(functions.shape)


def scaled_covariance(block: Array, scale: Array) -> Array:
    """A = I + S K S of one function, a new array."""
    matrix = np.empty(block.shape)

    def fill(rows: slice) -> None:
        np.multiply(block[rows], scale, out=matrix[rows])
        matrix[rows] *= scale[rows, None]

    for_each(fill, row_tiles(*block.shape))
    matrix.flat[:: len(matrix) + 1] += 1.0
    return matrix


def add_null_coupling(total: Array, inverses: list[Array], null: Array) -> None:
    """Add the contribution of some blocks to U' A^-1 U, (n, n), from their inverses and their rows of U."""
    n = len(total)
    parts = null.reshape(len(inverses), -1, n)
    places = [slice(start, start + n) for start in range(0, len(inverses[0]), n)]

    def fill(rows: slice) -> None:
        for inverse, own in zip(inverses, parts, strict=True):
            for row, first in zip(places, own, strict=True):
                for column, second in zip(places, own, strict=True):
                    term = inverse[row, column][rows] * second
                    term *= first[rows, None]
                    total[rows] += term

    for_each(fill, row_tiles(n, n))
