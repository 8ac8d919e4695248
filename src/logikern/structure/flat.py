"""Classes without structure: one latent function each."""

from dataclasses import dataclass

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.structure.base import Mixing


@dataclass(frozen=True)
class Flat(Mixing):
    """The identity: latent function c is class function c.

    Parameters
    ----------
    n_classes : int
    """

    n_classes: int

    @property
    def n_latent(self) -> int:  # type: ignore[override]
        return self.n_classes

    @property
    def is_coupled(self) -> bool:
        return False

    @property
    def leaf_latents(self) -> Indices:
        return np.arange(self.n_classes)

    @property
    def links(self) -> list[tuple[int, int]]:
        return []

    def forward(self, latent: Array) -> Array:
        return latent

    def adjoint(self, per_class: Array) -> Array:
        return per_class

    def forward_diagonal(self, latent_diagonal: Array) -> Array:
        return latent_diagonal

    def couple(self, per_class: Array, variances: Array, out: Array | None = None) -> Array:
        return np.multiply(per_class, variances.astype(per_class.dtype)[:, None], out=out)
