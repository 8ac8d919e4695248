"""Weighted distances between points. Kernels are functions of them."""

from .base import FARTHEST, Metric, Pair
from .city_block import CITY_BLOCK
from .single import SingleSquares
from .squared_euclidean import SQUARED_EUCLIDEAN, squared_distances

__all__ = ["CITY_BLOCK", "FARTHEST", "SQUARED_EUCLIDEAN", "Metric", "Pair", "SingleSquares", "squared_distances"]
