"""Minimisation without gradients."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from logikern.numerics.outcome import Array


@dataclass(frozen=True)
class SimplexPolicy:
    """When the simplex method stops."""

    evaluations: int = 5  # factor for the limit on evaluations: without gradients, a stage takes more of them
    length: float = 0.05  # stop when all corners are this close in every log parameter


USUAL = SimplexPolicy()


def minimise_values(
    function: Callable[[Array], float],
    start: Array,
    bounds: tuple[Array, Array],
    worth: float,
    max_evaluations: int,
) -> None:
    """The simplex method of Nelder and Mead; the caller records the best value.

    Parameters
    ----------
    function : callable
    start : array of shape (p,)
    bounds : tuple of two arrays of shape (p,)
    worth : float
        Stop when the values at all corners differ by less than this.
    max_evaluations : int
        Limit for a method with gradients; the simplex may use several times as many.
    """
    corners = np.vstack([start, start + np.eye(len(start))])
    options: Any = {
        "initial_simplex": np.clip(corners, *bounds),
        "maxfev": USUAL.evaluations * max_evaluations,
        "fatol": worth,
        "xatol": USUAL.length,
    }
    minimiser: Any = scipy.optimize.minimize
    minimiser(function, start, method="Nelder-Mead", bounds=list(zip(*bounds, strict=True)), options=options)
