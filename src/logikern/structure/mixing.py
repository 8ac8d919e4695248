"""Linear maps from latent functions to class functions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.numerics.parallel import for_each
from logikern.structure.forest import ROOT, ClassForest

# Points that are mixed at a time: the rows of all latent functions for them stay in the cache.
TILE_POINTS = 1024


class Mixing(ABC):
    """A linear map B from latent functions (..., P, n) to class functions (..., C, n).

    Any map works with every solver. If class functions are sums along the paths of a forest, `forest` returns that
    forest, which makes the preconditioner cheaper and enables pointwise ascent.
    """

    n_latent: int
    n_classes: int

    @abstractmethod
    def forward(self, latent: Array) -> Array:
        """Class functions from latent functions."""

    @abstractmethod
    def adjoint(self, per_class: Array) -> Array:
        """The transposed map."""

    @property
    def forest(self) -> ClassForest | None:
        """The forest along whose paths latent functions are summed, if the map is such a sum."""
        return None

    @property
    def is_coupled(self) -> bool:
        """Whether classes may share latent functions; otherwise, the covariance is block-diagonal over classes."""
        return True

    @property
    def unit(self) -> str:
        """What a latent function belongs to, as a word for messages."""
        return "latent function"

    @property
    def groupings(self) -> dict[str, Indices]:
        """Named groupings of the latent functions, coarser than single functions but not all in one: labels (P,)."""
        return {}

    def inherit_groups(self, groups: Mapping[Any, Any]) -> list[Any]:
        """The group of each latent function from groups of named nodes."""
        raise ValueError("`tying` as a dict needs a hierarchy. Pass a list with one group for each class.")

    def describe(self, members: Indices) -> str:
        """Describe a group of latent functions in words."""
        return "functions " + ", ".join(map(str, members))

    @property
    def usage(self) -> Array:
        """Sum of squares of each column of B, (P,); for zeros and ones, the number of classes that use a function."""
        if self.forest is not None:
            return self.adjoint(np.ones((self.n_classes, 1)))[:, 0]
        return np.asarray((self.as_matrix() ** 2).sum(axis=0))

    def as_matrix(self) -> Array:
        """The matrix B, (C, P)."""
        return self.forward(np.eye(self.n_latent))

    def forward_diagonal(self, latent_diagonal: Array) -> Array:
        """Diagonal of B D B', (C, n), from diagonals D of the latent covariance, (P, n)."""
        return self.as_matrix() ** 2 @ latent_diagonal

    @property
    def parameters(self) -> Array:
        """The numbers on which B depends and which a search learns, (q,)."""
        return np.zeros(0)

    def with_parameters(self, values: Array) -> "Mixing":
        """The same map with other `parameters`."""
        return self

    def collect(self, by_matrix: Array) -> Array:
        """Derivatives with respect to the `parameters`, from those with respect to the entries of B, (C, P)."""
        return np.zeros(0)

    def couple(self, per_class: Array, variances: Array, out: Array | None = None) -> Array:
        """B diag(variances) B', (..., C, n) -> (..., C, n); `out` may be the argument."""
        coupled = self.forward(self.adjoint(per_class) * variances.astype(per_class.dtype)[:, None])
        if out is None:
            return coupled
        out[:] = coupled
        return out

    def couple_gradient(self, left: Array, right: Array) -> Array:
        """Derivative of sum(left * couple(right, variances)) with respect to each variance, (P,).

        `left` and `right` have the shape (r, C, n).
        """

        def contract(points: slice) -> Array:
            return np.einsum("bpn,bpn->p", self.adjoint(left[..., points]), self.adjoint(right[..., points]))

        return np.sum(for_each(contract, tiles(left.shape[-1])), axis=0)


@dataclass(frozen=True)
class Flat(Mixing):
    """The identity: one latent function per class."""

    n_classes: int

    @property
    def n_latent(self) -> int:  # type: ignore[override]
        return self.n_classes

    @property
    def forest(self) -> ClassForest:
        return ClassForest([ROOT] * self.n_classes, np.arange(self.n_classes))

    @property
    def is_coupled(self) -> bool:
        return False

    @property
    def unit(self) -> str:
        return "class"

    def forward(self, latent: Array) -> Array:
        return latent

    def adjoint(self, per_class: Array) -> Array:
        return per_class

    def forward_diagonal(self, latent_diagonal: Array) -> Array:
        return latent_diagonal

    def couple(self, per_class: Array, variances: Array, out: Array | None = None) -> Array:
        return np.multiply(per_class, variances.astype(per_class.dtype)[:, None], out=out)


def tiles(n_points: int) -> list[slice]:
    """The points in pieces of `TILE_POINTS`."""
    return [slice(start, start + TILE_POINTS) for start in range(0, n_points, TILE_POINTS)]
