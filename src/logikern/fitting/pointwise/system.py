"""A Newton system solved point by point."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from logikern.fitting.newton.systems import NewtonSystem, Response, StoppingRule
from logikern.fitting.pointwise.loops import compiled_linearly
from logikern.fitting.pointwise.schedule import (
    VISITS_PER_ROUND,
    equal_rows,
    in_products,
    relaxation,
    rows_of,
    settled_below,
    still_lively,
    visit_in_turn,
    weigh,
    with_equals,
)
from logikern.fitting.problem import max_norm
from logikern.likelihoods.curvature import Curvature, as_pointwise
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, point_tiles
from logikern.structure.covariance import ClassCovariance

# Of the tolerance: points below it are settled.
FINEST = 0.03
# After so many rounds another system takes over what is left, unless residuals still halve within some rounds.
MOST_ROUNDS = 12
ROUNDS_TO_HALVE = 4


class RowSystem(NewtonSystem):
    """(I + W K~) x = c with W of a softmax, by rounds of visits that each solve one point for all of its classes.

    What a few rounds leave is left to another system. Of a rule the tolerance counts, whatever the guess; constants
    sum to zero over classes.

    Parameters
    ----------
    covariance : ClassCovariance
    curvature : Curvature
    otherwise : callable
        Makes the other system.
    seed : int, default=0
        Of the order in which points are visited.
    """

    def __init__(
        self,
        covariance: ClassCovariance,
        curvature: Curvature,
        otherwise: Callable[[], NewtonSystem],
        seed: int = 0,
    ):
        self.covariance = covariance
        self.curvature = as_pointwise(curvature)
        self.otherwise = otherwise
        self.seed = seed
        self.rows = rows_of(covariance)
        self.equals = equal_rows(covariance)

    def image(self, functions: Array) -> Array:
        return self.covariance.matmul(functions)

    def response(self, functions: Array, tolerance: Array) -> Response:
        return self.solve(self.curvature.matmul(functions), StoppingRule(tolerance))

    def solve(self, constant: Array, rule: StoppingRule, guess: Array | None = None) -> Response:
        run = _begin(self, constant, rule.tolerance)
        random, members, n_products = np.random.default_rng(self.seed), np.arange(len(constant)), 0
        sizes: list[float] = []
        for n_rounds in itertools.count():
            image = self.covariance.accurate_matmul(run.value)
            residual = self._residual(constant, run.value, image)
            n_products += 1
            # A residual is felt by the image times the variances: what is not above the tolerance must be well below.
            norms = max_norm(residual)
            left = members[~(norms <= rule.tolerance)]
            sizes.append(float(np.max(norms / rule.tolerance)))
            if not left.size:
                return Response(run.value, image, n_products)
            if n_rounds >= MOST_ROUNDS and not sizes[-1] <= 0.5 * sizes[-1 - ROUNDS_TO_HALVE]:
                rest = self.otherwise().solve(residual, rule)
                return Response(run.value + rest.value, image + rest.image, n_products + rest.n_products)
            visit = partial(run.visit, np.abs(residual, out=residual).max(axis=1), relaxation(n_rounds))
            visits = for_each(visit, zip(left, random.spawn(len(left)), strict=True))
            n_products += in_products(visits, constant.shape[2])
        raise AssertionError("unreachable")

    def _residual(self, constant: Array, value: Array, image: Array) -> Array:
        residual = np.empty_like(value)

        def find(points: slice) -> None:
            curved = self.curvature.at(points).matmul(image[..., points])
            residual[..., points] = constant[..., points] - value[..., points] - curved

        for_each(find, point_tiles(value.shape))
        return residual


@dataclass(frozen=True, eq=False)
class _Run:
    """One solve; the value and for how long points were quiet are changed in place."""

    system: RowSystem
    constant: Array  # (B, C, n)
    value: Array  # (B, C, n)
    weights: Array  # (B, n)
    tolerance: Array  # (B,)
    quiet_for: Array  # (B, n)

    def visit(self, found: Array, how_far: float, task: tuple[int, np.random.Generator]) -> int:
        """One round of one weighting, after these residuals (B, n) were found; returns the number of visits."""
        member, random = task
        system, weights, residuals = self.system, self.weights[member], found[member]
        constant, value = self.constant[member], self.value[member]
        settled = settled_below(FINEST * float(self.tolerance[member]), residuals)
        lively = still_lively(residuals, settled, self.quiet_for[member], weights)
        visited = with_equals(lively, system.equals, weights)
        null: Array = system.curvature.null  # type: ignore[assignment]
        probabilities = np.ascontiguousarray(null[member][:, visited.first].T) ** 2
        constants = visited.collect(lambda points: constant[:, points])
        values = visited.collect(lambda points: value[:, points])
        own, weighed = np.bincount(visited.groups, weights[visited.points]), weigh(system.covariance, value)
        total = value.sum(axis=1, dtype=np.float64)

        def visit(order: Indices, seen: Array) -> None:
            fixed = (order, visited.first, system.rows, own, probabilities, constants)
            compiled_linearly()(*fixed, values, weighed, total, settled, seen, how_far)

        n_visits = visit_in_turn(visit, len(own), settled, VISITS_PER_ROUND * len(weights), random)
        # What W takes from a constant it takes from each of equal points by its weight.
        taken = (constants - values) / own[:, None]

        def tell(points: Indices, groups: Indices) -> None:
            value[:, points] = constant[:, points] - weights[points] * taken[groups].T

        visited.tell(tell)
        return n_visits


def _begin(system: RowSystem, constant: Array, tolerance: Array) -> _Run:
    scale = system.curvature.scale
    weights = np.einsum("bcn,bcn->bn", scale, scale)  # probabilities sum to one
    # Where there is no weight there is nothing to solve.
    value = np.where(weights[:, None, :] > 0, 0.0, constant).astype(constant.dtype)
    return _Run(system, constant, value, weights, tolerance, np.zeros(weights.shape, dtype=np.int32))
