"""A Newton system solved point by point."""

from collections.abc import Callable

import numpy as np

from logikern.fitting.dual_points import compiled_linearly
from logikern.fitting.problem import max_norm
from logikern.fitting.systems import Aim, NewtonSystem, Response
from logikern.fitting.visits import (
    VISITS_PER_ROUND,
    equal_rows,
    rows_of,
    settled_below,
    still_lively,
    visit_in_turn,
    weigh,
    with_equals,
)
from logikern.likelihoods.base import Curvature
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, point_tiles
from logikern.structure.covariance import ClassCovariance

# Of the tolerance: points below it are settled.
FINEST = 0.1
# After so many rounds another system takes over what is left.
MOST_ROUNDS = 12


class RowSystem(NewtonSystem):
    """(I + W K~) x = c with W of a softmax, by rounds of visits that each solve one point for all of its classes.

    What a few rounds leave is left to another system.

    Parameters
    ----------
    covariance : ClassCovariance
    curvature : Curvature
    otherwise : callable
        Makes the other system.
    """

    def __init__(self, covariance: ClassCovariance, curvature: Curvature, otherwise: Callable[[], NewtonSystem]):
        self.covariance = covariance
        self.curvature = curvature
        self.otherwise = otherwise
        self.rows = rows_of(covariance)
        self.equals = equal_rows(covariance)

    def image(self, functions: Array) -> Array:
        return self.covariance.matmul(functions)

    def response(self, functions: Array, tolerance: Array) -> Response:
        return self.damp(self.curvature.root(self.curvature.root_adjoint(functions)), Aim(tolerance))

    def damp(self, constant: Array, aim: Aim, guess: Array | None = None) -> Response:
        weights = np.einsum("bcn,bcn->bn", self.curvature.scale, self.curvature.scale)  # probabilities sum to one
        # Where there is no weight there is nothing to solve.
        value = np.where(weights[:, None, :] > 0, 0.0, constant).astype(constant.dtype)
        quiet_for = np.zeros(weights.shape, dtype=np.int32)
        random, members, n_products = np.random.default_rng(0), np.arange(len(value)), 0
        while True:
            image = self.image(value)
            residual = self._residual(constant, value, image)
            n_products += 1
            # A residual is felt by the image times the variances: what is not above the tolerance must be well below.
            left = members[max_norm(residual) > aim.tolerance]
            if not left.size:
                return Response(value, image, n_products)
            if n_products > MOST_ROUNDS:
                rest = self.otherwise().damp(residual, aim)
                return Response(
                    value + rest.value, image + rest.image, n_products * VISITS_PER_ROUND + rest.n_products
                )
            tasks = list(zip(left, random.spawn(len(left)), strict=True))

            def visit(task: tuple[int, np.random.Generator], residual: Array = residual) -> None:
                member, order = task
                own = np.abs(residual[member]).max(axis=0)
                self._visit(member, weights[member], own, quiet_for[member], constant, value, aim.tolerance, order)

            for_each(visit, tasks)

    def _residual(self, constant: Array, value: Array, image: Array) -> Array:
        residual = np.empty_like(value)

        def find(points: slice) -> None:
            curvature = self.curvature.at(points)
            curved = curvature.root(curvature.root_adjoint(image[..., points]))
            residual[..., points] = constant[..., points] - value[..., points] - curved

        for_each(find, point_tiles(value.shape))
        return residual

    def _visit(
        self,
        member: int,
        weights: Array,
        residuals: Array,
        quiet_for: Array,
        constant: Array,
        value: Array,
        tolerance: Array,
        random: np.random.Generator,
    ) -> None:
        """One round of one weighting, in place."""
        settled = settled_below(FINEST * float(tolerance[member]), residuals)
        lively = still_lively(residuals, settled, quiet_for, weights)
        visited = with_equals(lively, self.equals, weights)
        points = visited.points
        null: Array = self.curvature.null  # type: ignore[assignment]
        probabilities = np.ascontiguousarray(null[member][:, visited.first].T) ** 2
        constants, values = (visited.add_up(array[member][:, points]) for array in (constant, value))
        own, weighed = visited.add_up(weights[points]), weigh(self.covariance, value[member])
        total = value[member].sum(axis=1, dtype=np.float64)

        def visit(order: Indices, found: Array) -> None:
            fixed = (order, visited.first, self.rows, own, probabilities, constants)
            compiled_linearly()(*fixed, values, weighed, total, settled, found)

        visit_in_turn(visit, len(own), settled, VISITS_PER_ROUND * len(weights), random)
        # What W takes from a constant it takes from each of equal points by its weight.
        taken = ((constants - values) / own[:, None]).T[:, visited.groups]
        value[member][:, points] = constant[member][:, points] - weights[points] * taken
