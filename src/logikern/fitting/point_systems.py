"""The part of a Newton system that couples classes at one point but no two points."""

import numpy as np

from logikern.fitting.factors import CovarianceFactors
from logikern.likelihoods.base import Curvature
from logikern.numerics.conjugate_gradient import is_everyone, of
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each, point_tiles


class PointSystems:
    """A = (I + S R S)^-1, then restricted to the range of the projector; R is what factors miss at each point.

    R couples classes along the tree: Mixing diag(d) Mixing', d_p the residual variance of function p. With it
    the functions at a point are a Gaussian chain from the root to the leaves, each node its parent plus something
    of variance d_p, seen at leaf c with precision S_c^2. Messages up the tree carry precisions: that of node p is
    h_p, the sum over its children of g h, where g_p = 1 / (1 + d_p h_p) is what the variance of p lets through.
    Means follow in one pass up and one down, O(P) for each point. Without links A is the diagonal g.

    On the range of Pi = I - U U' the inverse is A - A U U' A / (U' A U).

    Parameters
    ----------
    factors : CovarianceFactors
    curvature : Curvature
    """

    def __init__(self, factors: CovarianceFactors, curvature: Curvature):
        self.factors = factors
        self.mixing = factors.mixing
        dtype = factors.dtype
        n_batch, _, n = curvature.scale.shape
        self.gains = np.empty((n_batch, self.mixing.n_latent, n), dtype=dtype)
        self.spreads = np.empty_like(self.gains) if self.mixing.links else None  # d g
        for_each(lambda points: self._find_gains(curvature.scale, points), point_tiles(self.gains.shape))
        leaves = self.mixing.leaf_latents
        if self.spreads is None and not is_everyone(leaves, self.mixing.n_latent):
            self.gains = self.gains[:, leaves]
        self.scale = curvature.scale.astype(dtype, copy=False)
        self.null: Array | None = None
        self.tilted: Array | None = None
        self.total: Array | None = None
        if curvature.null is not None:
            self.null = curvature.null.astype(dtype, copy=False)
            self.tilted = np.empty_like(self.null)  # A U
            self.total = np.empty((n_batch, n), dtype=dtype)  # U' A U
            everyone = np.arange(n_batch)
            for_each(lambda points: self._tilt(everyone, points), point_tiles(self.null.shape))

    def _find_gains(self, scale: Array, points: slice) -> None:
        precision = np.zeros((*self.gains.shape[:2], points.stop - points.start))
        precision[:, self.mixing.leaf_latents] = scale[..., points] ** 2
        missing, above = self.factors.missing(points), dict(self.mixing.links)
        for number in reversed(range(self.mixing.n_latent)):
            own = precision[:, number]
            gain = 1.0 / (1.0 + missing[number] * own)
            self.gains[:, number, points] = gain
            if self.spreads is not None:
                self.spreads[:, number, points] = missing[number] * gain
            if number in above:
                precision[:, above[number]] += gain * own

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
        along = np.einsum("bcn,bcn->bn", of(self.null[..., points], members), result)
        along /= of(self.total[:, points], members)
        result -= of(self.tilted[..., points], members) * along[:, None, :]
        return result

    def _apply(self, per_class: Array, members: Indices, points: slice) -> Array:
        """A x = x - S f, f the mean of class functions that are seen with precision S^2 as S^-1 x."""
        gains = of(self.gains[..., points], members)
        if self.spreads is None:
            return gains * per_class
        spreads, scale = (of(array[..., points], members) for array in (self.spreads, self.scale))
        links = self.mixing.links
        mean = np.zeros((len(per_class), *gains.shape[1:]), dtype=gains.dtype)
        mean[:, self.mixing.leaf_latents] = scale * per_class
        for number, upper in reversed(links):
            mean[:, upper] += gains[:, number] * mean[:, number]
        mean *= spreads
        for number, upper in links:
            mean[:, number] += gains[:, number] * mean[:, upper]
        result = mean[:, self.mixing.leaf_latents]
        result *= scale
        return np.subtract(per_class, result, out=result)

    def leaf_strengths(self, member: int) -> Array:
        """S^2 g of every class's own function, (C, n): S A S without what is above leaves."""
        gains = self.gains[member]
        own = gains if self.spreads is None else gains[self.mixing.leaf_latents]
        return self.scale[member].astype(float) ** 2 * own

    def passed(self, member: int, number: int) -> tuple[Array, Array]:
        """Of an inner function g and (d g)^(1/2), (n,): what it lets through, and how much it couples leaves."""
        return self.gains[member, number], np.sqrt(self.spreads[member, number])  # type: ignore[index]
