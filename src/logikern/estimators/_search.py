"""Learning hyperparameters: from the estimator's arguments to a search, and back to a specification."""

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from logikern.criteria.base import Criterion
from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import Folds, folds_from_splits
from logikern.criteria.leave_one_out.criterion import LeaveOneOut
from logikern.criteria.leave_one_out.spot_check import SpotCheck
from logikern.criteria.noise import ProfiledNoise
from logikern.estimators import _memory
from logikern.estimators import _run as _settings
from logikern.estimators._callbacks import WRAPPER_FRAMES
from logikern.estimators._checkpoint import identify, open_journal
from logikern.estimators._failures import warn_search
from logikern.estimators._fitted.doubts import check_search, tell
from logikern.estimators._inputs.data import TrainingData
from logikern.estimators._inputs.splits import GivenRows, list_splits, split_points
from logikern.estimators._inputs.weights import weight_unit
from logikern.fitting.footprint import search_conditioning
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.fitting.preconditioning.adaptive import LowRankConditioning
from logikern.kernels import Linear, Stationary
from logikern.kernels.inputs import is_sparse
from logikern.numerics.outcome import Array, Indices
from logikern.operators.choose import choose
from logikern.selection.growth import Plan, Verdict, learn, plan_tyings, spread
from logikern.selection.search import Arena, Effort, Ledger, Record, Watch
from logikern.structure.specification import Specification
from logikern.structure.tying import tie

# Points on which a model grows, before it is finished on `search_size` points; at least so many per class.
COARSE_SIZE = 1000
COARSE_PER_CLASS = 40
# Points on which "auto" finishes it.
FINE_SIZE = 2000
# Or, of many classes, on so many per class.
FINE_PER_CLASS = 20
# Folds times classes times points that one evaluation may handle; from then on there are fewer points and folds.
ENTRIES = 1_500_000
# Classes times points from which on the tolerance of inner fits grows with their number.
LOOSENED_FROM = 500_000
# Texts, whose evaluations take time linear in the points, then have so many times as many points, and go on on ever
# more by the same factor, up to the number per class above.
ENLARGEMENT = 2.5
# Classes times points of the largest of these subsets: 12 GB for the arrays of a fit by Newton's method, 3 GB for one
# point by point. All 1733 classes of wordnet with 20 points each have 60 million.
MOST_ENTRIES = 75_000_000
# Leave-one-out takes about classes squared times points cubed operations: what "auto" allows for one evaluation.
LOO_WORK = 12e9
# Two classes of up to so many points are learned by leave-one-out faster than by five folds, on average over sets
# (benchmarks/loo_or_cv.py); from 400 points to 1500 it depends on the data.
LOO_UP_TO = 700
SMALLEST_CLASS = 4
DEFAULT_FOLDS = 5
# The stage "separate" is tried by "auto" for at most this many kernels, whose matrices over all points have at most
# this many entries (4 GB in single precision). Fixed bounds: a search does not depend on the memory of the machine.
MOST_KERNELS, MOST_KERNEL_ENTRIES = 30, 1e9
# Inputs up to which "auto" tries a rate for each.
MOST_INPUTS = 100
SEARCH_TOLERANCE = 1e-2
# Of all entries, those that are not zero in a table of words, at most.
MOST_FILLED = 0.2


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search found and how it went.

    Attributes
    ----------
    specification : Specification
    value : float
    verdicts : tuple of Verdict
    records : tuple of Record
    stopped : str
        Why it ended early; empty if it did not.
    method : str
        The criterion in words.
    check : SpotCheck or None, default=None
        Of leave-one-out in closed form by refits.
    """

    specification: Specification
    value: float
    verdicts: tuple[Verdict, ...]
    records: tuple[Record, ...]
    stopped: str
    method: str
    check: SpotCheck | None = None


def tune(estimator: Any, data: TrainingData, start: Specification, given: GivenRows, watch: Watch) -> Tuned:
    """Learn the hyperparameters of the estimator's model; they stay at a start that cannot be fitted."""
    began = time.monotonic()
    identity = identify(estimator, data, given.groups)
    seed = _seed(estimator, identity)
    # Weights divided by a unit and variances times it are the same model.
    unit = weight_unit(data.weights)
    data = replace(data, weights=data.weights / unit)
    few = _arena_sizes(estimator, data)
    larger = _larger_sizes(estimator, data, start, few[-1])
    sizes = larger or few
    order = _nested_order(data, seed)
    cv = _splits(estimator, data, given, order[: max(sizes)])
    plan = replace(_plan(estimator, data, start), grow_last=bool(larger))
    finest = spread(start, plan.tyings[-1][1])
    _settings.room_for(estimator, finest, data, _settings.state_dtype(estimator, data))  # refused before the search
    arenas = [_arena(estimator, data, finest, np.sort(order[:size]), cv, given.groups, seed) for size in sizes]
    deadline = np.inf if estimator.max_time is None else began + float(estimator.max_time)
    effort = _effort(estimator, data, sizes[0])
    with open_journal(estimator, identity, seed, arenas) as journal:
        ledger = Ledger(journal, watch, deadline)
        learned = learn(start.scaled(unit), plan, arenas, effort, ledger, np.random.default_rng(seed))
    if learned is None:
        reason = ledger.stopped or "no start could be fitted"
        return Tuned(start, np.nan, (), tuple(ledger.records), f"{reason} before anything was found", "")
    loo = leaves_one_out(estimator, len(data.weights), len(data.classes))
    name = "leave-one-out" if loo else "cross-validation"
    method = f"{name} ({ledger.method})" if ledger.method else name
    size = _memory.size_of(data, learned.specification.tying, arenas[-1].n_points)
    check = None if ledger.stopped else check_search(arenas[-1], learned.specification, seed, size)
    specification, records = learned.specification.scaled(1.0 / unit), tuple(ledger.records)
    return Tuned(specification, learned.value, learned.verdicts, records, ledger.stopped, method, check)


def _effort(estimator: Any, data: TrainingData, n_points: int) -> Effort:
    usual = Effort(simplex=estimator.optimizer == "nelder-mead", least_size=1.0 if data.labels is None else 0.0)
    # A tolerance bounds the largest residual, and of more of them the largest says less about the mean loss. None is
    # above that of the solver.
    loosened = max(1.0, len(data.classes) * n_points / LOOSENED_FROM)
    first, last = usual.first_tolerance * loosened, usual.last_tolerance * loosened
    return replace(usual, first_tolerance=first, last_tolerance=last)


def learned_specification(
    estimator: Any, data: TrainingData, start: Specification, given: GivenRows, watch: Watch
) -> Specification:
    """The specification that the criterion prefers, its story kept on the estimator; the start if there is none."""
    estimator.start_ = start
    estimator.verdicts_, estimator.trace_, estimator.criterion_value_ = (), (), np.nan
    if estimator.criterion is None:
        return start
    tuned = tune(estimator, data, start, given, watch)
    estimator.verdicts_, estimator.trace_, estimator.criterion_value_ = tuned.verdicts, tuned.records, tuned.value
    estimator.criterion_method_ = tuned.method
    estimator.criterion_doubt_ = tell(tuned.check, "Learn by criterion='cv'.", stacklevel=3 + WRAPPER_FRAMES)
    if tuned.stopped:
        warn_search(f"{tuned.stopped}; the best hyperparameters so far are used")
    return tuned.specification


def _seed(estimator: Any, identity: str) -> int:
    """Of subsets and partitions.

    With a checkpoint and no `random_state` it comes from the data: a search that draws another partition could
    not go on with the answers of the first.
    """
    if identity and estimator.random_state is None:
        return int(identity[:7], 16)
    return int(check_random_state(estimator.random_state).randint(2**31 - 1))


def _plan(estimator: Any, data: TrainingData, start: Specification) -> Plan:
    n, n_kernels = len(data.weights), tie("separate", data.mixing).n_kernels
    fits = n_kernels <= MOST_KERNELS and n_kernels * n * n <= MOST_KERNEL_ENTRIES
    has_parameters = bool(start.kernels[0].log_parameters.size)
    compare = _settings.grows(estimator)
    n_given = 1 if data.tree is None else 2  # of a tree, a variance per level at least
    wanted = estimator.tying if isinstance(estimator.tying, str | dict) else list(estimator.tying)
    excluded = set() if fits and has_parameters and len(data.classes) > 2 else {"separate"}
    if data.labels is not None and len(data.classes) == 2:
        # Only the difference of two class functions counts, and with one kernel only the sum of their variances.
        excluded.add("scaled")
    tyings = plan_tyings(wanted, start.mixing, excluded)
    n_inputs = data.points.shape[1] if len(data.points.shape) > 1 else 1
    # Of numbers, one kernel for all is the rule: there a rate for each input is all that may be compared with it.
    compare = compare or (data.labels is None and len(tyings) == 1)
    relevance = bool(estimator.ard) if estimator.ard != "auto" else compare and 1 < n_inputs <= MOST_INPUTS
    if estimator.ard is True:
        _check_rates(start)
        tyings = tyings[:n_given] if compare else tyings  # asked for, so it is not one candidate among others
        compare = False
    if start.tying != tyings[0][1]:
        tyings = tyings[-1:]  # values were given for every group: nothing leads up to them
    plan = Plan(tyings, compare, relevance, n_inputs, n, bool(estimator.learn_bias), int(estimator.n_starts))
    return replace(plan, n_given=n_given)


def _arena_sizes(estimator: Any, data: TrainingData) -> list[int]:
    """A small one, and one at least a fifth larger where there are enough points."""
    n, n_classes = len(data.weights), len(data.classes)
    wanted = {"auto": FINE_SIZE, None: n}
    given = estimator.search_size
    if leaves_one_out(estimator, n, n_classes):
        wanted["auto"] = _loo_size(data)
    else:
        wanted["auto"] = max(FINE_SIZE, min(FINE_PER_CLASS * n_classes, max(ENTRIES // n_classes, 4 * n_classes)))
    fine = min(n, wanted[given] if given in wanted else max(int(given), 10 * n_classes))
    coarse = min(fine, max(COARSE_SIZE, COARSE_PER_CLASS * n_classes))
    if leaves_one_out(estimator, n, n_classes) and fine < n:
        coarse = min(coarse, fine // 2)
    return [coarse, fine] if fine > 1.2 * coarse else [coarse]


def _larger_sizes(estimator: Any, data: TrainingData, start: Specification, n_points: int) -> list[int]:
    """Larger subsets for texts of many classes, of which those so far have few points each; empty for others.

    With four points per class the best variances are far too large for all points. The sizes do not depend on memory:
    a search that goes on from a checkpoint must have the same ones.
    """
    n, n_classes = len(data.weights), len(data.classes)
    is_text = is_sparse(data.points) and isinstance(start.kernels[0], Linear)
    is_default = estimator.search_size == "auto" and not leaves_one_out(estimator, n, n_classes)
    # Splits that were given may be many at a time.
    if not (is_text and is_default) or not (estimator.cv is None or isinstance(estimator.cv, int | np.integer)):
        return []
    enough = min(n, FINE_PER_CLASS * n_classes, MOST_ENTRIES // n_classes)
    sizes = []
    while enough > 1.2 * n_points:
        n_points = min(enough, int(ENLARGEMENT * n_points))
        sizes.append(n_points)
    return sizes


def _sharpens(estimator: Any, data: TrainingData, start: Specification) -> bool:
    """Whether the search learns how sharp probabilities should be; "auto" goes by values, sparse or not."""
    if estimator.sharpen != "auto":
        return bool(estimator.sharpen)
    if not isinstance(start.kernels[0], Linear):
        return False
    # Zeros that a sparse matrix stores are zeros.
    n_filled = data.points.count_nonzero() if is_sparse(data.points) else np.count_nonzero(data.points)
    return bool(n_filled <= MOST_FILLED * data.points.shape[0] * data.points.shape[1])


def _loo_size(data: TrainingData) -> int:
    """Points on which leave-one-out is quick; classes that are coupled a priori make one large matrix."""
    n_classes = len(data.classes)
    if data.labels is None:
        return int(np.cbrt(LOO_WORK / n_classes))
    if data.tree is None:
        return int(np.cbrt(LOO_WORK / n_classes**2))
    size = int(np.cbrt(LOO_WORK) / n_classes)
    if size < min(len(data.weights), SMALLEST_CLASS * n_classes):
        raise ValueError(
            f"Leave-one-out of a hierarchy costs the cube of rows times classes, too much for {n_classes} classes. "
            "Use criterion='cv'."
        )
    return size


def leaves_one_out(estimator: Any, n_points: int, n_classes: int) -> bool:
    """Whether the criterion is leave-one-out; "auto" takes it where it is cheaper than cross-validation."""
    if estimator.criterion == "auto":
        return n_classes == 2 and n_points <= LOO_UP_TO or bool(np.isinf(estimator.bias_variance))
    return bool(estimator.criterion == "loo")


def _nested_order(data: TrainingData, seed: int) -> Indices:
    """An order of the points whose every beginning has the classes in proportion, rare ones first."""
    random = np.random.default_rng(seed)
    labels = _labels(data)
    place = np.empty(len(labels))
    for label in np.unique(labels):
        own = random.permutation(np.flatnonzero(labels == label))
        place[own] = (np.arange(len(own)) + random.random()) / len(own)
        place[own[:SMALLEST_CLASS]] -= 1.0
    return np.argsort(place, kind="stable")


def _labels(data: TrainingData) -> Indices:
    """Classes in whose proportion rows are drawn; one for all where targets are numbers."""
    return np.zeros(len(data.weights), dtype=int) if data.labels is None else data.labels


def _arena(
    estimator: Any,
    data: TrainingData,
    finest: Specification,
    chosen: Indices,
    cv: Any,
    groups: Array | None,
    seed: int,
) -> Arena:
    """A criterion on some of the points, for all models up to the finest one."""
    targets, points = np.ascontiguousarray(data.targets[:, chosen]), data.points[chosen]
    loo = leaves_one_out(estimator, len(data.weights), len(data.classes))
    exact = loo or _settings.solver_name(estimator, len(chosen), data.likelihood) == "exact"
    precision = "double" if exact or estimator.precision == "double" else "single"
    folds = None if loo else _folds(cv, data, chosen, groups, seed)
    size = _memory.size_of(data, finest.tying, len(chosen), n_batch=1 if folds is None else len(folds.kept))
    kind = "loo" if loo else "exact" if exact else "newton"
    room = _memory.room_for_search(estimator, data, kind, size, finest.kernels[0])
    n_matrices = _memory.search_matrices(finest.kernels[0], data, size.n_kernels)
    how = choose(finest.kernels[:1], points, estimator.operator, precision, room, n_matrices)
    solver = Exact(_settings.EXACT_TOLERANCE) if exact else _inner_newton(seed, search_conditioning(size))
    sharpen = data.labels is not None and _sharpens(estimator, data, finest)
    criterion: Criterion
    if folds is None:
        if len(targets) != len(data.classes):
            raise ValueError(
                "`criterion` is leave-one-out, but some labels are inner nodes of the hierarchy. Use criterion='cv'."
            )
        own_groups = None if groups is None else _held_out_together(np.asarray(groups)[data.kept[chosen]])
        if data.labels is None and cv is not None:
            own_groups = _groups_of_folds(cv, data, chosen, groups, seed)
        criterion = LeaveOneOut(data.likelihood, targets, data.weights[chosen], solver, own_groups, sharpen=sharpen)
    else:
        criterion = CrossValidation(data.likelihood, targets, folds, solver, sharpen)
    if data.labels is None:
        criterion = ProfiledNoise(criterion, len(targets))
    return Arena(criterion, how.points(points, keep_distances=True), len(chosen))


def _held_out_together(groups: Array) -> Array:
    names = set(groups.tolist())
    if len(names) < 2:
        raise ValueError(
            f"`groups` has one group only, {names.pop()!r}: nothing is left to learn from when it is held out. "
            "Pass two groups or more, or None."
        )
    return groups


def _groups_of_folds(cv: Any, data: TrainingData, chosen: Indices, groups: Array | None, seed: int) -> Indices:
    """The fold that each point is held out with: the squared loss has whole folds in closed form as well."""
    folds = _folds(cv, data, chosen, groups, seed)
    held_out, kept = folds.held_out > 0, folds.kept > 0
    if not (held_out.sum(axis=0) == 1).all() or (held_out == kept).any():
        raise ValueError(
            "`criterion` is 'loo', for which `cv` must hold out every row once and keep all others, but it does not. "
            "Pass None, a number of folds or other splits, or use criterion='cv'."
        )
    return held_out.argmax(axis=0)


def _inner_newton(seed: int, memory: float) -> Newton:
    # The criterion looks at the latents itself, at a sample of the points.
    conditioning = LowRankConditioning(memory=memory, seed=seed)
    return Newton(SEARCH_TOLERANCE, conditioning=conditioning, proves=False, seed=seed)


def _splits(estimator: Any, data: TrainingData, given: GivenRows, seen: Indices) -> Any:
    """What `cv` makes of the rows seen by any stage; leave-one-out of classes does not ask for it."""
    unused = data.labels is not None and leaves_one_out(estimator, len(data.weights), len(data.classes))
    return None if unused else list_splits(estimator.cv, given, data, data.kept[seen])


def _folds(cv: Any, data: TrainingData, chosen: Indices, groups: Array | None, seed: int) -> Folds:
    """The folds of the chosen points; five by default."""
    if len(chosen) < 2:
        raise ValueError("Nothing can be held out, for there is 1 sample. Pass more rows, or use criterion=None.")
    cv = DEFAULT_FOLDS if cv is None else cv
    own_groups = None if groups is None else np.asarray(groups)[data.kept[chosen]]
    with warnings.catch_warnings():
        # A class with fewer members than folds is no mistake here: folds without it are fitted all the same.
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(split_points(cv, data, chosen, own_groups, seed))
    folds = folds_from_splits(splits[: _affordable_folds(cv, data, chosen)], data.weights[chosen])
    if not (folds.held_out.any() and folds.kept.any(axis=1).all()):
        raise ValueError(
            f"`cv` must hold out some points and keep some, but no split does so among the {len(chosen)} rows on "
            "which hyperparameters are learned. Pass other splits, or a larger `search_size`."
        )
    return folds


def _affordable_folds(cv: Any, data: TrainingData, chosen: Indices) -> int | None:
    """Of a number of folds as many as leave an evaluation quick: with very many classes one part is held out only."""
    if not isinstance(cv, int | np.integer):
        return None
    return max(1, int(ENTRIES / (len(data.classes) * len(chosen))))


def _check_rates(start: Specification) -> None:
    if not all(isinstance(kernel, Stationary) for kernel in start.kernels):
        raise ValueError(
            f"`ard` is True, but the kernel {start.kernels[0]!r} has no rate to learn for each input. "
            "Use a kernel of distances, such as 'gaussian', or ard=False."
        )
