"""Kernels: the similarity of two inputs."""

from .base import Kernel, Product, Scaled, Sum, leaves
from .distance import squared_distances
from .function import FunctionKernel
from .gaussian import Gaussian
from .linear import Linear
from .matern import Matern12, Matern32, Matern52
from .parameters import positive
from .polynomial import Polynomial
from .precomputed import KernelRows, Precomputed, new_points, reference_points, training_points
from .rational_quadratic import RationalQuadratic
from .stationary import Stationary

# Kernels by their names in estimators.
KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "rational_quadratic": RationalQuadratic,
    "linear": Linear,
    "polynomial": Polynomial,
}

__all__ = [
    "KERNELS",
    "FunctionKernel",
    "Gaussian",
    "Kernel",
    "KernelRows",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Stationary",
    "Sum",
    "leaves",
    "new_points",
    "positive",
    "reference_points",
    "squared_distances",
    "training_points",
]
