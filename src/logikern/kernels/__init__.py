"""Kernels: the similarity of two inputs."""

from .base import Kernel, Product, Scaled, Sum, leaves
from .function import FunctionKernel
from .gaussian import Gaussian
from .gaussian_laplacian import GaussianLaplacian
from .laplacian import Laplacian
from .linear import Linear
from .matern import Matern12, Matern32, Matern52
from .metrics import CITY_BLOCK, SQUARED_EUCLIDEAN, Metric, squared_distances
from .parameters import positive
from .polynomial import Polynomial
from .precomputed import KernelRows, Precomputed, new_points, reference_points, training_points
from .rational_quadratic import RationalQuadratic
from .stationary import DistanceKernel, Stationary

# Kernels by their names in estimators.
KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "gaussian_laplacian": GaussianLaplacian,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "rational_quadratic": RationalQuadratic,
    "laplacian": Laplacian,
    "linear": Linear,
    "polynomial": Polynomial,
}

__all__ = [
    "CITY_BLOCK",
    "KERNELS",
    "SQUARED_EUCLIDEAN",
    "DistanceKernel",
    "FunctionKernel",
    "Gaussian",
    "GaussianLaplacian",
    "Kernel",
    "KernelRows",
    "Laplacian",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Metric",
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
