"""The reference's model at the hyperparameters of a fitted estimator; reads attributes, imports nothing."""

from typing import Any

import numpy as np

from tests.reference import kernels
from tests.reference.kernels import Kernel
from tests.reference.model import Model, flat_paths
from tests.reference.tree import latent_paths

_NAMED = {
    "Gaussian": lambda own: kernels.gaussian(_rate(own)),
    "Matern12": lambda own: kernels.matern12(_rate(own)),
    "Matern32": lambda own: kernels.matern32(_rate(own)),
    "Matern52": lambda own: kernels.matern52(_rate(own)),
    "Laplacian": lambda own: kernels.laplacian(_rate(own)),
    "GaussianLaplacian": lambda own: kernels.gaussian_laplacian(_rate(own), own.roughness, own.share),
    "RationalQuadratic": lambda own: kernels.rational_quadratic(_rate(own), own.alpha),
    "Linear": lambda own: kernels.linear(),
    "Polynomial": lambda own: kernels.polynomial(_rate(own), own.offset, own.degree),
    "Sum": lambda own: kernels.total(read_kernel(own.left), read_kernel(own.right)),
    "Product": lambda own: kernels.product(read_kernel(own.left), read_kernel(own.right)),
    "Scaled": lambda own: kernels.multiple(read_kernel(own.kernel), own.scale),
}


def _rate(kernel: Any) -> Any:
    """One rate, or one for every input; inputs of one column of a table share one."""
    columns = getattr(kernel, "columns", None)
    shared = columns is not None and isinstance(kernel.rate, tuple)
    return tuple(kernel.rate[place] for place in columns) if shared else kernel.rate


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
