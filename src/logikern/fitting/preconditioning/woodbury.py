"""The matrices of Woodbury's formula, one for each weighting."""

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf

from logikern.fitting.preconditioning.at_points import PointSystems
from logikern.fitting.preconditioning.low_rank import CovarianceFactors
from logikern.numerics.outcome import Array
from logikern.numerics.parallel import for_each
from logikern.numerics.products import subtract_gram


def woodbury_factors(factors: CovarianceFactors, systems: PointSystems) -> list[Array]:
    """Upper Cholesky factors of I + G' B^-1 G for each member of the batch, for LAPACK."""
    members = range(len(systems.scale))
    return for_each(lambda member: _robust_cholesky(factors.gather(_gram(factors, systems, member))), members)


def _gram(factors: CovarianceFactors, systems: PointSystems, member: int) -> Array:
    """F_b (S B^-1 S)_bc F_c' for all classes b and c, F_c the rows that c needs; the part below the diagonal.

    With t_c = S_c^2 g_c, S B^-1 S is diag(t) - sum_a w_a w_a' over the inner functions a and, where the curvature
    couples classes, the root: at a leaf below a, w_a is t times the gains on the way up to a, times (d_a g_a)^(1/2),
    and for the root it is S A U / (U' A U)^(1/2).
    """
    order = factors.order
    strength = systems.leaf_strengths(member)[order.classes]  # times the gains applied so far
    own = strength.copy()  # diagonal of S B^-1 S
    matrix = np.zeros((factors.row_offsets[-1],) * 2)
    stacked = factors.borrow()

    def couple(below: slice, weights_at: Callable[[int], Array]) -> None:
        """Subtract w w' for the classes below a function."""

        def scale(place: int) -> None:
            weights = weights_at(place)
            own[place] -= weights**2
            factors.scale_rows(place, weights, stacked)

        for_each(scale, range(below.start, below.stop))
        rows = slice(factors.row_offsets[below.start], factors.row_offsets[below.stop])
        subtract_gram(matrix[rows, rows], stacked[rows])

    def couple_below(numbers: list[int]) -> None:
        """Couple the classes below each function, from the leaves up to a function below the root."""
        for number in numbers:
            gain, factor = systems.inner(member, number)
            couple(order.below[number], lambda place, factor=factor: factor * strength[place])  # type: ignore[misc]
            strength[order.below[number]] *= gain

    for_each(couple_below, order.inner)
    if systems.null is not None:
        couple(slice(0, len(own)), lambda place: systems.root_weights(member, int(order.classes[place])))

    def set_own_block(place: int) -> None:
        rows = factors.scale_rows(place, np.sqrt(np.maximum(own[place], 0.0)), stacked)
        matrix[rows, rows] = stacked[rows] @ stacked[rows].T

    for_each(set_own_block, range(len(own)))
    factors.scratch.append(stacked)
    return matrix


def _robust_cholesky(matrix: Array, ridge_unit: float = 1e-7, n_tries: int = 8) -> Array:
    """Factor of I + matrix from its lower triangle.

    If rounding made it indefinite, a ridge is added: first `ridge_unit` times the mean diagonal, then ten times as
    much each time.
    """
    matrix.flat[:: len(matrix) + 1] += 1.0
    ridge = 0.0
    for _ in range(n_tries):
        # LAPACK reads rows as columns: its upper triangle is the part below the diagonal.
        upper, failed = dpotrf(matrix.T, lower=False, clean=False)
        if not failed:
            return upper
        added = max(9 * ridge, ridge_unit * float(np.trace(matrix)) / len(matrix))
        matrix.flat[:: len(matrix) + 1] += added
        ridge += added
    return np.asfortranarray(np.diag(np.sqrt(np.maximum(np.diag(matrix), 0.0) + 1.0)))
