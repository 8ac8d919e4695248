"""Leave-one-out by refits, each without one point: slow, and the reference for faster methods."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from logikern.criteria.leave_one_out.groups import partition
from logikern.fitting.problem import Problem, Solver
from logikern.numerics.outcome import Array, Indices, Outcome


class Refits(NamedTuple):
    """Latents of points that a fit has not seen."""

    latent: Array  # (C, n): latents from the fit without each point's group; NaN for groups that were not left out
    outcome: Outcome  # the first failure, or convergence
    n_products: int


def exact_leave_one_out(
    problem: Problem,
    solver: Solver,
    groups: Array | None = None,
    start: Array | None = None,
    batch: int = 32,
    only: Indices | None = None,
) -> Refits:
    """Fit without each group of points in turn, several in lock-step.

    Parameters
    ----------
    problem : Problem
        With one weighting.
    solver : Solver
    groups : array of shape (n,) or None, default=None
        Points with equal labels are left out together; None leaves out one point at a time.
    start : array of shape (1, C, n) or None, default=None
        Latents of the fit to all points, as a warm start.
    batch : int, default=32
        Weightings in lock-step.
    only : integer array or None, default=None
        Groups to leave out, numbered in the order of their labels; None means all groups.
    """
    numbers = partition(groups, problem.shape[2]).numbers
    everyone = np.unique(numbers) if only is None else only
    latent, outcome, n_products = np.full(problem.shape[1:], np.nan), Outcome.CONVERGED, 0
    for first in range(0, len(everyone), batch):
        chosen = everyone[first : first + batch]
        left_out = numbers == chosen[:, None]  # (b, n)
        part = replace(problem, weights=np.where(left_out, 0.0, problem.weights))
        result = solver.fit(part, None if start is None else np.repeat(start, len(chosen), axis=0))
        members, points = np.nonzero(left_out)
        latent[:, points] = result.latent[members, :, points].T
        outcome = outcome if not outcome.converged else result.outcome
        n_products += result.n_products
    return Refits(latent, outcome, n_products)
