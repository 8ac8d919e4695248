"""The part of a Newton system that couples classes at one point but no two points."""

import numpy as np

from logikern.fitting.preconditioning.low_rank import CovarianceFactors
from logikern.likelihoods.curvature import PointwiseCurvature
from logikern.numerics.conjugate_gradient import take_members
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, point_tiles


class PointSystems:
    """A = (I + S R S)^-1, restricted to the range of the projector; R is what the factors miss at each point.

    R couples classes along the tree: Mixing diag(d) Mixing', d_p the residual variance of function p. The functions
    at a point are a Gaussian chain from the root to the leaves: each node is its parent plus a term of variance d_p,
    observed at leaf c with precision S_c^2. Messages up the tree carry precisions: node p has h_p, the sum of g h
    over its children, with gain g_p = 1 / (1 + d_p h_p). Means f follow in one pass up and one down, and
    A x = g x - S g (f of the parent) at every leaf. Without inner nodes A is the diagonal g.

    On the range of Pi = I - U U' the inverse is A - A U U' A / (U' A U).
    """

    def __init__(self, factors: CovarianceFactors, curvature: PointwiseCurvature):
        self.factors = factors
        self.nodes = factors.forest.inner
        dtype = factors.dtype
        shape = n_batch, _, n = curvature.scale.shape
        self.leaf_gains = np.empty(shape, dtype=dtype)
        self.passed = np.empty(shape, dtype=dtype) if len(self.nodes) else None  # S g
        self.gains = np.empty((n_batch, len(self.nodes), n), dtype=dtype)
        self.spreads = np.empty_like(self.gains)  # d g
        for_each(lambda points: self._find_gains(curvature.scale, points), point_tiles(shape))
        self.scale = curvature.scale.astype(dtype, copy=False)
        self.null: Array | None = None
        self.tilted: Array | None = None
        self.total: Array | None = None
        if curvature.null is not None:
            self.null = curvature.null.astype(dtype, copy=False)
            self.tilted = np.empty(shape, dtype=dtype)  # A U
            self.total = np.empty((n_batch, n), dtype=dtype)  # U' A U
            everyone = np.arange(n_batch)
            for_each(lambda points: self._tilt(everyone, points), point_tiles(shape))

    def _find_gains(self, scale: Array, points: slice) -> None:
        scale, missing = scale[..., points], self.factors.missing(points)
        leaf_gains = 1.0 / (1.0 + missing[self.factors.forest.leaf_latents] * scale**2)
        self.leaf_gains[..., points] = leaf_gains
        if self.passed is None:
            return
        passed = scale * leaf_gains
        self.passed[..., points] = passed
        precision = self.nodes.collect(passed, scale)
        missing, uppers = missing[self.nodes.numbers], self.nodes.parents
        for place in reversed(range(len(missing))):
            gain = 1.0 / (1.0 + missing[place] * precision[:, place])
            self.gains[:, place, points] = gain
            self.spreads[:, place, points] = missing[place] * gain
            if uppers[place] >= 0:
                precision[:, uppers[place]] += gain * precision[:, place]

    def _tilt(self, everyone: Indices, points: slice) -> None:
        null = self.null[..., points]  # type: ignore[index]
        tilted = self._apply(null, everyone, points)
        self.tilted[..., points] = tilted  # type: ignore[index]
        self.total[:, points] = np.einsum("bcn,bcn->bn", null, tilted)  # type: ignore[index]

    def solve(self, per_class: Array, members: Indices, points: slice) -> Array:
        """The inverse on the range of the projector, at some points (m, C, points), a new array."""
        result = self._apply(per_class, members, points)
        if self.null is None or self.tilted is None or self.total is None:
            return result
        along = np.einsum("bcn,bcn->bn", take_members(self.null[..., points], members), result)
        along /= take_members(self.total[:, points], members)
        result -= take_members(self.tilted[..., points], members) * along[:, None, :]
        return result

    def _apply(self, per_class: Array, members: Indices, points: slice) -> Array:
        result = take_members(self.leaf_gains[..., points], members) * per_class
        if self.passed is None:
            return result
        passed, gains, spreads = (
            take_members(array[..., points], members) for array in (self.passed, self.gains, self.spreads)
        )
        mean = self.nodes.collect(per_class, passed)
        self.nodes.rise(mean, gains)
        mean *= spreads
        self.nodes.fall(mean, gains)
        self.nodes.hand_down(np.negative(mean, out=mean), result, passed)
        return result

    def leaf_strengths(self, member: int) -> Array:
        """S^2 g of every class's own function, (C, n): S A S without inner nodes."""
        return self.scale[member].astype(float) ** 2 * self.leaf_gains[member]

    def inner(self, member: int, number: int) -> tuple[Array, Array]:
        """Gain g and coupling (d g)^(1/2) of an inner function, (n,) each."""
        place = self.nodes.place(number)
        return self.gains[member, place], np.sqrt(self.spreads[member, place])

    def root_weights(self, member: int, index: int) -> Array:
        """S A U / (U' A U)^(1/2) of a class, (n,)."""
        numerator = self.scale[member, index].astype(float) * self.tilted[member, index]  # type: ignore[index]
        return numerator / np.sqrt(self.total[member])  # type: ignore[index]
