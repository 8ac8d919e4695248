"""What latents say about targets; nothing here knows of kernels."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logikern.numerics.conjugate_gradient import is_everyone
from logikern.numerics.outcome import Array, Indices


class Expansion(NamedTuple):
    """Second-order expansion at latents u: gradient g (B, C, n), loss (B,), curvature W."""

    loss: Array
    gradient: Array
    curvature: "Curvature"


class Merged(NamedTuple):
    """Points at which some classes count as one: of their part of a function only that along a direction is seen.

    Attributes
    ----------
    points : sorted integer array of shape (k,)
    inside : boolean array of shape (C, k)
        The classes that are one.
    direction : array of shape (B, C, k)
        Of unit length, zero elsewhere.
    """

    points: Indices
    inside: Array
    direction: Array

    def apply(self, per_class: Array) -> Array:
        """E x: the projection, in place."""
        own = per_class[..., self.points]
        along = np.einsum("bck,bck->bk", self.direction, own)
        per_class[..., self.points] = np.where(self.inside, self.direction * along[:, None, :], own)
        return per_class


@dataclass(frozen=True, eq=False)
class Curvature:
    """W = S (I - U U') S with S diagonal and U of unit columns, one per point, or S (I - U U') E S.

    For the softmax S = D^(1/2), U = pi^(1/2): V = S (I - U U') of Seeger (2008),
    sec. 5.1.1, with the orthogonal projector written out, so that no formula
    divides by a probability.

    Parameters
    ----------
    scale : array of shape (B, C, n)
        The diagonal of S.
    null : array of shape (B, C, n) or None
        U; None where W is diagonal.
    merged : Merged or None, default=None
        E, which commutes with S and with U U'; None where it is the identity.
    """

    scale: Array
    null: Array | None
    merged: Merged | None = None

    def in_precision(self, dtype: np.dtype) -> "Curvature":
        """The same in other precision."""
        if self.scale.dtype == dtype:
            return self
        merged = self.merged and self.merged._replace(direction=self.merged.direction.astype(dtype))
        return Curvature(self.scale.astype(dtype), None if self.null is None else self.null.astype(dtype), merged)

    def project(self, per_class: Array) -> Array:
        """(I - U U') E applied in place."""
        if self.null is not None:
            per_class -= self.null * np.einsum("bcn,bcn->bn", self.null, per_class)[:, None, :]
        return self.merge(per_class)

    def merge(self, per_class: Array) -> Array:
        """E applied in place."""
        return per_class if self.merged is None else self.merged.apply(per_class)

    def root(self, projected: Array) -> Array:
        """V x for x in the range of the projector."""
        return self.scale * projected

    def root_adjoint(self, per_class: Array) -> Array:
        """V' x."""
        return self.project(self.scale * per_class)

    def at(self, points: slice) -> "Curvature":
        """That of some points."""
        merged = self.merged
        if merged is not None:
            own = slice(*np.searchsorted(merged.points, (points.start, points.stop)))
            merged = Merged(merged.points[own] - points.start, merged.inside[:, own], merged.direction[..., own])
        return Curvature(self.scale[..., points], None if self.null is None else self.null[..., points], merged)

    def take_members(self, members: Indices) -> "Curvature":
        """That of some members of the batch; itself where these are all."""
        if is_everyone(members, len(self.scale)):
            return self
        merged = self.merged and self.merged._replace(direction=self.merged.direction[members])
        return Curvature(self.scale[members], None if self.null is None else self.null[members], merged)


class Likelihood(ABC):
    """A negative log likelihood, a sum over points with one weight each; convex, or with a convex one above it."""

    @property
    def is_quadratic(self) -> bool:
        """Whether the curvature is the same everywhere, so that a line search has a closed form."""
        return False

    def gap(self, dual: Array, latent: Array, targets: Array, weights: Array) -> Array | None:
        """Loss at the latents, its conjugate at -dual and dual' u, (B,): the minimum is lower by no more than that.

        None where the conjugate is not known.
        """
        return None

    @property
    def majoriser(self) -> "Likelihood":
        """The convex likelihood of completed targets: itself where it is convex."""
        return self

    def smoothed_label_latents(self, targets: Array) -> Array | None:
        """Latents (C, n) on the way from zero to the targets; None where none are better than zero."""
        return None

    def sure_part(self, targets: Array, weights: Array) -> tuple[Array, Array]:
        """Targets (C, n) and weights (B, n) of the majoriser at those points whose targets need no completion."""
        return targets, weights

    def complete(self, latent: Array, targets: Array) -> Array:
        """Targets whose convex likelihood touches this one at the latents, (C, n) or (B, C, n)."""
        return targets

    def missing(
        self, latent: Array, targets: Array, weights: Array, functions: Array, merged: Merged | None = None
    ) -> Array | None:
        """(W - W_true) f: what a curvature, that of the majoriser or one with merged classes, has beyond the true."""
        return None

    def expand_closely(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        """`expand` with a curvature that is nearer to the true one, and may merge classes."""
        return self.expand(latent, targets, weights)

    @abstractmethod
    def expand(self, latent: Array, targets: Array, weights: Array) -> Expansion:
        """Value, gradient and curvature at latents (B, C, n)."""

    @abstractmethod
    def loss_and_gradient(self, latent: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        """Value (B,) and gradient (B, C, n)."""

    @abstractmethod
    def losses(self, latent: Array, targets: Array) -> Array:
        """Negative log likelihood of every point, (B, n), without weights."""

    @abstractmethod
    def slope(self, latent: Array, direction: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        """First and second derivative along a direction, (B,) each."""

    @abstractmethod
    def bend(self, latent: Array, products: Array) -> Array:
        """d/du of x' W(u) y at every point, from the products (V' x)_c (V' y)_c of the roots, (B, C, n)."""
