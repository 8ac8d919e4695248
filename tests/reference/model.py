"""The prior: class functions as sums of latent functions, each with a kernel and a variance."""

from dataclasses import dataclass

import numpy as np

from tests.reference.kernels import Kernel


@dataclass(frozen=True, eq=False)
class Model:
    """u_c(x) = sum_p paths[c, p] f_p(x) + b_c with f_p ~ GP(0, variances[p] k_p), b_c ~ N(0, bias_variance).

    Parameters
    ----------
    kernels : tuple of callables
        The distinct kernels.
    kernel_of : array of int, (P,)
        Which of them each latent function has.
    variances : array, (P,)
    paths : array of 0 and 1, (C, P)
        The identity for classes without a hierarchy.
    bias_variance : float
        May be infinite: constants are then free.
    """

    kernels: tuple[Kernel, ...]
    kernel_of: np.ndarray
    variances: np.ndarray
    paths: np.ndarray
    bias_variance: float

    @property
    def n_classes(self) -> int:
        return len(self.paths)

    @property
    def finite_bias(self) -> float:
        """The part of the constants that belongs to the covariance."""
        return 0.0 if np.isinf(self.bias_variance) else self.bias_variance

    def matrices(self, X: np.ndarray, Z: np.ndarray) -> list[np.ndarray]:
        """k(X, Z) of every distinct kernel."""
        return [kernel(X, Z) for kernel in self.kernels]

    def covariance(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Of all classes at X with all classes at Z, (C, n, C, m)."""
        result = np.zeros((self.n_classes, len(X), self.n_classes, len(Z)))
        for number, matrix in enumerate(self.matrices(X, Z)):
            own = self.kernel_of == number
            between = (self.paths[:, own] * self.variances[own]) @ self.paths[:, own].T  # (C, C)
            result += between[:, None, :, None] * matrix[None, :, None, :]
        for c in range(self.n_classes):
            result[c, :, c, :] += self.finite_bias
        return result

    def variance_at(self, X: np.ndarray) -> np.ndarray:
        """Prior variance of each class function at each point, (C, n)."""
        columns = []
        for x in X:
            own = np.array([matrix[0, 0] for matrix in self.matrices(x[None], x[None])])
            columns.append(self.paths @ (self.variances * own[self.kernel_of]) + self.finite_bias)
        return np.array(columns).T

    def image(self, matrices: list[np.ndarray], dual: np.ndarray) -> np.ndarray:
        """Class functions (C, m) at the points to which `matrices` (m, n) lead, from the dual (C, n)."""
        latent = self.paths.T @ dual  # (P, n)
        values = np.stack([matrices[number] @ own for number, own in zip(self.kernel_of, latent, strict=True)])
        return self.paths @ (values * self.variances[:, None]) + self.finite_bias * dual.sum(axis=1, keepdims=True)


def flat_paths(n_classes: int) -> np.ndarray:
    """Every class has a latent function of its own."""
    return np.eye(n_classes)
