"""Every operator, and every kind of points. A new operator or kind is one more row here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from logikern.kernels import (
    DistanceKernel,
    FunctionKernel,
    Gaussian,
    GaussianLaplacian,
    Kernel,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Polynomial,
    Precomputed,
    RationalQuadratic,
)
from logikern.operators.base import KernelOperator
from logikern.operators.choose import FAST_SUMS, BlockLayout, Choice
from logikern.operators.fourier import SPECTRA
from logikern.operators.sparse import POLICY as PAIRS
from tests.kernels import catalogue as kernels

N_POINTS = kernels.N_POINTS
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def sparse_table() -> sparse.csr_array:
    return sparse.csr_array(kernels.table())


def object_array() -> np.ndarray:
    words = np.empty(N_POINTS, dtype=object)
    words[:] = kernels.words()
    return words


def lists() -> list[list[float]]:
    return kernels.table().tolist()


def inner(first: Any, second: Any) -> float:
    return float(np.dot(first, second))


@dataclass(frozen=True)
class PointsCase:
    """A kernel and points of one kind for it."""

    name: str
    kernel: Kernel
    points: Callable[[], Any]

    @property
    def matrix(self) -> np.ndarray:
        """K(X, X) in float64: the reference of all operators."""
        points = self.points()
        return np.asarray(self.kernel(points, points), dtype=float)


POINTS = (
    PointsCase("array", Gaussian((0.5, 1.0, 2.0)), kernels.table),
    PointsCase("array of integers", Gaussian(0.5), lambda: np.round(3 * kernels.table()).astype(int)),
    PointsCase("sparse", Gaussian(0.7), sparse_table),
    PointsCase("sparse rough", Matern12(0.7), sparse_table),
    PointsCase("two metrics", GaussianLaplacian(0.7, roughness=0.6, share=1.7), kernels.table),
    PointsCase("city block", Laplacian(0.7), kernels.table),
    PointsCase("sparse city block", Laplacian((0.5, 2.0), columns=(0, 1, 1)), sparse_table),
    PointsCase("heavy tails", RationalQuadratic(0.7, 1.3), kernels.table),
    PointsCase("polynomial", Polynomial(0.3, 0.8, 2), kernels.table),
    PointsCase("algebra", 1.5 * (Gaussian(0.7) + 0.2 * Linear()), kernels.table),
    PointsCase("kernel rows", Precomputed(), kernels.kernel_rows),
    PointsCase("scaled kernel rows", 2.0 * Precomputed(), kernels.kernel_rows),
    PointsCase("object array", FunctionKernel(kernels.count_common_letters), object_array),
    PointsCase("list of words", 3.0 * FunctionKernel(kernels.count_common_letters), kernels.words),
    PointsCase("list of lists", FunctionKernel(inner), lists),
    PointsCase("rows for a function", FunctionKernel(inner), kernels.table),
)

WITH_FEATURES = (
    PointsCase("linear", Linear(), kernels.table),
    PointsCase("linear sparse", Linear(), sparse_table),
    PointsCase("linear sparse matrix", Linear(), lambda: sparse.csr_matrix(kernels.table())),
    PointsCase("scaled linear", 0.5 * Linear(), kernels.table),
    PointsCase("sum of linear sparse", 0.5 * Linear() + Linear(), sparse_table),
)

# Rates at which some pairs of points are near, and others are not.
WITH_NEAR_PAIRS = (
    PointsCase("near array", Gaussian((20.0, 10.0, 5.0)), kernels.table),
    PointsCase("near shared rates", Gaussian((20.0, 10.0), columns=(0, 1, 1)), kernels.table),
    PointsCase("near rough", Matern12(100.0), kernels.table),
    PointsCase("near smoother", Matern32(100.0), kernels.table),
    PointsCase("near city block", Laplacian((10.0, 7.0, 5.0)), kernels.table),
    PointsCase("near light tails", RationalQuadratic(30.0, 20.0), kernels.table),
    PointsCase("near integers", Gaussian(2.0), lambda: np.round(3 * kernels.table()).astype(int)),
)

WITH_MODES = (
    PointsCase("three inputs", Gaussian((0.5, 1.0, 2.0)), kernels.table),
    PointsCase("shared rates", Gaussian((0.5, 2.0), columns=(0, 1, 1)), kernels.table),
    PointsCase("one input", Gaussian(0.7), lambda: kernels.table()[:, :1]),
    PointsCase("two inputs", Gaussian(3.0), lambda: kernels.table()[:, :2]),
    PointsCase("Matern 5/2", Matern52((0.5, 2.0)), lambda: kernels.table()[:, :2]),
    PointsCase("Matern 3/2", Matern32(0.7), lambda: kernels.table()[:, :1]),
    PointsCase("constant input", Gaussian(0.7), lambda: kernels.table()[:, :2] * [1.0, 0.0]),
)


@dataclass(frozen=True)
class Case:
    """An operator on points."""

    operator: str
    on: PointsCase
    dtype: np.dtype = DOUBLE
    tile: int | None = None
    keep_distances: bool = False
    layout: BlockLayout | None = None

    def __str__(self) -> str:
        tile = f" of {self.tile}" if self.tile else ""
        kept = " with distances" if self.keep_distances else ""
        blocks = f" in {len(self.layout.edges) - 1} blocks" if self.layout else ""
        return f"{self.operator}{tile}{kept}{blocks} {self.dtype} on {self.on.name}"

    def bind(self) -> KernelOperator:
        if self.operator in FAST_SUMS:  # which estimators use for many points only
            return FAST_SUMS[self.operator].plan(self.on.kernel, self.on.points()).bind(self.dtype)
        choice = Choice(self.operator, self.dtype, "", 1e9)
        bound = choice.points(self.on.points(), self.keep_distances, self.layout).bind(self.on.kernel)
        return replace(bound, tile=self.tile) if self.tile else bound

    @property
    def tolerance(self) -> float:
        """Of products with functions of size one: 24 terms of size up to 30, each rounded.

        In single precision the points are rounded first, and a square root at small distance magnifies
        that to 1e-5 a term. Fast sums state the error of each of at most 24 values; functions of this size have sums
        of absolute values below 40. As many landmarks as points leave their jitter of 1e-9.
        """
        if self.dtype != DOUBLE:
            return 2e-3 + 40.0 * self.stated_error
        rounding = 1e-5 if self.layout and self.layout.rank else 1e-11
        return rounding + 40.0 * self.stated_error

    @property
    def stated_error(self) -> float:
        """The largest error of a kernel value that an operator allows itself."""
        if self.operator == "fourier":
            return SPECTRA[type(self.on.kernel)].tolerance
        return PAIRS.dropped if self.operator == "sparse" else 0.0


# 24 points: tiles of 8 divide them, of 7 do not, of 1 are single rows, of 24 and 100 hold them all.
TILES = (1, 7, 8, 24, 100)

# One block, and blocks that as many landmarks as points couple, have the exact matrix. POINTS[0] and the two with two
# metrics and heavy tails are positive definite: their landmarks are independent.
BLOCKS = (
    BlockLayout(np.array([0, 24])),
    BlockLayout(np.array([0, 24]), rank=5),
    BlockLayout(np.array([0, 7, 8, 24]), 24),
)
WITH_DISTANCES = tuple(on for on in POINTS if isinstance(on.kernel, DistanceKernel))

ALL = (
    *(Case("dense", on, dtype) for on in POINTS + WITH_FEATURES for dtype in (DOUBLE, SINGLE)),
    *(Case("tiled", on, dtype) for on in POINTS + WITH_FEATURES for dtype in (DOUBLE, SINGLE)),
    *(Case("tiled", on, DOUBLE, tile) for on in POINTS for tile in TILES),
    *(Case("tiled", POINTS[0], SINGLE, tile) for tile in TILES),
    *(Case("dense", on, dtype, keep_distances=True) for on in POINTS for dtype in (DOUBLE, SINGLE)),
    *(Case("sparse", on, dtype) for on in WITH_NEAR_PAIRS for dtype in (DOUBLE, SINGLE)),
    *(Case("fourier", on, DOUBLE) for on in WITH_MODES),
    *(Case("dense", on, layout=layout) for on in WITH_DISTANCES for layout in BLOCKS),
    *(Case("tiled", on, layout=layout) for on in WITH_DISTANCES[:2] for layout in BLOCKS),
    *(Case("dense", on, SINGLE, layout=BLOCKS[0]) for on in WITH_DISTANCES),
    *(Case("features", on, dtype) for on in WITH_FEATURES for dtype in (DOUBLE, SINGLE)),
)
