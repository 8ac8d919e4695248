"""The reference's model at the hyperparameters of a fitted estimator; reads attributes, imports nothing."""

from typing import Any

import numpy as np

from tests.reference import kernels
from tests.reference.kernels import Kernel
from tests.reference.model import Model, flat_paths
from tests.reference.tree import latent_paths

_NAMED = {
    "Gaussian": lambda own: kernels.gaussian(own.rate),
    "Matern12": lambda own: kernels.matern12(own.rate),
    "Matern32": lambda own: kernels.matern32(own.rate),
    "Matern52": lambda own: kernels.matern52(own.rate),
    "Laplacian": lambda own: kernels.laplacian(own.rate),
    "GaussianLaplacian": lambda own: kernels.gaussian_laplacian(own.rate, own.roughness, own.share),
    "RationalQuadratic": lambda own: kernels.rational_quadratic(own.rate, own.alpha),
    "Linear": lambda own: kernels.linear(),
    "Polynomial": lambda own: kernels.polynomial(own.rate, own.offset, own.degree),
    "Sum": lambda own: kernels.total(read_kernel(own.left), read_kernel(own.right)),
    "Product": lambda own: kernels.product(read_kernel(own.left), read_kernel(own.right)),
    "Scaled": lambda own: kernels.multiple(read_kernel(own.kernel), own.scale),
}


def read_kernel(kernel: Any) -> Kernel:
    """The same kernel by explicit differences."""
    return _NAMED[type(kernel).__name__](kernel)


def read_model(specification: Any) -> Model:
    """The same model."""
    tying, mixing = specification.tying, specification.mixing
    is_tree = type(mixing).__name__ == "Tree"
    paths = latent_paths(mixing.labels, mixing.parents) if is_tree else flat_paths(mixing.n_classes)
    return Model(
        tuple(read_kernel(kernel) for kernel in specification.kernels),
        np.array(tying.kernel_of),
        np.array(specification.variances)[list(tying.variance_of)],
        paths,
        float(specification.bias_variance),
    )
