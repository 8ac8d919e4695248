"""How hyperparameters are learned: criterion, subsets of the points, folds, stages."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from logikern.estimators._callbacks import SearchLength
from logikern.estimators._checkpoint import identify
from logikern.estimators._inputs.arguments import is_auto
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.splits import GivenRows, list_splits
from logikern.estimators._inputs.subsets import (
    nested_order,
)
from logikern.estimators._inputs.weights import weight_unit
from logikern.estimators._memory import Resources
from logikern.estimators._names.criteria import CRITERIA, CriterionKind, criterion_kind
from logikern.estimators._parameters import Parameters
from logikern.estimators._subsets.cells import CellPlan, Subset
from logikern.estimators._subsets.policy import USUAL
from logikern.estimators._subsets.rungs import Rung, plan_rung
from logikern.kernels import DistanceKernel, Kernel, Linear
from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Indices
from logikern.selection import nelder_mead
from logikern.selection.factors import AUTO
from logikern.selection.growth import Plan, plan_tyings
from logikern.selection.refinement import spread
from logikern.selection.search import Effort
from logikern.structure.specification import Specification
from logikern.structure.tying import ever_finer, tie


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """How hyperparameters are learned."""

    criterion: CriterionKind
    growth: Plan  # which models are tried
    rungs: tuple[Rung, ...]  # from few points to many
    effort: Effort
    sharpen: bool  # whether an adaptive temperature is learned
    unit: float  # weight that counts as one row
    cv: Any  # number of folds if neighbourhoods are drawn during the search
    seed: int
    identity: str  # fingerprint of data and settings, if there is a checkpoint
    checkpoint: Any
    max_time: float | None
    keep_interrupted: bool  # whether Ctrl-C keeps the best model so far instead of raising

    @property
    def length(self) -> SearchLength:
        """A stage for every model that may be tried and for each further subset."""
        by_values = nelder_mead.USUAL.evaluations if self.effort.simplex else 0
        evaluations = self.growth.n_starts * self.effort.max_evaluations * (1 + by_values)
        return SearchLength(len(self.growth.stages) + len(self.rungs) - 1, evaluations)

    def __str__(self) -> str:
        folds, how = self.rungs[0].folds, self.criterion.title
        if folds is not None and self.criterion is CRITERIA["cv"]:
            how = f"{len(folds.kept)}-fold {how}"
        sizes = ", then ".join(str(rung.subset) for rung in self.rungs)
        stages = self.growth.stages
        inner = f"{'dense' if self.rungs[0].is_exact else 'iterative'}, {self.rungs[0].operator.dtype.name}"
        return (
            f"{how} on {sizes}; stages: {', '.join(stages)}; fits during the search: {inner}, tolerance from "
            f"{self.effort.first_tolerance:g} to {self.effort.last_tolerance:g}"
            f"{'; adaptive temperature' if self.sharpen else ''}."
        )


def leaves_one_out(parameters: Parameters, n_points: int, n_classes: int) -> bool:
    """Whether the criterion is leave-one-out; "auto" uses it where it is cheaper than cross-validation."""
    if parameters.criterion == "auto":
        return (n_classes == 2 and n_points <= USUAL.loo_up_to) or parameters.is_bias_free
    return parameters.criterion == "loo"


def plan_search(
    parameters: Parameters,
    data: TrainingData,
    start: Specification,
    growth: Plan,
    given: GivenRows,
    resources: Resources,
) -> SearchPlan:
    """Criterion, subsets, folds and operators of a search. Raises an error if memory is too small."""
    n, n_classes = len(data.weights), len(data.classes)
    criterion = "loo" if leaves_one_out(parameters, n, n_classes) else "cv"
    identity = identify(parameters, data, given.groups)
    # With a checkpoint and without `random_state` the seed comes from the data: with other folds, a search could not
    # continue from the checkpoint.
    seed = int(identity[:7], 16) if identity and parameters.random_state is None else parameters.draw_seed()
    unit = weight_unit(data.weights)
    data = replace(data, weights=data.weights / unit)  # the same model with variances multiplied by the unit
    finest = spread(start, growth.tyings[-1][1])
    few = _subset_sizes(parameters, data, criterion)
    larger = _larger_sizes(parameters, data, start, criterion, few[-1])
    at_density = not larger and _sees_neighbourhoods(parameters, data, start, criterion, given)
    sizes = few[:1] if at_density else larger or few
    subsets: list[Subset | CellPlan] = [*_subsets(parameters, data, given, sizes, seed, judged=not larger)]
    subsets += [USUAL.cells] * at_density
    is_unused = criterion == "loo" and data.labels is not None
    last = subsets[-1]
    cv = parameters.cv
    if not is_unused and isinstance(last, Subset):
        cv = list_splits(cv, given, data, data.kept[last.rows])
    rungs = tuple(
        plan_rung(parameters, data, finest, resources, own, criterion, cv, given.groups, seed) for own in subsets
    )
    return SearchPlan(
        criterion_kind(parameters.criterion, criterion == "loo"),
        replace(growth, grow_last=bool(larger), at_density=at_density),
        rungs,
        _plan_effort(parameters, data),
        data.labels is not None and _sharpens(parameters, data, start.kernels[0]),
        unit,
        parameters.cv,
        seed,
        identity,
        parameters.checkpoint,
        None if parameters.max_time is None else float(parameters.max_time),
        parameters.on_interrupt == "keep",
    )


def _sees_neighbourhoods(
    parameters: Parameters, data: TrainingData, start: Specification, criterion: str, given: GivenRows
) -> bool:
    """Whether the search uses neighbourhoods: for many rows and kernels that are based on distances."""
    is_drawn = parameters.cv is None or isinstance(parameters.cv, int | np.integer)
    usual = is_auto(parameters.search_size) and is_drawn and criterion == "cv" and given.groups is None
    has_cells = isinstance(start.kernels[0], DistanceKernel) and data.labels is not None
    return usual and has_cells and len(data.weights) >= USUAL.neighbourhoods_from


def _subsets(
    parameters: Parameters, data: TrainingData, given: GivenRows, sizes: list[int], seed: int, judged: bool
) -> list[Subset]:
    """Nested random subsets; the first one has unseen rows on which its models are judged."""
    order = nested_order(data, USUAL.smallest_class, seed)
    found = []
    for number, size in enumerate(sizes):
        others = order[size:] if judged and number == 0 else order[:0]
        unseen = _unseen(parameters, data, others, given)
        found.append(Subset(np.sort(order[:size]), np.array([0, size]), unseen))
    return found


def _unseen(parameters: Parameters, data: TrainingData, others: Indices, given: GivenRows) -> Indices:
    """Rows on which models of the first rung are judged; empty if too few, or if related to rows of the search."""
    is_drawn = parameters.cv is None or isinstance(parameters.cv, int | np.integer)
    usable = data.labels is not None and given.groups is None and is_drawn and not parameters.is_bias_free
    return np.sort(others[: USUAL.most_unseen]) if usable and len(others) >= USUAL.fewest_unseen else others[:0]


def _plan_effort(parameters: Parameters, data: TrainingData) -> Effort:
    effort = Effort(simplex=parameters.optimizer == "nelder-mead")
    return replace(effort, least_size=1.0, certain_loss=0.0) if data.labels is None else effort


def plan_growth(parameters: Parameters, data: TrainingData, start: Specification) -> Plan:
    """Which models a search tries."""
    n, n_inputs = len(data.weights), data.points.shape[1] if len(data.points.shape) > 1 else 1
    compare = parameters.grows
    n_given = 2 if "level" in start.mixing.groupings else 1  # a tree has at least one variance per level
    wanted = parameters.tying if isinstance(parameters.tying, str | dict) else list(parameters.tying)
    tyings = plan_tyings(wanted, start.mixing, _excluded(data, start))
    # For numbers one kernel for all outputs is the default: only a rate for each input is compared with it.
    compare = compare or (data.labels is None and len(tyings) == 1)
    columns = _columns(data)
    n_rates = n_inputs if columns is None else max(columns) + 1
    is_possible = compare and 1 < n_rates <= USUAL.most_inputs
    relevance = is_possible if is_auto(parameters.ard) else bool(parameters.ard)
    if parameters.ard is True:
        _check_rates(start.kernels[0])
        tyings = tyings[:n_given] if compare else tyings  # `ard` is True, so there are no other candidates
        compare = False
    if start.tying != tyings[0][1]:
        tyings = tyings[-1:]  # values are given for every group, so no coarser tying comes first
    plan = Plan(tyings, compare, relevance, n_inputs, n, bool(parameters.learn_bias), int(parameters.n_starts))
    coupling = AUTO if is_auto(parameters.coupling) else parameters.coupling
    return replace(plan, n_given=n_given, columns=columns, n_factors=coupling)


def _columns(data: TrainingData) -> tuple[int, ...] | None:
    """The column of each input, numbered without columns that are left out; None if every input is a column."""
    if data.encoder is None:
        return None
    names, columns = np.unique(data.encoder.columns, return_inverse=True)
    return None if len(names) == len(columns) else tuple(columns.tolist())


def _excluded(data: TrainingData, start: Specification) -> set[str]:
    """Tyings that "auto" does not try: too many kernels or variances, or the same model as a coarser one."""
    names = ever_finer(data.mixing)
    tyings = {name: tie(name, data.mixing) for name in names}
    has_parameters, n_points = bool(start.kernels[0].log_parameters.size), len(data.weights)
    most = min(USUAL.most_kernels, USUAL.most_kernel_entries / n_points**2)
    excluded = {name for name, own in tyings.items() if own.n_kernels > 1 and own.n_kernels > most}
    n_rows = min(n_points, max(USUAL.coarse_size, USUAL.coarse_per_class * len(data.classes)))
    n_shared = start.kernels[0].log_parameters.size
    counts = {name: n_shared * own.n_kernels + own.n_variances for name, own in tyings.items() if name != "level"}
    excluded |= {name for name, count in counts.items() if count * USUAL.rows_per_parameter > n_rows} - {"shared"}
    if not has_parameters or len(data.classes) == 2:
        excluded |= {name for name, own in tyings.items() if own.n_kernels > 1}
    if len(data.classes) == 2 and not data.likelihood.has_separate_functions:
        # Only the difference of two class functions counts, and with one kernel only the sum of their variances.
        excluded |= {"scaled", "leaf"}
    return excluded


def _check_rates(kernel: Kernel) -> None:
    if not isinstance(kernel, DistanceKernel):
        raise ValueError(
            f"`ard` is True, but a rate per input needs a distance-based kernel, and `kernel` is {kernel!r}. "
            "Use a Gaussian, a Matern, a rational quadratic or a Laplacian kernel."
        )


def _subset_sizes(parameters: Parameters, data: TrainingData, criterion: str) -> list[int]:
    """A small subset, and one that is at least a fifth larger if there are enough points."""
    n, n_classes, given = len(data.weights), len(data.classes), parameters.search_size
    by_loo = criterion == "loo"
    if given is None:
        wanted = n
    elif not is_auto(given):
        wanted = max(int(given), 10 * n_classes)
    elif by_loo:
        wanted = _loo_size(data)
    else:
        by_entries = max(USUAL.entries // n_classes, 4 * n_classes)
        wanted = max(USUAL.fine_size, min(USUAL.fine_per_class * n_classes, by_entries))
    fine = min(n, wanted)
    coarse = max(USUAL.coarse_size, USUAL.coarse_per_class * n_classes)
    if by_loo and fine < n:
        coarse = min(coarse, fine // 2)
    return [coarse, fine] if fine >= USUAL.enlargement_from * coarse else [fine]


def _larger_sizes(
    parameters: Parameters, data: TrainingData, start: Specification, criterion: str, n_points: int
) -> list[int]:
    """Larger subsets for texts of many classes, whose usual subsets have few points for each class; otherwise empty.

    With four points per class the best variances are far too large for all points.
    """
    n, n_classes = len(data.weights), len(data.classes)
    is_text = is_sparse(data.points) and isinstance(start.kernels[0], Linear)
    # There may be many given splits.
    is_counted = parameters.cv is None or isinstance(parameters.cv, int | np.integer)
    if not (is_text and is_counted and is_auto(parameters.search_size) and criterion == "cv"):
        return []
    enough = min(n, USUAL.fine_per_class * n_classes, USUAL.most_entries // n_classes)
    sizes = []
    while enough > 1.2 * n_points:
        n_points = min(enough, int(USUAL.enlargement * n_points))
        sizes.append(n_points)
    return sizes


def _loo_size(data: TrainingData) -> int:
    """Number of points for which leave-one-out is fast; classes that are coupled a priori need one large matrix."""
    n_classes = len(data.classes)
    if not data.mixing.is_coupled:
        return int(np.cbrt(USUAL.loo_work / (n_classes if data.labels is None else n_classes**2)))
    size = int(np.cbrt(USUAL.loo_work) / n_classes)
    if size < min(len(data.weights), USUAL.smallest_class * n_classes):
        raise ValueError(
            "The cost of leave-one-out with a hierarchy grows with the cube of the product of rows and classes, "
            f"which is too much for {n_classes} classes. Use criterion='cv'."
        )
    return size


def _sharpens(parameters: Parameters, data: TrainingData, kernel: Kernel) -> bool:
    """Whether the search learns an adaptive temperature; "auto" does so for tables of words, sparse or not."""
    if not is_auto(parameters.sharpen):
        return bool(parameters.sharpen)
    if not isinstance(kernel, Linear):
        return False
    # Zeros that a sparse matrix stores are zeros.
    n_filled = data.points.count_nonzero() if is_sparse(data.points) else np.count_nonzero(data.points)
    return bool(n_filled <= USUAL.most_filled * data.points.shape[0] * data.points.shape[1])
