"""The posterior covariance at one expansion, with kernel matrices from landmarks, in O(n (F r)^2)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from logikern.criteria.leave_one_out.groups import Groups
from logikern.criteria.leave_one_out.low_rank_system import LowRankModel, Woodbury, landmarked_operators
from logikern.criteria.leave_one_out.posterior import GroupBlocks, cross
from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.products import multiply
from logikern.operators.landmarks import PairWeights, weigh_derivative, weigh_values
from logikern.structure.covariance import ClassCovariance, CovarianceGradient


class LowRankSensitivity(NamedTuple):
    """Derivatives of sum_g b_g' Q_gg a_g with respect to the curvature (`products`) and to K~ (weights of pairs).

    With l_b = E b and l_a = E a, the weights of function f are
    sum_g (T b_g) (T a_g)' = l_b l_a' within groups + (Z Omega_f' + Omega_f Z') / 2.
    """

    products: Array  # (F, n)
    left: Array  # (F, n): l_b
    right: Array  # (F, n): l_a
    mixed: list[Array]  # (n, R), one per function: Z


class LowRankPosterior:
    """Q = (K~^-1 + W)^-1 for K~ = D + Phi' Phi, D diagonal and Phi block-diagonal over functions.

    With E = (I + W D)^-1 and W_D = E W, which at each point is diag(t) - t t' / sum(t), t = s^2 / (1 + s^2 D)
    (diag(t) without null directions), and I + Phi W_D Phi' = L L', we have Q = D E + G G' and
    T = I - W Q = E -
    Omega G' for Omega = W_D Phi' L^-T and G = Phi' L^-T - D Omega.

    Parameters
    ----------
    model : LowRankModel
    curvature : PointwiseCurvature
        With one weighting.
    groups : Groups
    woodbury : Woodbury or None, default=None
        At the points of the model, if known. A `Woodbury` of all points, restricted to some, gives Q at these.
    """

    def __init__(
        self, model: LowRankModel, curvature: PointwiseCurvature, groups: Groups, woodbury: Woodbury | None = None
    ):
        self.curvature = curvature
        self.groups = groups
        self.scale = curvature.scale[0]
        self.residual = model.residual
        self.woodbury = Woodbury(model, curvature, 0) if woodbury is None else woodbury
        self.omega, self.gain = self._factorise(model)
        self.batches = tuple(self._blocks(members) for members in groups.batches)

    def _factorise(self, model: LowRankModel) -> tuple[list[Array], list[Array]]:
        """Omega and G, (n, R) for each function."""
        inverse, pairs = self.woodbury.inverse, zip(model.factors, model.places, strict=True)
        plain = [multiply(factor.T, inverse[:, place].T) for factor, place in pairs]
        omega = self.woodbury.weigh(plain)
        for index, own in enumerate(omega):
            plain[index] -= self.residual[index][:, None] * own
        return omega, plain

    def _localise(self, functions: Array) -> Array:
        """E f = f - W_D D f, (F, n)."""
        spread = self.woodbury.weigh([own[:, None] for own in self.residual * functions])
        return functions - np.stack([own[:, 0] for own in spread])

    def _roots(self) -> Iterator[Array]:
        """V' G, (n, R) for each function, one at a time."""
        scale, null = self.scale[:, :, None], self.curvature.null
        if null is None:
            yield from (size * gain for size, gain in zip(scale, self.gain, strict=True))
            return
        null = null[0][:, :, None]
        along = sum(own * size * gain for own, size, gain in zip(null, scale, self.gain, strict=True))
        for own, size, gain in zip(null, scale, self.gain, strict=True):
            root = size * gain
            root -= own * along
            yield root

    def _blocks(self, members: Indices) -> GroupBlocks:
        n_groups, size = members.shape
        n_functions = len(self.scale)
        blocks = cross(self.gain, members)
        locals_ = np.stack(
            [self.residual * self._localise(unit) for unit in _units(n_functions, self.scale.shape[1])]
        )  # (F, F, n), symmetric
        place = np.arange(size)
        blocks[:, :, place, :, place] += locals_[:, :, members].transpose(3, 2, 0, 1)
        covariance = blocks.reshape(n_groups, n_functions * size, n_functions * size)
        return GroupBlocks(members, self._shrink(covariance, members), covariance)

    def _shrink(self, covariance: Array, members: Indices) -> Array:
        """P = Pi - V' Q V of each group."""
        size = members.shape[1]
        identity = np.eye(len(self.scale))[:, None, :, None] * np.eye(size)[None, :, None, :]
        projector = np.broadcast_to(identity, (len(members), *identity.shape))
        if self.curvature.null is not None:
            null = self.curvature.null[0][:, members]
            projector = projector - np.einsum("fkm,ekm,ml->kfmel", null, null, np.eye(size))
        projector = projector.reshape(covariance.shape)
        root = projector * self.scale[:, members].swapaxes(0, 1).reshape(len(members), 1, -1)  # V' = Pi S
        return projector - root @ covariance @ root.swapaxes(1, 2)

    def sensitivity(self, left: Array, right: Array) -> LowRankSensitivity:
        """Derivatives of sum_g b_g' Q_gg a_g for b and a of shape (F, n)."""
        near_left, near_right = self._localise(left), self._localise(right)
        reach_left, reach_right = self._reach(left), self._reach(right)  # (G, R)
        middle = reach_left.T @ reach_right
        middle = 0.5 * (middle + middle.T)
        far_left, far_right = (
            (reach if self.groups.alone else reach[self.groups.numbers]) for reach in (reach_left, reach_right)
        )
        products, mixed = np.empty_like(left), []
        pulled = [self.curvature.root_adjoint((self.residual * near)[None])[0] for near in (near_left, near_right)]
        for index, root in enumerate(self._roots()):
            own_left, own_right = pulled[0][index], pulled[1][index]
            ahead = multiply(root, middle)
            ahead += own_left[:, None] * far_right
            ahead += own_right[:, None] * far_left
            products[index] = own_left * own_right + np.einsum("nr,nr->n", ahead, root)
            omega = self.omega[index]
            mixed.append(multiply(omega, middle))
            mixed[-1] -= near_left[index][:, None] * far_right
            mixed[-1] -= near_right[index][:, None] * far_left
        return LowRankSensitivity(products, near_left, near_right, mixed)

    def _reach(self, functions: Array) -> Array:
        """G_g' f_g of every group, (G, R)."""
        return self.groups.add_up(
            sum(gain * function[:, None] for gain, function in zip(self.gain, functions, strict=True))
        )

    def pair_weights(self, index: int, found: LowRankSensitivity, interpolation: Array) -> PairWeights:
        """The weights of one function, in the form that the approximation of one operator needs."""
        left, right, mixed, omega = found.left[index], found.right[index], found.mixed[index], self.omega[index]
        diagonal = left * right + np.einsum("nr,nr->n", mixed, omega)
        beyond = multiply(multiply(interpolation, mixed), omega.T)
        beyond += multiply(multiply(interpolation, omega), mixed.T)
        beyond -= 2.0 * diagonal * interpolation
        if self.groups.alone:
            beyond += 2.0 * left * right * interpolation
        else:
            numbers = self.groups.numbers
            beyond += self.groups.add_up((interpolation * left).T).T[:, numbers] * right
            beyond += self.groups.add_up((interpolation * right).T).T[:, numbers] * left
        return PairWeights(diagonal, beyond)

    def total_weight(self, index: int, found: LowRankSensitivity) -> float:
        """sum_ij of the weights of one function."""
        left, right = (self.groups.add_up(own[index][:, None])[:, 0] for own in (found.left, found.right))
        return float(left @ right + found.mixed[index].sum(axis=0) @ self.omega[index].sum(axis=0))


def weigh_landmarks(
    covariance: ClassCovariance, posterior: LowRankPosterior, found: LowRankSensitivity, function_of: Indices
) -> CovarianceGradient:
    """d/d log h of sum_c sum_ij weights_cij K~_cij, for a covariance whose operators are all `Landmarked`."""
    kernels, variances = [], np.empty(len(covariance.variances))
    for number, operator in enumerate(landmarked_operators(covariance)):
        users = np.flatnonzero(covariance.assignment == number)
        nystrom = operator.nystrom
        weights = {
            index: posterior.pair_weights(index, found, nystrom.interpolation) for index in set(function_of[users])
        }
        for user in users:
            variances[user] = covariance.variances[user] * weigh_values(nystrom, weights[function_of[user]])
        shares = [(covariance.variances[user], weights[function_of[user]]) for user in users]
        together = PairWeights(
            sum(share * own.diagonal for share, own in shares), sum(share * own.beyond for share, own in shares)
        )
        kernels.append(weigh_derivative(operator.inner, nystrom, together))
    bias = covariance.bias_variance * sum(posterior.total_weight(index, found) for index in function_of)
    return CovarianceGradient(tuple(kernels), variances, float(bias))


def _units(n_functions: int, n_points: int) -> Array:
    """Indicator functions of the classes, (F, F, n)."""
    return np.broadcast_to(np.eye(n_functions)[:, :, None], (n_functions, n_functions, n_points))
