"""The interface of kernels, and their algebra: sums, products and positive multiples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from logikern.numerics.parallel import for_each, row_tiles

from . import parameters
from .inputs import join_columns

Vector: TypeAlias = np.ndarray
Matrix: TypeAlias = np.ndarray
# An array or sparse matrix (n, d) for most kernels, but a kernel on strings or graphs takes any sequence.
Points: TypeAlias = Any

_NUMBERS = (int, float, np.integer, np.floating)


class Kernel(ABC):
    """k(x, z; h): the similarity of two points x and z at parameters h. It is immutable and contains no data.

    A subclass is a frozen dataclass with one formula. Fields that are declared by `parameters.positive` are learned;
    their names and logarithms come from the declaration.
    """

    # With None, `np.float64(2) * kernel` calls `kernel.__rmul__`.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        parameters.normalise(self)

    @abstractmethod
    def __call__(self, X: Points, Z: Points) -> Matrix:
        """K(X, Z), (n, m): a new array, in float32 if the points are."""

    @abstractmethod
    def diagonal(self, X: Points) -> Vector:
        """k(x, x) for each point, (n,)."""

    @abstractmethod
    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        """Derivative of sum_ij weights_ij k(x_i, z_j) with respect to log h, one value per parameter.

        `weights`, (n, m), must not be changed.
        """

    @property
    def is_pairwise(self) -> bool:
        """Whether each kernel value needs its own function call; symmetry then halves the cost."""
        return any(part.is_pairwise for part in parameters.parts(self))

    def fill(self, out: Matrix, X: Points, Z: Points) -> None:
        """Write K(X, Z) into `out`, (n, m), of any precision, in row tiles that avoid a second matrix."""
        if self.is_pairwise and X is Z:
            out[...] = self(X, Z)
            return

        def fill(tile: slice) -> None:
            out[tile] = self(X[tile], Z)

        for_each(fill, row_tiles(*out.shape))

    def features(self, X: Points) -> Any:
        """Explicit features F(X) with K(X, Z) = F(X) F(Z)', as an array or sparse matrix; None if none are known.

        If there are few features, or if they are sparse, products with K are cheap.
        """
        return None

    def contract_gradient(self, X: Points, Z: Points, left: Matrix, right: Matrix) -> Vector:
        """Derivative of sum_r left[r] K(X, Z) right[r] with respect to log h, one value per parameter.

        `left` has the shape (r, n), and `right` the shape (r, m). Row tiles keep the memory bounded.
        """
        total = np.zeros(len(self.parameter_names))
        if total.size:
            tiles = row_tiles(left.shape[1], right.shape[1])
            parts = for_each(lambda rows: self.weigh_gradient(X[rows], Z, left[:, rows].T @ right), tiles)
            total += np.sum(parts, axis=0)
        return total

    @property
    def log_parameters(self) -> Vector:
        """Logarithms of the learned parameters."""
        return parameters.logarithms(self)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the learned parameters, such as `rate`, `rate[3]` or `left.rate`."""
        return parameters.names(self)

    @property
    def parameter_roles(self) -> tuple[str, ...]:
        """What each learned parameter controls: "rate", "rate per input", "shape" or "scale"."""
        return parameters.roles(self)

    def with_log_parameters(self, values: Sequence[float] | Vector) -> Kernel:
        """The same kernel with other parameters, given as logarithms."""
        return parameters.with_logarithms(self, values)

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, _NUMBERS) else NotImplemented

    def __rmul__(self, other: float) -> Kernel:
        return Scaled(self, float(other)) if isinstance(other, _NUMBERS) else NotImplemented


@dataclass(frozen=True)
class Sum(Kernel):
    """k(x, z) = left(x, z) + right(x, z).

    Parameters
    ----------
    left, right : Kernel
        The summands.
    """

    left: Kernel = parameters.part()
    right: Kernel = parameters.part()

    def __call__(self, X: Points, Z: Points) -> Matrix:
        return _accumulate(np.add, self.left(X, Z), self.right(X, Z))

    def diagonal(self, X: Points) -> Vector:
        return self.left.diagonal(X) + self.right.diagonal(X)

    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        return np.concatenate([self.left.weigh_gradient(X, Z, weights), self.right.weigh_gradient(X, Z, weights)])

    def features(self, X: Points) -> Any:
        left, right = self.left.features(X), self.right.features(X)
        return None if left is None or right is None else join_columns(left, right)


@dataclass(frozen=True)
class Product(Kernel):
    """k(x, z) = left(x, z) * right(x, z).

    Parameters
    ----------
    left, right : Kernel
        The factors.
    """

    left: Kernel = parameters.part()
    right: Kernel = parameters.part()

    def __call__(self, X: Points, Z: Points) -> Matrix:
        return _accumulate(np.multiply, self.left(X, Z), self.right(X, Z))

    def diagonal(self, X: Points) -> Vector:
        return self.left.diagonal(X) * self.right.diagonal(X)

    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        # Each factor is the other one's weight.
        return np.concatenate(
            [
                self.left.weigh_gradient(X, Z, _accumulate(np.multiply, self.right(X, Z), weights)),
                self.right.weigh_gradient(X, Z, _accumulate(np.multiply, self.left(X, Z), weights)),
            ]
        )


@dataclass(frozen=True)
class Scaled(Kernel):
    """k(x, z) = scale * kernel(x, z).

    Parameters
    ----------
    kernel : Kernel
        The kernel to multiply.
    scale : float, default=1.0
        Positive; learned as log(scale).
    """

    kernel: Kernel = parameters.part()
    scale: float = parameters.positive(1.0, role="scale")

    def __call__(self, X: Points, Z: Points) -> Matrix:
        result = self.kernel(X, Z)
        result *= self.scale
        return result

    def diagonal(self, X: Points) -> Vector:
        return self.scale * self.kernel.diagonal(X)

    def weigh_gradient(self, X: Points, Z: Points, weights: Matrix) -> Vector:
        inner = self.kernel.weigh_gradient(X, Z, weights)
        return self.scale * np.append(inner, np.vdot(weights, self.kernel(X, Z)))

    def features(self, X: Points) -> Any:
        inner = self.kernel.features(X)
        return None if inner is None else self.scale**0.5 * inner


def leaves(kernel: Kernel) -> list[Kernel]:
    """The plain kernels in a sum, product or multiple; for a plain kernel, the kernel itself.

    Parameters
    ----------
    kernel : Kernel
    """
    values = [getattr(kernel, field.name) for field in fields(kernel)]  # type: ignore[arg-type]
    parts = [value for value in values if isinstance(value, Kernel)]
    return [leaf for part in parts for leaf in leaves(part)] if parts else [kernel]


def _accumulate(operation: np.ufunc, first: Matrix, second: Matrix) -> Matrix:
    """operation(first, second), written into `first` where its type can hold the result."""
    return operation(first, second, out=first if np.result_type(first, second) == first.dtype else None)
