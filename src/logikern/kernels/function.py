"""A user's function as kernel, on any objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Kernel, Matrix, Vector


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """k(x, z) = function(x, z); nothing is learned. The function is called for one pair at a time.

    The points may be any objects: strings, graphs, or rows of an array.

    Parameters
    ----------
    function : callable
        Takes two points and returns a number; symmetric and positive semidefinite. A model can be pickled only if the
        function can be pickled: define it in a module.
    """

    function: Callable[[Any, Any], float]

    @property
    def is_pairwise(self) -> bool:
        return True

    def __call__(self, X: Sequence[Any], Z: Sequence[Any]) -> Matrix:
        if X is Z:
            return self._symmetric(X)
        result = np.empty((len(X), len(Z)))
        for i, x in enumerate(X):
            result[i] = [self._value(x, z) for z in Z]
        return result

    def diagonal(self, X: Sequence[Any]) -> Vector:
        return np.array([self._value(x, x) for x in X], dtype=np.float64)

    def weigh_gradient(self, X: Sequence[Any], Z: Sequence[Any], weights: Matrix) -> Vector:
        return np.zeros(0)

    def _symmetric(self, X: Sequence[Any]) -> Matrix:
        """K(X, X) from its lower triangle: half the calls."""
        result = np.empty((len(X), len(X)))
        for i, x in enumerate(X):
            result[i, : i + 1] = [self._value(x, X[j]) for j in range(i + 1)]
            result[: i + 1, i] = result[i, : i + 1]
        return result

    def _value(self, x: Any, z: Any) -> float:
        value = self.function(x, z)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"A kernel function must return a number, but returned {value!r} of type "
                f"{type(value).__name__}. Return a float from the function."
            ) from None
