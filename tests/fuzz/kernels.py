"""Random kernels, each as the library takes it and as the reference computes it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Polynomial,
    RationalQuadratic,
)
from tests.fuzz.tables import Inputs, Random
from tests.reference import kernels as reference
from tests.reference.kernels import Kernel

STATIONARY = {
    "gaussian": (Gaussian, reference.gaussian),
    "matern12": (Matern12, reference.matern12),
    "matern32": (Matern32, reference.matern32),
    "matern52": (Matern52, reference.matern52),
    "laplacian": (Laplacian, reference.laplacian),
}


@dataclass(frozen=True, eq=False)
class Drawn:
    """A kernel: arguments for the estimator, and the reference's function."""

    arguments: dict[str, Any]
    matrix: Kernel
    told: str


def draw_kernel(random: Random, inputs: Inputs) -> Drawn:
    """A named kernel with its rate, or an object, which may be a sum or a product."""
    rate = draw_rate(random, inputs)
    kind = random.integers(12)
    if kind <= 4:
        name = "gaussian" if kind <= 2 else str(random.choice(list(STATIONARY)))
        given = list(rate) if isinstance(rate, tuple) else rate
        return Drawn({"kernel": name, "rate": given}, STATIONARY[name][1](rate), f"{name} at {rate}")
    if kind == 5:
        return Drawn({"kernel": "linear"}, reference.linear(), "linear")
    if kind == 6:
        single = _inner_rate(random, inputs)
        return Drawn(
            {"kernel": "polynomial", "rate": single}, reference.polynomial(single, 1.0, 3), f"polynomial at {single}"
        )
    own, matrix = _draw_object(random, inputs, depth=0 if kind <= 8 else 1)
    return Drawn({"kernel": own}, matrix, repr(own))


def draw_rate(random: Random, inputs: Inputs) -> Any:
    """One rate at which the kernel varies over the data, or one per input."""
    level = 10 ** random.uniform(-1.5, 1.0)
    if random.random() < 0.7:
        return float(level / inputs.spread)
    variances = inputs.values.var(axis=0)
    own = level * 10 ** random.uniform(-1, 1, len(variances)) / len(variances)
    # Of a constant column the variance may be rounding.
    varies = variances > 1e-20 * np.square(inputs.values).max(axis=0)
    return tuple((own / np.where(varies, variances, 1.0)).tolist())


def _inner_rate(random: Random, inputs: Inputs) -> float:
    """A rate at which inner products are about one."""
    size = float(np.square(inputs.values).sum(axis=1).mean())
    return float(10 ** random.uniform(-1, 0.3) / (size if size > 0 else 1.0))


def _draw_object(random: Random, inputs: Inputs, depth: int) -> tuple[Any, Kernel]:
    if depth > 0:
        left, left_matrix = _draw_object(random, inputs, depth - 1)
        right, right_matrix = _draw_object(random, inputs, depth - 1)
        kind = random.integers(3)
        if kind == 0:
            return left + right, reference.total(left_matrix, right_matrix)
        if kind == 1:
            return left * right, reference.product(left_matrix, right_matrix)
        scale = float(10 ** random.uniform(-1, 1))
        return scale * left + right, reference.total(reference.multiple(left_matrix, scale), right_matrix)
    kind = random.integers(7)
    if kind <= 3:
        ours, matrix = STATIONARY[str(random.choice(list(STATIONARY)))]
        rate = draw_rate(random, inputs)
        return ours(rate=rate), matrix(rate)
    if kind == 4:
        rate, alpha = draw_rate(random, inputs), float(10 ** random.uniform(-1, 1.5))
        return RationalQuadratic(rate=rate, alpha=alpha), reference.rational_quadratic(rate, alpha)
    if kind == 5:
        scale = _inner_rate(random, inputs)
        return scale * Linear(), reference.multiple(reference.linear(), scale)
    rate, offset, degree = _inner_rate(random, inputs), float(random.uniform(0.1, 2.0)), int(random.integers(1, 4))
    return Polynomial(rate=rate, offset=offset, degree=degree), reference.polynomial(rate, offset, degree)
