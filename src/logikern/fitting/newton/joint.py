"""The dense covariance of all classes together, for classes that are coupled a priori."""

from typing import Any

import numpy as np

from logikern.numerics.outcome import Array
from logikern.operators.base import KernelOperator
from logikern.structure.covariance import NO_MATRIX, ClassCovariance, CovarianceGradient


def joint_covariance(covariance: ClassCovariance) -> Array:
    """K~ = sum_l (B V_l B') (x) M_l + bias_variance (I (x) 1 1'), (C n, C n), B the mixing as a matrix.

    V_l holds the variances of the latent functions that use operator l, and zeros.
    """
    if np.isinf(covariance.bias_variance):
        raise ValueError(
            "`bias_variance` must be finite if a hierarchy couples classes, but is inf. Pass a finite number."
        )
    n_classes, n = covariance.n_classes, covariance.n_points
    parts = covariance.mixing.as_matrix()
    joint = np.zeros((n_classes, n, n_classes, n))
    for index, operator in enumerate(covariance.operators):
        matrix, coupling = correlation(operator), coupling_of(covariance, index, parts)
        for row, column in np.argwhere(coupling):
            joint[row, :, column] += coupling[row, column] * matrix
    for own in range(n_classes):
        joint[own, :, own] += covariance.bias_variance
    return joint.reshape(n_classes * n, n_classes * n)


def weigh_joint(covariance: ClassCovariance, weights: Array, seen: Array) -> CovarianceGradient:
    """d/d log h of sum_ij weights_ij K_ij, with K (F n, F n) the joint covariance of combinations `seen`, (F, C)."""
    n, n_seen = covariance.n_points, len(seen)
    between = weights.reshape(n_seen, n, n_seen, n)
    parts = seen @ covariance.mixing.as_matrix()  # (F, P)
    kernels, variances, mixing = [], np.empty(len(covariance.variances)), np.zeros_like(parts)
    for index, operator in enumerate(covariance.operators):
        users = covariance.assignment == index
        own, inner = parts[:, users], np.einsum("fnem,nm->fe", between, correlation(operator))
        variances[users] = covariance.variances[users] * np.einsum("fp,fe,ep->p", own, inner, own)
        mixing[:, users] = (inner + inner.T) @ (own * covariance.variances[users])
        kernels.append(
            operator.weigh_gradient(np.einsum("fe,fnem->nm", coupling_of(covariance, index, parts), between))
        )
    bias = covariance.bias_variance * np.einsum("fe,fnem->", seen @ seen.T, between)
    by_matrix = seen.T @ mixing if covariance.mixing.parameters.size else NO_MATRIX
    return CovarianceGradient(tuple(kernels), variances, float(bias), by_matrix)


def correlation(operator: KernelOperator) -> Array:
    """The matrix of an operator, (n, n), in double precision."""
    everything: Any = slice(None)  # unlike indices it copies nothing
    return np.asarray(operator.rows(everything), dtype=float)


def coupling_of(covariance: ClassCovariance, index: int, parts: Array) -> Array:
    """B V_l B' (F, F) for operator l: B (F, P) are the given parts, V_l the variances of its latent functions."""
    users = covariance.assignment == index
    return (parts[:, users] * covariance.variances[users]) @ parts[:, users].T
