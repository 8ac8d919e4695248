"""Newton systems of a covariance approximated by landmarks, solved directly in O(n (F r)^2)."""

import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from logikern.fitting.newton.contrasts import Contrast, contrast_of
from logikern.fitting.newton.systems import NewtonSystem, Response
from logikern.likelihoods.curvature import Curvature, PointwiseCurvature, as_pointwise
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.numerics.products import multiply, subtract_gram
from logikern.operators.landmarks import Landmarked
from logikern.structure.covariance import ClassCovariance


@dataclass(frozen=True, eq=False)
class LowRankModel:
    """K~ = Phi' Phi + D of the functions that the likelihood distinguishes. Build it with `low_rank_model`."""

    factors: list[Array]  # (r, n), one per function: the blocks of Phi
    residual: Array  # (F, n): the diagonal D

    @property
    def places(self) -> list[slice]:
        """Positions of the coordinates of each function."""
        ends = np.cumsum([len(factor) for factor in self.factors])
        return [slice(end - len(factor), end) for factor, end in zip(self.factors, ends, strict=True)]

    def at(self, points: slice) -> "LowRankModel":
        """The model at some of the points."""
        return LowRankModel([factor[:, points] for factor in self.factors], self.residual[:, points])


def landmarked_operators(covariance: ClassCovariance) -> list[Landmarked]:
    """The operators of a covariance, which must all be `Landmarked`."""
    return [operator for operator in covariance.operators if isinstance(operator, Landmarked)]


def low_rank_model(covariance: ClassCovariance, contrast: Contrast) -> LowRankModel:
    """The model of a covariance whose operators are all `Landmarked`."""
    parts = [operator.nystrom for operator in landmarked_operators(covariance)]
    function_of = contrast.function_of(covariance.n_classes)
    shares = np.zeros((function_of.max() + 1, len(parts)))
    np.add.at(shares, (function_of, covariance.assignment), covariance.variances)
    factors = []
    for own, n_classes in zip(shares, np.bincount(function_of), strict=True):
        rows = [np.sqrt(share) * part.factor for share, part in zip(own, parts, strict=True) if share]
        bias = np.full((1, covariance.n_points), np.sqrt(n_classes * covariance.bias_variance))
        factors.append(np.concatenate([*rows, bias]))
    return LowRankModel(factors, shares @ np.stack([part.residual for part in parts]))


# `preconditioning/woodbury` factors the same matrix for a preconditioner, and both share `subtract_gram`. The rest
# differs. A preconditioner sums over trees, may use rounded factors and may add a ridge. Leave-one-out needs W_D and
# L^-1 themselves, for functions with several kernels, and an error if the matrix is not positive definite.
class Woodbury:
    """W_D = (I + W D)^-1 W and the Cholesky factor L of I + Phi W_D Phi', of one weighting.

    At each point W_D is diag(t) - t t' / sum(t) with t = s^2 / (1 + s^2 D), or diag(t) without null directions.
    """

    def __init__(self, model: LowRankModel, curvature: PointwiseCurvature, member: int):
        square = curvature.scale[member] ** 2
        self.has_null = curvature.null is not None
        self.strength = square / (1.0 + square * model.residual)  # t
        total = self.strength.sum(axis=0)
        self.total = np.where(total > 0, total, 1.0)
        scaled = np.empty((model.places[-1].stop, len(total)))
        matrix = np.zeros((len(scaled),) * 2)
        for place, factor, own in zip(model.places, model.factors, self.strength, strict=True):
            np.multiply(factor, own, out=scaled[place])
            matrix[place, place] = multiply(scaled[place], factor.T)
        if self.has_null:
            scaled /= np.sqrt(self.total)
            subtract_gram(matrix, scaled)  # `cholesky` reads nothing above the diagonal
        del scaled
        matrix.flat[:: len(matrix) + 1] += 1.0
        self.lower = np.linalg.cholesky(matrix)

    @cached_property
    def inverse(self) -> Array:
        """L^-1."""
        return solve_triangular(self.lower, np.eye(len(self.lower)), lower=True, check_finite=False)

    def at(self, points: slice) -> "Woodbury":
        """The same L and L^-1, and W_D at some of the points."""
        part = copy.copy(self)
        part.inverse = self.inverse
        part.strength, part.total = self.strength[:, points], self.total[points]
        return part

    def weigh(self, functions: list[Array]) -> list[Array]:
        """W_D f for functions (n, r), one per function of the model."""
        pairs = list(zip(self.strength, functions, strict=True))
        weighted = for_each(lambda pair: pair[0][:, None] * pair[1], pairs)
        if self.has_null:
            mean = sum(weighted) / self.total[:, None]
            for own, function in zip(self.strength, weighted, strict=True):
                function -= own[:, None] * mean
        return weighted


class LowRankSystem(NewtonSystem):
    """R = W_D - W_D Phi' (L L')^-1 Phi W_D."""

    def __init__(self, covariance: ClassCovariance, model: LowRankModel, curvature: PointwiseCurvature):
        self.covariance = covariance
        self.model = model
        self.contrast = contrast_of(curvature)
        seen = self.contrast.curvature(curvature)
        self.woodburies = [Woodbury(model, seen, member) for member in range(seen.n_batch)]

    def image(self, functions: Array) -> Array:
        return self.covariance.matmul(functions)

    def response(self, functions: Array, tolerance: Array) -> Response:
        seen = self.contrast.see(functions)
        beta = np.stack([self._solve(own, woodbury) for own, woodbury in zip(seen, self.woodburies, strict=True)])
        value = self.contrast.expand(beta)
        return Response(value, self.image(value), 1)

    def _solve(self, function: Array, woodbury: Woodbury) -> Array:
        weighted = np.hstack(woodbury.weigh(list(function[:, :, None]))).T  # (F, n)
        factors = self.model.factors
        coordinates = np.concatenate([factor @ own for factor, own in zip(factors, weighted, strict=True)])
        solved = cho_solve((woodbury.lower, True), coordinates, check_finite=False)
        back = [(factor.T @ solved[place])[:, None] for factor, place in zip(factors, self.model.places, strict=True)]
        return weighted - np.hstack(woodbury.weigh(back)).T


class LowRankSystems:
    """Systems of one covariance whose operators are all `Landmarked`."""

    def __init__(self, covariance: ClassCovariance):
        self.covariance = covariance
        self.model: LowRankModel | None = None

    def __call__(self, curvature: Curvature, members: Indices) -> LowRankSystem:
        own = as_pointwise(curvature)
        return LowRankSystem(self.covariance, self.seen(contrast_of(own)), own)

    def seen(self, contrast: Contrast) -> LowRankModel:
        """The model of the functions that the likelihood distinguishes, computed once."""
        if self.model is None:
            self.model = low_rank_model(self.covariance, contrast)
        return self.model
