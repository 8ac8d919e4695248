"""Classes whose functions share learned factors (Seeger 2008, sec. 7.4.1)."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from logikern.numerics.outcome import Array
from logikern.structure.forest import ClassForest
from logikern.structure.mixing import Flat, Mixing


@dataclass(frozen=True, eq=False)
class Coupling(Mixing):
    """u = A f with A = (I + B B')^(1/2): with one kernel and variance, the covariance is v k (I + B B').

    These are the class functions of Seeger (2008), sec. 7.4.1, with a symmetric coupling matrix A that differs from
    the identity in only a few directions. Each class has a latent function, so kernels and variances are tied as
    usual. Without columns, B leaves the classes independent; a search may then add some.
    """

    loadings: Array  # B, (C, q)

    def __getstate__(self) -> dict[str, Array]:
        """The state for a file, without anything that can be computed again."""
        return {"loadings": self.loadings}

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return len(self.loadings)

    @property
    def n_latent(self) -> int:  # type: ignore[override]
        return len(self.loadings)

    @property
    def n_factors(self) -> int:
        return int(self.loadings.shape[1])

    @property
    def forest(self) -> ClassForest | None:
        return None if self.n_factors else Flat(self.n_classes).forest

    @property
    def unit(self) -> str:
        return "class"

    @cached_property
    def _directions(self) -> tuple[Array, Array]:
        """Left singular vectors of B, (C, min(C, q)), and the gain of A along each, (1 + s^2)^(1/2) - 1."""
        left, values, _ = np.linalg.svd(self.loadings, full_matrices=False)
        return left, np.sqrt(1.0 + values**2) - 1.0

    def as_matrix(self) -> Array:
        directions, gains = self._directions
        return np.asarray(np.eye(self.n_classes) + (directions * gains) @ directions.T)

    def forward(self, latent: Array) -> Array:
        if not self.n_factors:
            return latent
        directions, gains = (part.astype(latent.dtype) for part in self._directions)
        return np.asarray(latent + (directions * gains) @ (directions.T @ latent))

    def adjoint(self, per_class: Array) -> Array:
        return self.forward(per_class)

    @property
    def parameters(self) -> Array:
        return self.loadings.ravel()

    def with_parameters(self, values: Array) -> "Coupling":
        return replace(self, loadings=np.asarray(values, dtype=float).reshape(self.loadings.shape))

    def collect(self, by_matrix: Array) -> Array:
        """2 X B, where A X + X A = (G + G') / 2: G is the derivative in A, X the derivative in S = I + B B' = A^2.

        In the eigenvectors of A, X is the right-hand side divided by the sums of pairs of eigenvalues.
        """
        values, vectors = np.linalg.eigh(self.as_matrix())
        turned = vectors.T @ (0.5 * (by_matrix + by_matrix.T)) @ vectors
        inner = vectors @ (turned / (values[:, None] + values)) @ vectors.T
        return np.asarray(2.0 * inner @ self.loadings).ravel()


def uncoupled(n_classes: int) -> Coupling:
    """Independent classes that a search may couple."""
    return Coupling(np.zeros((n_classes, 0)))


def correlations(mixing: Mixing, variances: Array) -> Array:
    """Prior correlations of class functions with one kernel, (C, C), from the variances of latent functions, (P,)."""
    mapped = mixing.as_matrix()
    covariance = (mapped * variances) @ mapped.T
    deviations = np.sqrt(covariance.diagonal())
    return np.asarray(covariance / deviations / deviations[:, None])
