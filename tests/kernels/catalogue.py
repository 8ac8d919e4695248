"""Every kernel, with points to try it on. A new kernel is one more row here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.kernels import (
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
    training_points,
)

N_POINTS = 24
N_INPUTS = 3


def table() -> np.ndarray:
    """Points with a third of zeros, for sparse storage, and two pairs of equal rows."""
    generator = np.random.default_rng(3)
    points = generator.standard_normal((N_POINTS, N_INPUTS))
    points[generator.random(points.shape) < 1 / 3] = 0.0
    points[5], points[17] = points[4], points[2]
    return points


def kernel_rows() -> Any:
    points = table()
    return training_points(points @ points.T + 1.0)


def words() -> list[str]:
    generator = np.random.default_rng(4)
    return ["".join(generator.choice(list("abc"), size)) for size in generator.integers(1, 6, N_POINTS)]


def count_common_letters(first: str, second: str) -> float:
    """Inner product of the letter counts."""
    return float(sum(first.count(letter) * second.count(letter) for letter in "abc"))


@dataclass(frozen=True)
class Case:
    """A kernel and a function that makes points for it."""

    name: str
    kernel: Kernel
    points: Callable[[], Any] = table

    def __str__(self) -> str:
        return self.name


RATES = (0.5, 1.0, 2.0)

NUMERIC = (
    Case("gaussian", Gaussian(0.7)),
    Case("gaussian ard", Gaussian(RATES)),
    Case("matern12", Matern12(0.7)),
    Case("matern12 ard", Matern12(RATES)),
    Case("matern32", Matern32(0.7)),
    Case("matern32 ard", Matern32(RATES)),
    Case("matern52", Matern52(0.7)),
    Case("matern52 ard", Matern52(RATES)),
    Case("rational quadratic", RationalQuadratic(0.7, 1.3)),
    Case("rational quadratic ard", RationalQuadratic(RATES, 0.4)),
    Case("laplacian", Laplacian(0.7)),
    Case("laplacian ard", Laplacian(RATES)),
    Case("gaussian and laplacian", GaussianLaplacian(0.7, roughness=0.6, share=1.7)),
    Case("both, shared rates", GaussianLaplacian((0.5, 2.0), columns=(1, 0, 1), roughness=1.4, share=0.6)),
    Case("laplacian with shared rates", Laplacian((0.5, 2.0), columns=(1, 0, 1))),
    Case("gaussian with shared rates", Gaussian((0.5, 2.0), columns=(0, 1, 1))),
    Case("linear", Linear()),
    Case("polynomial", Polynomial(0.3, 0.8, 3)),
    Case("polynomial ard", Polynomial((0.2, 0.3, 0.4), 0.8, 2)),
    Case("polynomial of degree 1", Polynomial(0.3, 0.8, 1)),
    Case("sum", Gaussian(RATES) + Matern12(0.3)),
    Case("product", RationalQuadratic(0.7, 1.3) * Matern52(RATES)),
    Case("scaled", 2.5 * Gaussian(0.7)),
    Case("scaled linear", 0.5 * Linear()),
    Case("sum of linear", 0.5 * Linear() + Linear()),
    Case("product of metrics", Laplacian(RATES) * Gaussian(0.4)),
    Case("nested", 1.5 * (Gaussian(0.7) + 0.2 * Linear()) * Matern32(RATES)),
)

OTHER = (
    Case("precomputed", Precomputed(), kernel_rows),
    Case("scaled precomputed", 2.0 * Precomputed(), kernel_rows),
    Case("squared precomputed", (2.0 * Precomputed()) * Precomputed(), kernel_rows),
    Case("function", FunctionKernel(count_common_letters), words),
    Case("scaled function", 3.0 * FunctionKernel(count_common_letters), words),
)

ALL = NUMERIC + OTHER
