"""How latent functions become class functions."""

from abc import ABC, abstractmethod

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.structure.above import Above, above_of
from logikern.structure.class_order import ClassOrder, order_classes


class Mixing(ABC):
    """A linear map from latent functions (..., P, n) to class functions (..., C, n)."""

    n_latent: int
    n_classes: int

    @property
    @abstractmethod
    def leaf_latents(self) -> Indices:
        """The last latent function of each class, (C,)."""

    @property
    @abstractmethod
    def links(self) -> list[tuple[int, int]]:
        """(latent function, the one above it) wherever there is one above, from the top down."""

    @property
    def above(self) -> Above:
        """The latent functions that have others below them."""
        return above_of(self.links, self.leaf_latents)

    @property
    def order(self) -> ClassOrder:
        """Classes in an order in which those below any latent function follow one another."""
        return order_classes(self.links, self.leaf_latents)

    @property
    def is_coupled(self) -> bool:
        """Whether classes may have latent functions in common; otherwise K~ is block-diagonal over them."""
        return True

    @abstractmethod
    def forward(self, latent: Array) -> Array:
        """Class functions from latent ones."""

    @abstractmethod
    def adjoint(self, per_class: Array) -> Array:
        """The transposed map."""

    @abstractmethod
    def forward_diagonal(self, latent_diagonal: Array) -> Array:
        """diag of the covariance after mixing, (C, n), from the one before it, (P, n)."""

    def couple(self, per_class: Array, variances: Array, out: Array | None = None) -> Array:
        """Mixing diag(variances) Mixing', (..., C, n) -> (..., C, n): all that one correlation matrix for all needs.

        The result may take the place of the argument.
        """
        coupled = self.forward(self.adjoint(per_class) * variances.astype(per_class.dtype)[:, None])
        if out is None:
            return coupled
        out[:] = coupled
        return out

    def couple_gradient(self, left: Array, right: Array) -> Array:
        """Derivative of sum left . couple(right, variances) by each variance, (P,); left and right (B, C, n)."""
        return np.einsum("bpn,bpn->p", self.adjoint(left), self.adjoint(right))
