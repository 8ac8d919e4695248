"""A Newton system solved point by point."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from logikern.fitting.newton.systems import NewtonSystem, Response, StoppingRule
from logikern.fitting.pointwise.loops import compiled_linearly
from logikern.fitting.pointwise.schedule import (
    POLICY,
    PointwisePolicy,
    equal_points,
    in_products,
    plan_round,
    point_features,
    weighted_features,
)
from logikern.fitting.problem import max_norm
from logikern.likelihoods.curvature import Curvature, as_pointwise
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, point_tiles
from logikern.structure.covariance import ClassCovariance


class PointwiseSystem(NewtonSystem):
    """(I + W K~) x = c with W of a softmax, by rounds of visits that each solve one point for all of its classes.

    Another system solves the remainder after a few rounds. Only the tolerance of a stopping rule is used, and a guess
    is ignored; constants sum to zero over classes.

    Parameters
    ----------
    covariance : ClassCovariance
    curvature : Curvature
    otherwise : callable
        Makes the other system.
    seed : int, default=0
        Seed of the order in which points are visited.
    policy : PointwisePolicy
    """

    def __init__(
        self,
        covariance: ClassCovariance,
        curvature: Curvature,
        otherwise: Callable[[], NewtonSystem],
        seed: int = 0,
        policy: PointwisePolicy = POLICY,
    ):
        self.covariance = covariance
        self.curvature = as_pointwise(curvature)
        self.otherwise = otherwise
        self.seed = seed
        self.policy = policy
        self.features = point_features(covariance)
        self.equals = equal_points(covariance)

    def image(self, functions: Array) -> Array:
        return self.covariance.matmul(functions)

    def response(self, functions: Array, tolerance: Array) -> Response:
        return self.solve(self.curvature.matmul(functions), StoppingRule(tolerance))

    def solve(self, constant: Array, rule: StoppingRule, guess: Array | None = None) -> Response:
        scale, members = self.curvature.scale, np.arange(len(constant))
        weights = np.einsum("bcn,bcn->bn", scale, scale)  # probabilities sum to one
        # At points without weight there is nothing to solve.
        value = np.where(weights[:, None, :] > 0, 0.0, constant).astype(constant.dtype)
        run = _Run(self, constant, value, weights, rule.tolerance, np.zeros(weights.shape, dtype=np.int32))
        random, n_products, sizes = np.random.default_rng(self.seed), 0, list[float]()
        for n_rounds in itertools.count():
            image = self.covariance.accurate_matmul(value)
            residual = self._residual(constant, value, image)
            n_products += 1
            norms = max_norm(residual)
            left = members[~(norms <= rule.tolerance)]
            sizes.append(float(np.max(norms / rule.tolerance)))
            if not left.size:
                break
            is_late = n_rounds >= self.policy.system_rounds
            if is_late and not sizes[-1] <= 0.5 * sizes[-1 - self.policy.system_halving_rounds]:
                rest = self.otherwise().solve(residual, rule)
                return Response(value + rest.value, image + rest.image, n_products + rest.n_products)
            relaxation = self.policy.relaxation_after(n_rounds)
            visit = partial(run.visit, np.abs(residual, out=residual).max(axis=1), relaxation)
            visits = for_each(visit, zip(left, random.spawn(len(left)), strict=True))
            n_products += in_products(visits, constant.shape[2])
        return Response(value, image, n_products)

    def _residual(self, constant: Array, value: Array, image: Array) -> Array:
        residual = np.empty_like(value)

        def find(points: slice) -> None:
            curved = self.curvature.at(points).matmul(image[..., points])
            residual[..., points] = constant[..., points] - value[..., points] - curved

        for_each(find, point_tiles(value.shape))
        return residual


@dataclass(frozen=True, eq=False)
class _Run:
    """The state of one solve; `value` and `quiet_for` are changed in place."""

    system: PointwiseSystem
    constant: Array  # (B, C, n)
    value: Array  # (B, C, n)
    weights: Array  # (B, n)
    tolerance: Array  # (B,)
    quiet_for: Array  # (B, n)

    def visit(self, residuals: Array, relaxation: float, task: tuple[int, np.random.Generator]) -> int:
        """One round of one weighting, given the residuals (B, n) of all points; returns the number of visits."""
        member, random = task
        system, weights = self.system, self.weights[member]
        constant, value, tolerance = self.constant[member], self.value[member], float(self.tolerance[member])
        plan = plan_round(residuals[member], tolerance, self.quiet_for[member], weights, system.equals, system.policy)
        null: Array = system.curvature.null  # type: ignore[assignment]
        probabilities = np.ascontiguousarray(null[member][:, plan.groups.first].T) ** 2
        constants = plan.groups.sum(lambda points: constant[:, points])
        values = plan.groups.sum(lambda points: value[:, points])
        weighed, total = weighted_features(system.covariance, value), value.sum(axis=1, dtype=np.float64)

        def visit(order: Indices, seen: Array) -> None:
            fixed = (order, plan.groups.first, system.features, plan.weights, probabilities, constants)
            compiled_linearly()(*fixed, values, weighed, total, plan.skip_below, seen, relaxation)

        n_visits = plan.visit(visit, random)
        # The solution minus the constant is in the range of W, which divides it among equal points by their weights.
        taken = (constants - values) / plan.weights[:, None]

        def write(points: Indices, groups: Indices) -> None:
            value[:, points] = constant[:, points] - weights[points] * taken[groups].T

        plan.groups.spread(write)
        return n_visits
