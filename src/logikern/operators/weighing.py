"""Derivatives of a kernel matrix weighed by a matrix of numbers, for criteria that need every entry."""

from collections.abc import Iterator
from functools import singledispatch

import numpy as np

from logikern.numerics.outcome import Array
from logikern.numerics.parallel import TILES
from logikern.operators.base import KernelOperator
from logikern.operators.isotropic import Isotropic


@singledispatch
def weigh_gradient(operator: KernelOperator, weights: Array) -> Array:
    """d/d log h of sum_ij weights_ij K_ij, one value per kernel parameter.

    The kernel is symmetric, so that only the part on and below the diagonal is evaluated.

    Parameters
    ----------
    operator : KernelOperator
    weights : array of shape (n, n)
    """
    kernel, X = operator.kernel, operator.X
    total = np.zeros(len(kernel.log_parameters))
    if total.size:
        for start, rows, folded in _folded_tiles(weights):
            total += kernel.weigh_gradient(X[rows], X[: start + len(folded)], folded.astype(operator.dtype))
    return total


@weigh_gradient.register
def _(operator: Isotropic, weights: Array) -> Array:
    kernel, total = operator.kernel, np.zeros(len(operator.kernel.log_parameters))
    for start, rows, folded in _folded_tiles(weights):
        scaled = operator.distances.scaled_for(kernel, rows, slice(start + len(folded)))
        pull = scaled.copy()
        kernel.to_slope(pull)
        pull *= scaled  # dK / d log(rate) = f'(s) s
        total[0] += np.vdot(pull, folded)
        if len(total) > 1:
            total[1:] += kernel.weigh_shape_gradient(scaled, folded)
    return total


def _folded_tiles(weights: Array) -> Iterator[tuple[int, slice, Array]]:
    """Row tiles of the weights up to the diagonal, to which those beyond it are added."""
    tile = TILES.triangle_rows
    for start in range(0, len(weights), tile):
        rows = slice(start, start + tile)
        folded = weights[rows, : start + tile].copy()
        folded[:, :start] += weights[:start, rows].T
        yield start, rows, folded
