"""Refits without some rows show whether closed-form leave-one-out can be trusted."""

import warnings
from dataclasses import replace

import numpy as np

from logikern.criteria.leave_one_out.criterion import LeaveOneOut
from logikern.criteria.leave_one_out.spot_check import Refitting, SpotCheck, spot_check
from logikern.estimators._names.solvers import refitting_solver
from logikern.fitting.footprint import Size, affordable_refits, leave_one_out, search_conditioning
from logikern.fitting.problem import Problem
from logikern.numerics.outcome import Array
from logikern.selection.search import SearchData
from logikern.structure.specification import Specification

# Tolerance of refits, which only have to show large errors of the closed form.
TOLERANCE = 1e-3
# Largest number of rows to check without a penalty on constants, which makes refits slow.
MOST_ROWS_WITH_FREE_CONSTANTS = 500


def check_search(rung: SearchData, specification: Specification, seed: int, size: Size) -> SpotCheck | None:
    """Check the criterion of a search; None if it needs no check."""
    criterion = rung.criterion
    if not isinstance(criterion, LeaveOneOut) or _is_slow(specification, rung.n_points):
        return None
    return criterion.check(specification.bind(rung.points), _refitting(specification, seed, size), seed)


def check_fit(
    specification: Specification, problem: Problem, latent: Array, left_out: Array, seed: int, size: Size
) -> SpotCheck | None:
    """Check a fit, from its latents (1, C, n) and the latents of rows left out, (C, n)."""
    if _is_slow(specification, problem.shape[2]):
        return None
    how = _refitting(specification, seed, size)
    return spot_check(problem, latent, left_out, how, seed, temperature=specification.temperature)


def _refitting(specification: Specification, seed: int, size: Size) -> Refitting:
    """Refits in lock-step, within the memory that the closed form needed."""
    batch = affordable_refits(size, leave_one_out(size))
    memory = search_conditioning(replace(size, n_batch=batch))
    return Refitting(refitting_solver(specification.bias_variance, TOLERANCE, memory, seed), batch)


def tell(found: SpotCheck | None, advice: str, stacklevel: int) -> str:
    """Warn if the closed form is far from refits; returns the warning, or an empty text."""
    if found is None or not found.is_far:
        return ""
    told = f"{found}. {advice}"
    warnings.warn(told, UserWarning, stacklevel=stacklevel + 1)
    return told


def _is_slow(specification: Specification, n_points: int) -> bool:
    return bool(np.isinf(specification.bias_variance)) and n_points > MOST_ROWS_WITH_FREE_CONSTANTS
