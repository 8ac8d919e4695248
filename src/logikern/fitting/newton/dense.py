"""Newton's method with dense factors: for small problems, and as a reference."""

from dataclasses import dataclass

import numpy as np

from logikern.fitting.iteration import Budget
from logikern.fitting.newton.contrasts import Contrast, contrast_of
from logikern.fitting.newton.joint import correlation, joint_covariance
from logikern.fitting.newton.method import Fit, MakeSystem, NewtonSolver
from logikern.fitting.newton.policy import POLICY, NewtonPolicy
from logikern.fitting.newton.systems import ExactSystem
from logikern.likelihoods.curvature import Curvature, as_pointwise
from logikern.numerics.outcome import Array, Indices
from logikern.structure.covariance import ClassCovariance, CovarianceGradient


@dataclass(frozen=True)
class Exact(NewtonSolver):
    """Newton steps from Cholesky factors of all class blocks, O(C n^3) a step (Seeger 2008, App. C).

    Classes that are coupled a priori are one block, O(C^3 n^3) a step.

    Parameters
    ----------
    tolerance : float, default=1e-8
        For the largest absolute component of the gradient.
    budget : Budget
    policy : NewtonPolicy
    """

    tolerance: float = 1e-8
    budget: Budget = Budget()
    policy: NewtonPolicy = POLICY

    def systems(self, covariance: ClassCovariance) -> MakeSystem:
        return DenseSystems(dense_blocks(covariance))


class DenseSystems:
    """Systems of one covariance with dense blocks, (C, n, n) or (1, C n, C n)."""

    def __init__(self, blocks: Array):
        self.blocks = blocks
        self.covariances: Array | None = None

    def __call__(self, curvature: Curvature, members: Indices) -> ExactSystem:
        own = as_pointwise(curvature)
        return ExactSystem(self.blocks, own, self.seen(contrast_of(own)))

    def seen(self, contrast: Contrast) -> Array:
        """Covariances of the functions that the likelihood distinguishes, computed once."""
        if self.covariances is None:
            self.covariances = contrast.covariances(self.blocks)
        return self.covariances


def systems_of(fit: Fit) -> DenseSystems:
    """The dense systems of a fit, or new ones if the fit has systems of another kind."""
    made = fit.make_system
    return made if isinstance(made, DenseSystems) else DenseSystems(dense_blocks(fit.covariance))


def dense_blocks(covariance: ClassCovariance) -> Array:
    """K~ as an array (C, n, n), one block per class; (1, C n, C n) where classes are coupled.

    Classes with one covariance share memory. A bias of infinite variance is left out.
    """
    if covariance.mixing.is_coupled:
        return joint_covariance(covariance)[None]
    bias_variance = covariance.bias_variance if np.isfinite(covariance.bias_variance) else 0.0
    own = [correlation(operator) for operator in covariance.operators]
    pairs = list(zip(covariance.assignment, covariance.variances, strict=True))
    distinct = pairs[:1] if len(set(pairs)) == 1 else pairs
    blocks = np.empty((len(distinct), *own[0].shape))
    for block, (index, variance) in zip(blocks, distinct, strict=True):
        np.multiply(own[index], variance, out=block)
        block += bias_variance
    return np.broadcast_to(blocks, (len(pairs), *own[0].shape)) if len(distinct) < len(pairs) else blocks


def weigh_blocks(
    covariance: ClassCovariance, blocks: Array, weights: list[Array], function_of: Indices
) -> CovarianceGradient:
    """d/d log h of sum_c sum_ij weights_cij K~_cij, for weights that classes may share.

    Parameters
    ----------
    covariance : ClassCovariance
    blocks : array of shape (C, n, n)
        From `dense_blocks`.
    weights : list of F arrays of shape (n, n)
    function_of : integer array of shape (C,)
        Position in `weights` for each class.
    """
    totals = np.array([own.sum() for own in weights])[function_of]
    kernels = []
    for index, operator in enumerate(covariance.operators):
        users = covariance.assignment == index
        variances = np.bincount(function_of[users], weights=covariance.variances[users], minlength=len(weights))
        used = np.flatnonzero(np.bincount(function_of[users], minlength=len(weights)))
        if len(used) == 1:
            kernels.append(variances[used[0]] * operator.weigh_gradient(weights[used[0]]))
        else:
            kernels.append(operator.weigh_gradient(sum(variances[own] * weights[own] for own in used)))
    inner = np.array([np.vdot(weights[own], block) for own, block in zip(function_of, blocks, strict=True)])
    # An infinite variance is not a parameter.
    bias = (covariance.bias_variance if np.isfinite(covariance.bias_variance) else 0.0) * totals
    return CovarianceGradient(tuple(kernels), inner - bias, float(bias.sum()))
