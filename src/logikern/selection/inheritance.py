"""Curvature of the criterion that a model inherits from the coarser model it grew from."""

import numpy as np

from logikern.kernels.base import Kernel
from logikern.numerics.outcome import Array, Indices, Mask
from logikern.structure.specification import Specification


def inherit_curvature(
    inverse_hessian: Array | None, coarse: Specification, fine: Specification, free: Mask
) -> Array | None:
    """The inverse Hessian that a finer model starts with.

    The curvature of a shared parameter is divided among its functions by the number of classes that use them. A
    function of a tree counts once for each class below it.

    Parameters
    ----------
    inverse_hessian : array of shape (p, p) or None
        Over the free parameters of the coarse model.
    coarse, fine : Specification
        Models of the same classes, with the same number of kernel parameters for each class.
    free : boolean array
        Which parameters of the fine model are learned. The bias variance of the coarse model is free if it is free
        in the fine model.

    Returns
    -------
    array of shape (q, q) or None
        Over the free parameters of the fine model; None if it cannot be derived or is not positive definite.
    """
    before, after = parameters_of_classes(coarse), parameters_of_classes(fine)
    if inverse_hessian is None or any(len(own) != len(new) for own, new in zip(before, after, strict=True)):
        return None
    free_before = np.append(np.ones(len(coarse.log_parameters) - 1, dtype=bool), free[-1])
    hessian = np.eye(len(free_before))
    hessian[np.ix_(free_before, free_before)] = np.linalg.inv(inverse_hessian)
    users = np.zeros_like(hessian)
    usage = coarse.mixing.usage
    for own, count in zip(before, usage, strict=True):
        users[np.ix_(own, own)] += count
    inherited = np.zeros((len(free),) * 2)
    for own, new, count in zip(before, after, usage, strict=True):
        pairs = np.ix_(own, own)
        inherited[np.ix_(new, new)] += count * hessian[pairs] / users[pairs]
    if fine.mixing.parameters.size == coarse.mixing.parameters.size:
        origin, place = coarse.mixing_places, fine.mixing_places
        inherited[place, place] = hessian[origin, origin]
    values, vectors = np.linalg.eigh(inherited[np.ix_(free, free)])
    if values[0] <= 1e-6 * values[-1]:
        return None
    return np.asarray((vectors / values) @ vectors.T)


def trace_parameters(coarse: Specification, fine: Specification) -> Indices:
    """For each of the fine model's `log_parameters`, the position of its origin in the coarse model.

    Rates of single columns originate from the one rate of their kernel. Parameters of the mixing have no origin, and
    zero in their places.
    """
    origins = np.zeros(len(fine.log_parameters), dtype=int)
    classes = zip(parameters_of_classes(coarse), parameters_of_classes(fine), strict=True)
    for number, (own, new) in enumerate(classes):
        before, after = (_kernel_of(model, number).parameter_names for model in (coarse, fine))
        places = [before.index(name if name in before else name.split("[")[0]) for name in after]
        origins[new] = own[[*places, -2, -1]]
    return origins


def _kernel_of(specification: Specification, latent: int) -> Kernel:
    return specification.kernels[specification.tying.kernel_of[latent]]


def parameters_of_classes(specification: Specification) -> list[Indices]:
    """For each class, where its kernel's parameters, its variance and the bias variance are in `log_parameters`."""
    sizes = [len(kernel.log_parameters) for kernel in specification.kernels]
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    n_variances = len(specification.variances)
    pairs = zip(specification.tying.kernel_of, specification.tying.variance_of, strict=True)
    first = specification.mixing_places.stop  # of the variances
    return [
        np.array([*range(begins[kernel], begins[kernel + 1]), first + variance, first + n_variances])
        for kernel, variance in pairs
    ]
