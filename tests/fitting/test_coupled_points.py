"""A curvature that couples points, from outside the package, goes through the iterative Newton system."""

from dataclasses import dataclass

import numpy as np
import pytest

from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.newton.systems import StoppingRule
from logikern.fitting.preconditioning.adaptive import DiagonalConditioning, LowRankConditioning
from logikern.likelihoods.curvature import Curvature, PointwiseCurvature
from tests.fitting import catalogue

CONDITIONINGS = {"diagonal": DiagonalConditioning(), "low rank": LowRankConditioning()}


@dataclass(frozen=True, eq=False)
class Coupled(Curvature):
    """W = V V' for any V, (B, C n, C n)."""

    factor: np.ndarray
    shape: tuple[int, int, int]

    @property
    def n_batch(self):
        return len(self.factor)

    @property
    def pointwise(self):
        diagonal = np.einsum("bij,bij->bi", self.factor, self.factor)
        return PointwiseCurvature(np.sqrt(diagonal).reshape(-1, *self.shape[1:]), None)

    def root(self, projected, out=None):
        image = np.einsum("bij,bj->bi", self.factor, projected.reshape(self.n_batch, -1)).reshape(projected.shape)
        return image if out is None else np.copyto(out, image) or out

    def root_adjoint(self, per_class, added=None):
        image = np.einsum("bij,bi->bj", self.factor, per_class.reshape(self.n_batch, -1)).reshape(per_class.shape)
        return image if added is None else image + added

    def project(self, per_class):
        return per_class

    def tiles(self, shape):
        return [slice(0, shape[-1])]

    def at(self, points):
        return self

    def take_members(self, members):
        return Coupled(self.factor[members], self.shape)

    def in_precision(self, dtype):
        return self


def system_of(name):
    problem = catalogue.BY_NAME["weightings of a tree"].build()
    n_batch, n_classes, n = problem.shape
    factor = np.random.default_rng(0).standard_normal((n_batch, n_classes * n, n_classes * n)) / np.sqrt(n)
    solver = Newton(conditioning=CONDITIONINGS[name])
    system = solver.systems(problem.covariance)(Coupled(factor, problem.shape), np.arange(n_batch))
    return problem, factor, system


@pytest.mark.parametrize("name", CONDITIONINGS)
def test_solve_agrees_with_dense_algebra(name):
    problem, factor, system = system_of(name)
    constant = np.random.default_rng(1).standard_normal(problem.shape)
    found = system.solve(constant, StoppingRule(np.full(len(factor), 1e-10)))
    dense = catalogue.dense_covariance(problem)
    for own, right, value in zip(factor, constant, found.value, strict=True):
        expected = np.linalg.solve(np.eye(len(dense)) + own @ own.T @ dense, right.ravel())
        np.testing.assert_allclose(value.ravel(), expected, atol=1e-8)


def test_dense_systems_refuse_what_couples_points():
    problem = catalogue.BY_NAME["weightings of a tree"].build()
    size = problem.shape[1] * problem.shape[2]
    own = Coupled(np.zeros((1, size, size)), problem.shape)
    with pytest.raises(ValueError, match="couples points, Coupled, needs the iterative"):
        Exact().systems(problem.covariance)(own, np.arange(1))
