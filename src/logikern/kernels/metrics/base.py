"""The interface of weighted distances s(x, z), which are sums over inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from logikern.numerics.parallel import for_each, row_tiles

from ..inputs import Rate, common_dtype
from .single import SingleSquares

# Larger values of s are replaced by this one: finite in single precision, and negligible times the smallest `decay`.
FARTHEST = 1e20


class Pair(ABC):
    """Two sets of points X (n, d) and Z (m, d), prepared for their distances."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(n, m)."""

    @property
    @abstractmethod
    def may_be_cut(self) -> bool:
        """Whether a distance may exceed `FARTHEST`."""

    @abstractmethod
    def distances(self, tile: slice, out: np.ndarray) -> np.ndarray:
        """s(x, z) for the rows of a tile and all columns, at most `FARTHEST`, written into `out` of any precision."""

    @abstractmethod
    def contract_inputs(self, weights: np.ndarray) -> np.ndarray:
        """sum_ik weights_ik s_j(x_i, z_k) for the part s_j of every input (d,); weights are zero where s is cut."""


class Metric(ABC):
    """s(x, z) = sum_j rate_j |x_j - z_j|^power. A frozen record without data."""

    @property
    @abstractmethod
    def power(self) -> int:
        """The power of lengths in s: a rate is an inverse length to this power."""

    @abstractmethod
    def compare(self, X: Any, Z: Any, rate: Rate, dtype: np.dtype) -> Pair:
        """Prepare the distances of tiles of X from all of Z.

        Parameters
        ----------
        X, Z : array or scipy sparse matrix, (n, d) and (m, d)
            Points, dense, sparse or one of each.
        rate : float or tuple of floats
            One weight for all inputs, or one per input.
        dtype : numpy dtype
            Precision that distances need.
        """

    @abstractmethod
    def distances_from(self, centre: np.ndarray, X: Any) -> np.ndarray:
        """s(x, centre) at rate one for every point (n,); X is an array or CSR matrix of float64."""

    def in_single(self, X: Any, rate: Rate) -> SingleSquares | None:
        """Points prepared for distances in single precision, with errors up to 5e-5; None if not supported."""
        return None

    def distances(self, X: Any, Z: Any, rate: Rate = 1.0, dtype: Any = None) -> np.ndarray:
        """s(x, z) for all pairs (n, m), computed in float64: zero for equal points, and at most `FARTHEST`.

        Parameters
        ----------
        X, Z : array or scipy sparse matrix, (n, d) and (m, d)
        rate : float or tuple of floats, default=1.0
        dtype : numpy dtype or None, default=None
            Dtype of the result; None means float32 if both sets of points are float32, and float64 otherwise.
        """
        pair = self.compare(X, Z, rate, np.dtype(np.float64))
        result = np.empty(pair.shape, common_dtype(X, Z) if dtype is None else dtype)

        def fill(tile: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                pair.distances(tile, out=result[tile])

        for_each(fill, row_tiles(*pair.shape))
        if X is Z:
            np.fill_diagonal(result, 0.0)
        return result
