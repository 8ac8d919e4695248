"""The curvature W of a likelihood: products, factors, and its part at single points."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.numerics.conjugate_gradient import is_everyone
from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import point_tiles


class Curvature(ABC):
    """W = V V', positive semidefinite, for each member of a batch.

    A Newton system is solved in the range of V', on which `project` is the orthogonal projector. Functions have
    shape (B, C, n).
    """

    @property
    @abstractmethod
    def n_batch(self) -> int:
        """Number of members of the batch."""

    @property
    @abstractmethod
    def pointwise(self) -> "PointwiseCurvature":
        """The part of W at single points, for preconditioning; W itself if no points are coupled."""

    @property
    def couples_points(self) -> bool:
        """Whether W has entries between different points."""
        return self.pointwise is not self

    @abstractmethod
    def root(self, projected: Array, out: Array | None = None) -> Array:
        """V x for x in the range of the projector."""

    @abstractmethod
    def root_adjoint(self, per_class: Array, added: Array | None = None) -> Array:
        """V' x, or V' x + y for y in the range of the projector."""

    @abstractmethod
    def project(self, per_class: Array) -> Array:
        """The projector on the range of V', applied in place."""

    def matmul(self, per_class: Array) -> Array:
        """W x."""
        return self.root(self.root_adjoint(per_class))

    def tiles(self, shape: tuple[int, ...]) -> list[slice]:
        """Ranges of points that may be treated separately, for arrays of this shape."""
        return point_tiles(shape)

    @abstractmethod
    def at(self, points: slice) -> "Curvature":
        """W at the points of one of the `tiles`."""

    @abstractmethod
    def take_members(self, members: Indices) -> "Curvature":
        """W of some members of the batch; itself if these are all."""

    @abstractmethod
    def in_precision(self, dtype: np.dtype) -> "Curvature":
        """The same curvature in another precision."""


class Merged(NamedTuple):
    """Points at which some classes count as one class: only one direction among them matters."""

    points: Indices  # (k,)
    inside: Array  # (C, k): the classes that are merged
    direction: Array  # (B, C, k): unit vectors, zero outside

    def apply(self, per_class: Array) -> Array:
        """E x: the projection on the direction, in place."""
        own = per_class[..., self.points]
        along = np.einsum("bck,bck->bk", self.direction, own)
        per_class[..., self.points] = np.where(self.inside, self.direction * along[:, None, :], own)
        return per_class


@dataclass(frozen=True, eq=False)
class PointwiseCurvature(Curvature):
    """W = S (I - U U') S, or S (I - U U') E S if E merges classes; S is diagonal, U has a unit column per point.

    For the softmax S = D^(1/2), U = pi^(1/2): V = S (I - U U') of Seeger (2008), sec. 5.1.1. The orthogonal
    projector is written out, so no formula divides by a probability.
    """

    scale: Array  # (B, C, n): the diagonal of S
    null: Array | None  # (B, C, n): U; None if W is diagonal
    merged: Merged | None = None  # E, which commutes with S and with U U'; None for the identity

    @property
    def n_batch(self) -> int:
        return len(self.scale)

    @property
    def pointwise(self) -> "PointwiseCurvature":
        return self

    def root(self, projected: Array, out: Array | None = None) -> Array:
        return np.multiply(self.scale, projected, out=out)

    def root_adjoint(self, per_class: Array, added: Array | None = None) -> Array:
        scaled = self.scale * per_class
        if added is not None:
            scaled += added
        return self.project(scaled)

    def project(self, per_class: Array) -> Array:
        if self.null is not None:
            per_class -= self.null * np.einsum("bcn,bcn->bn", self.null, per_class)[:, None, :]
        return self.merge(per_class)

    def merge(self, per_class: Array) -> Array:
        """E applied in place."""
        return per_class if self.merged is None else self.merged.apply(per_class)

    def diagonal(self) -> Array:
        """diag W without E, (B, C, n)."""
        return self.scale**2 if self.null is None else self.scale**2 * (1.0 - self.null**2)

    def at(self, points: slice) -> "PointwiseCurvature":
        merged = self.merged
        if merged is not None:
            own = slice(*np.searchsorted(merged.points, (points.start, points.stop)))
            merged = Merged(merged.points[own] - points.start, merged.inside[:, own], merged.direction[..., own])
        null = None if self.null is None else self.null[..., points]
        return PointwiseCurvature(self.scale[..., points], null, merged)

    def take_members(self, members: Indices) -> "PointwiseCurvature":
        if is_everyone(members, self.n_batch):
            return self
        merged = self.merged and self.merged._replace(direction=self.merged.direction[members])
        return PointwiseCurvature(self.scale[members], None if self.null is None else self.null[members], merged)

    def in_precision(self, dtype: np.dtype) -> "PointwiseCurvature":
        if self.scale.dtype == dtype:
            return self
        merged = self.merged and self.merged._replace(direction=self.merged.direction.astype(dtype))
        null = None if self.null is None else self.null.astype(dtype)
        return PointwiseCurvature(self.scale.astype(dtype), null, merged)


def as_pointwise(curvature: Curvature) -> PointwiseCurvature:
    """The curvature, if it couples no points, for algorithms that need this."""
    if curvature.couples_points:
        raise ValueError(
            f"A curvature that couples points, {type(curvature).__name__}, needs the iterative Newton solver. "
            "Pass solver='newton'."
        )
    return curvature.pointwise
