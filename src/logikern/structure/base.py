"""How latent functions become class functions."""

from abc import ABC, abstractmethod

from logikern.numerics.outcome import Array


class Mixing(ABC):
    """A linear map from latent functions (..., P, n) to class functions (..., C, n)."""

    n_latent: int
    n_classes: int

    @abstractmethod
    def forward(self, latent: Array) -> Array:
        """Class functions from latent ones."""

    @abstractmethod
    def adjoint(self, per_class: Array) -> Array:
        """The transposed map."""

    @abstractmethod
    def forward_diagonal(self, latent_diagonal: Array) -> Array:
        """diag of the covariance after mixing, (C, n), from the one before it, (P, n)."""
