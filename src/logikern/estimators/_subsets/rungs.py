"""The subsets on which a search evaluates its criterion, from small to large."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.criteria.folds import Folds
from logikern.estimators import _memory
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.subsets import DEFAULT_FOLDS, check_groups, draw_folds, whole_folds
from logikern.estimators._memory import Resources
from logikern.estimators._parameters import Parameters
from logikern.estimators._solver_plan import solver_name
from logikern.estimators._subsets.cells import CellPlan, Subset, draw_cells
from logikern.estimators._subsets.policy import USUAL
from logikern.fitting.footprint import search_conditioning
from logikern.numerics.outcome import Array, Indices
from logikern.operators.choose import Choice, choose
from logikern.structure.specification import Specification


@dataclass(frozen=True, eq=False)
class Rung:
    """One subset of the points, and how the criterion is evaluated on it."""

    # A CellPlan until the search reaches this rung: neighbourhoods are then drawn in the metric learned so far.
    subset: Subset | CellPlan
    folds: Folds | None  # None for leave-one-out, and before neighbourhoods are drawn
    groups: Array | None  # group of each point; groups are held out together
    is_exact: bool  # whether inner fits use dense factorisations
    operator: Choice
    conditioning: float  # bytes for the preconditioner

    @property
    def drawn(self) -> Subset:
        """The subset, after it was drawn."""
        assert isinstance(self.subset, Subset)
        return self.subset


def plan_rung(
    parameters: Parameters,
    data: TrainingData,
    finest: Specification,
    resources: Resources,
    subset: Subset | CellPlan,
    criterion: str,
    cv: Any,
    groups: Array | None,
    seed: int,
) -> Rung:
    """Plan how the criterion is evaluated on a subset, with memory for all models up to the finest one."""
    by_loo, largest, n_cells = criterion == "loo", subset.n_points, subset.n_cells
    if by_loo and len(data.targets) != len(data.classes):
        raise ValueError(
            "`criterion` is leave-one-out, but some labels are inner nodes of the hierarchy. Use criterion='cv'."
        )
    is_exact = by_loo or solver_name(parameters, data, largest) == "exact"
    folds, own_groups = None, None
    if isinstance(subset, Subset):
        folds, own_groups = _held_out(data, subset.rows, by_loo, cv, groups, seed)
    n_batch = 1 if by_loo else DEFAULT_FOLDS if folds is None else len(folds.kept)
    size = _memory.size_of(data, finest.tying, largest, n_batch=n_batch)
    kind = "loo" if by_loo else "exact" if is_exact else "newton"
    operator = choose(
        finest.kernels[:1],
        data.points[:largest] if isinstance(subset, CellPlan) else data.points[subset.rows],
        parameters.products,
        "double" if is_exact or parameters.precision == "double" else "single",
        _memory.room_for_search(parameters, data, resources, kind, size, finest.kernels[0], n_cells),
        n_cells * _memory.search_matrices(finest.kernels[0], data, size.n_kernels),
    )
    return Rung(subset, folds, own_groups, is_exact, operator, search_conditioning(size))


def _held_out(
    data: TrainingData, rows: Indices, by_loo: bool, cv: Any, groups: Array | None, seed: int
) -> tuple[Folds | None, Array | None]:
    """The folds of a random subset for cross-validation, and the groups of its points."""
    own_groups = None if groups is None else np.asarray(groups)[data.kept[rows]]
    if not by_loo:
        return draw_folds(cv, data, rows, groups, seed, USUAL.entries), own_groups
    if data.labels is None and cv is not None:
        own_groups = whole_folds(draw_folds(cv, data, rows, groups, seed, USUAL.entries))
    elif own_groups is not None:
        check_groups(own_groups)
    return None, own_groups


def draw_rung(
    rung: Rung, plan: CellPlan, points: Any, weights: Array, data: TrainingData, cv: Any, seed: int
) -> Rung:
    """Draw the neighbourhoods of a rung, and their folds, from points (n, d) in a metric with weights (d,)."""
    assert data.labels is not None
    cells = draw_cells(points, weights, data.labels, plan, USUAL.smallest_class, seed)
    return replace(rung, subset=cells, folds=draw_folds(cv, data, cells.rows, None, seed, USUAL.entries))
