"""Memory of every call: compared with the limit before work begins, and divided among its parts."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from logikern.criteria.leave_one_out.criterion import DEFAULT_POLICY
from logikern.estimators._inputs.data import TrainingData, leaves
from logikern.estimators._names.solvers import SOLVERS
from logikern.estimators._parameters import Parameters
from logikern.fitting import footprint
from logikern.fitting.footprint import Size
from logikern.fitting.preconditioning import adaptive
from logikern.kernels import DistanceKernel, Kernel, KernelRows
from logikern.kernels.inputs import is_sparse
from logikern.model.fitted import TILE_ENTRIES as PREDICTION_ENTRIES
from logikern.model.neighbourhoods import NeighbourhoodModel
from logikern.numerics.free_memory import available_memory
from logikern.numerics.parallel import n_threads
from logikern.operators.linear import BLOCK
from logikern.structure.specification import Specification
from logikern.structure.tying import Tying


@dataclass(frozen=True)
class MemoryPolicy:
    """Bounds on the memory of calls; `benchmarks/memory.py` compares them with measured peaks."""

    least_rows: int = 16  # smallest number of rows of kernel values that products compute at a time
    bytes_per_value: int = 24  # bytes of a kernel value while it is computed
    values_kept: int = 10  # numbers per row that a fitted model of two classes keeps in addition to its points
    prediction_arrays: int = 6  # arrays with one value per row and class that prediction holds
    # Kernel matrices of a neighbourhood with the share of its preconditioner, in units of the matrices.
    cell_margin: float = 1.2
    cell_results: int = 6  # arrays of coefficients of all rows while fits of neighbourhoods are put together
    landmark_rows: int = 4  # numbers per row and landmark
    cell_states: int = 4  # arrays of coefficients that a search keeps for each of its neighbourhoods
    places_kept: int = 6  # numbers per new row while prediction by neighbourhoods finds its cells
    # Predictions with fewer kernel values use one thread: setting up threads takes 3 ms, as long as 300,000 values.
    fewest_values: int = 2**20
    # Predictions below this many bytes skip the check of free memory, which takes longer than predicting one row.
    small_prediction: float = 1e8


USUAL = MemoryPolicy()

# How the fits of a criterion are evaluated.
_CRITERIA = {
    "newton": footprint.cross_validation,
    "exact": footprint.exact,
    "loo": footprint.leave_one_out_criterion,
}


@dataclass(frozen=True)
class Resources:
    """Memory and threads that a call may use."""

    memory: float  # bytes
    is_given: bool  # whether `memory_limit` sets them; otherwise they are the free memory
    n_threads: int

    def __str__(self) -> str:
        kind = "memory (`memory_limit`)" if self.is_given else "free memory"
        threads = f"{self.n_threads} thread{'' if self.n_threads == 1 else 's'}"
        return f"{describe(self.memory)} of {kind}, {threads}"

    def allow(self, needed: float) -> bool:
        """Whether a call that needs this number of bytes fits."""
        return needed + footprint.MODEL.overhead <= self.memory

    def require(self, what: str, needed: float, advice: str) -> float:
        """Raise an error if a call needs more memory than it may use; returns the bytes that it may use.

        `what` is the subject of the error's sentence, and `advice` an alternative to more memory.
        """
        if self.allow(needed):
            return self.memory
        total, allowed = describe(needed + footprint.MODEL.overhead), describe(self.memory)
        limit = f"`memory_limit` allows {allowed}" if self.is_given else f"{allowed} is free"
        more = "Pass a larger `memory_limit`" if self.is_given else "Free some memory"
        raise ValueError(f"{what} needs about {total}, which is too much: {limit}. {more}, or {advice}.")


def find_resources(memory_limit: float | None) -> Resources:
    """The limit, or the memory that is free now, and the threads of this context."""
    memory = available_memory() if memory_limit is None else memory_limit
    return Resources(memory, memory_limit is not None, n_threads())


def describe(n_bytes: float) -> str:
    """A number of bytes in words, rounded up."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{np.ceil(n_bytes / 1e6):.0f} MB"


def size_of(data: TrainingData, tying: Tying, n_points: int | None = None, **others: Any) -> Size:
    """Sizes of a model on all points, or on `n_points`."""
    n_classes = len(data.classes)
    is_coupled, is_shared = not data.likelihood.has_separate_functions, tying.n_kernels == tying.n_variances == 1
    return Size(
        len(data.weights) if n_points is None else n_points,
        n_classes,
        data.mixing.n_latent,
        1 if is_coupled and n_classes == 2 else n_classes,
        is_coupled and n_classes > 2,
        data.mixing.is_coupled,
        tying.n_kernels,
        1 if is_shared else n_classes,
        n_threads=n_threads(),
        **others,
    )


def room_for_fit(
    parameters: Parameters, data: TrainingData, resources: Resources, solver: str, size: Size, kernel: Kernel
) -> float:
    """Bytes left for kernel values and preconditioner of the final fit. Raises an error if too few are left."""
    n, dense = size.n_points, solver == "exact"
    needed = SOLVERS[solver].footprint(size)
    if solver == "smo" and parameters.solver == "auto":
        needed = max(needed, footprint.newton(size))  # the fallback
    needed += _copies(data, n)
    if dense or parameters.operator == "dense":
        needed += fit_matrices(kernel, data, size.n_kernels) * size.matrix
    least = 0.0 if dense else _least_room(data, n)
    what = f"A fit to {n} rows with {_classes(data)}"
    allowed = resources.require(what, needed + least, _advice(parameters, solver, data))
    return allowed if dense else allowed - needed - footprint.MODEL.overhead


def room_for_search(
    parameters: Parameters,
    data: TrainingData,
    resources: Resources,
    criterion: str,
    size: Size,
    kernel: Kernel,
    n_cells: int = 1,
) -> float:
    """Bytes left for kernel values of a search on one or several subsets of this size. Raises an error if too few.

    `criterion` is "loo" for leave-one-out, "exact" for folds with dense factors, or "newton" for folds without
    them.
    """
    n, by_products, by_loo = size.n_points, criterion == "newton", criterion == "loo"
    needed = _copies(data, len(data.weights)) + size.n_threads * _scaled(data, n)
    if not by_products or parameters.operator == "dense":
        needed += n_cells * search_matrices(kernel, data, size.n_kernels) * size.matrix
    # Each thread evaluates one neighbourhood, but all neighbourhoods keep latents of this and the last evaluation.
    n_parallel = min(size.n_threads, n_cells)
    least = n_parallel * _least_room(data, n) if by_products else 0.0
    needed += n_parallel * _CRITERIA[criterion](replace(size, n_threads=-(-size.n_threads // n_parallel)))
    needed += footprint.functions(size, USUAL.cell_states) * (n_cells - 1)
    how = "by leave-one-out" if by_loo else f"by {size.n_batch}-fold cross-validation"
    other = ", criterion='cv'" if by_loo and not parameters.is_bias_free else ""
    where = f"{n} rows" if n_cells == 1 else f"{n_cells} neighbourhoods of {n} rows"
    what = f"A search {how} on {where} with {_classes(data)}"
    allowed = resources.require(what, needed + least, f"pass a smaller `search_size`{other} or criterion=None")
    return allowed - needed - footprint.MODEL.overhead if by_products else allowed


class CellsNeed(NamedTuple):
    """Bytes of a fit by neighbourhoods."""

    total: float
    values: float  # part of the total, for kernel values and preconditioner of each fit
    n_parallel: int  # fits at the same time

    def share(self, allowed: float) -> float:
        """Bytes for kernel values and preconditioner of each fit, if all fits together may use `allowed` bytes."""
        return self.values + (allowed - footprint.MODEL.overhead - self.total) / self.n_parallel


def cells_need(data: TrainingData, model: Specification, n_rows: int, rank: int, n_partitions: int) -> CellsNeed:
    """Memory of neighbourhoods of at most `n_rows` rows. Each thread fits one, or landmarks couple all in one fit."""
    n, n_kernels = len(data.weights), len(model.kernels)
    size, n_cells = size_of(data, model.tying, min(n, n_rows)), -(-n // n_rows)
    values = USUAL.cell_margin * fit_matrices(model.kernels[0], data, n_kernels) * size.matrix
    if rank:
        values, n_parallel = n_cells * values, 1
        least = n_cells * footprint.conditioning(size, adaptive.POLICY.least_rank)
        each = footprint.newton(size_of(data, model.tying)) + least + 8.0 * USUAL.landmark_rows * rank * n * n_kernels
    else:
        n_parallel = min(n_threads(), n_cells)
        each = footprint.newton(replace(size, n_threads=1)) + _scaled(data, size.n_points)
    # Coefficients and latents of all cells, put together and in order, in addition to earlier partitions.
    kept = 8.0 * n * ((n_partitions + USUAL.cell_results) * len(data.classes) + n_partitions)
    return CellsNeed(_copies(data, n) + kept + n_parallel * (each + values), values, n_parallel)


def limit_for_each(data: TrainingData, resources: Resources) -> float | None:
    """`memory_limit` for each one-vs-rest model: the limit minus the points that all models keep."""
    if not resources.is_given:
        return None
    n_classes = len(data.classes)
    kept = n_classes * (bytes_of(data.points) + 8.0 * USUAL.values_kept * len(data.weights))
    return resources.require(f"One model for each of {n_classes} classes", kept, "pass one_vs_rest=False") - kept


def _advice(parameters: Parameters, solver: str, data: TrainingData) -> str:
    if parameters.is_bias_free:
        return "pass fewer rows or a finite `bias_variance`"
    if solver == "exact" and parameters.solver == "exact":
        return "pass fewer rows or solver='newton'"
    if parameters.operator == "dense":
        return "pass fewer rows or operator='tiled'"
    single = data.labels is not None and parameters.state_precision != "single"
    return "pass fewer rows" + (" or state_precision='single'" if single else "")


def _classes(data: TrainingData) -> str:
    return f"{len(data.classes)} {'outputs' if data.labels is None else 'classes'}"


def fit_matrices(kernel: Kernel, data: TrainingData, n_kernels: int) -> int:
    """Number of matrices that a fit holds at once: kernel matrices, and distances that several kernels share."""
    n_metrics = len(kernel.metrics) if isinstance(kernel, DistanceKernel) else 1
    return n_kernels + n_metrics * (n_kernels > 1) + temporary_matrices(kernel, data)


def search_matrices(kernel: Kernel, data: TrainingData, n_kernels: int) -> int:
    """Number of matrices that a search holds at once: kernels and distances, including those for a smaller subset."""
    n_metrics = len(kernel.metrics) if isinstance(kernel, DistanceKernel) else 1
    return n_kernels + 2 * n_metrics + temporary_matrices(kernel, data)


def temporary_matrices(kernel: Kernel, data: TrainingData) -> int:
    """Number of temporary matrices while a kernel matrix is computed; distance-based kernels work in place."""
    parts = leaves(kernel)
    plain = len(parts) == 1 and isinstance(parts[0], DistanceKernel)
    return 0 if plain else 3 if is_sparse(data.points) else 1


def _least_room(data: TrainingData, n_points: int) -> float:
    """Room for the smallest tiles of kernel values, or for a block of functions of explicit features per thread."""
    room = 2.0 * USUAL.least_rows * USUAL.bytes_per_value * n_points
    if not is_sparse(data.points):
        return room
    n_features = min(data.points.shape[1], data.points.nnz)
    return max(room, 8.0 * BLOCK * n_threads() * (n_features + 2 * n_points))


def _copies(data: TrainingData, n_points: int) -> float:
    """Bytes of the points, of the copies that kernels make of them, and of the targets."""
    return _bytes(data, n_points) + _scaled(data, n_points) + 3.0 * data.targets.nbytes


def _scaled(data: TrainingData, n_points: int) -> float:
    """Bytes of the scaled copies that a kernel makes of the points; zero if kernel values are given."""
    return 0.0 if isinstance(data.points, KernelRows) else footprint.MODEL.point_copies * _bytes(data, n_points)


def _bytes(data: TrainingData, n_points: int) -> float:
    """Bytes of `n_points` points."""
    return bytes_of(data.points) * n_points / max(1, len(data.weights))


def bytes_of(points: Any) -> float:
    """Bytes of points of any kind, in double precision; objects are not counted."""
    if isinstance(points, KernelRows):
        return 0.0 if points.values is None else float(points.values.nbytes)
    if is_sparse(points):
        return float(8.0 * points.nnz + points.indices.nbytes + points.indptr.nbytes)
    numeric = hasattr(points, "dtype") and points.dtype.kind in "fiub"
    return 8.0 * float(np.prod(points.shape)) if numeric else 8.0 * len(points)


def check_leave_one_out(data: TrainingData, resources: Resources, rank: int, size: Size, kernel: Kernel) -> float:
    """Bytes left for kernel values in leave-one-out after a fit. Raises an error if too few are left.

    A rank of zero means dense factors instead of landmarks.
    """
    n, needed = size.n_points, _scaled(data, size.n_points)
    if rank:
        needed += footprint.low_rank_leave_one_out(size, rank, DEFAULT_POLICY.tile_entries)
        least = _least_room(data, n)
    else:
        needed += footprint.leave_one_out(size)
        least = (size.n_kernels + temporary_matrices(kernel, data)) * size.matrix
    what = f"Leave-one-out for {n} rows and {_classes(data)}"
    allowed = resources.require(what, needed + least, "fit to fewer rows, or use cross-validation")
    return allowed - needed - footprint.MODEL.overhead if rank else allowed


def refits_at_a_time(data: TrainingData, resources: Resources, size: Size, kernel: Kernel, is_bias_free: bool) -> int:
    """The number of refits in lock-step that fit in memory. Raises an error if not even one does."""
    n = size.n_points
    needed = _scaled(data, n) + (size.n_kernels + temporary_matrices(kernel, data)) * size.matrix
    one = footprint.exact(size) if is_bias_free else footprint.refits(size, 1)
    what = f"Refitting without one of {n} rows, with {_classes(data)},"
    left = resources.require(what, needed + one, "fit to fewer rows") - needed - footprint.MODEL.overhead
    # Without a penalty on constants, refits run one after the other.
    return footprint.MODEL.most_refits if is_bias_free else footprint.affordable_refits(size, left)


def prediction_tile(model: Any, X: Any, memory_limit: float | None) -> int:
    """Kernel values that prediction may compute at a time. Raises an error if not even one row fits."""
    models = getattr(model, "models", (model,))
    first, n_new = models[0], X.shape[0]
    n_classes = len(models) if len(models) > 1 else first.n_classes
    needed = _prediction_points(first) + 8.0 * USUAL.prediction_arrays * n_new * n_classes
    row = USUAL.bytes_per_value * float(first.n_compared)
    if isinstance(first, NeighbourhoodModel):
        needed += 8.0 * n_new * (len(first.members) * first.n_classes + USUAL.places_kept)
        row *= n_threads()
    features = first.specification.kernels[0].features(first.points[:1])
    if features is not None:
        needed += 16.0 * len(models) * first.n_classes * features.shape[1]
    if memory_limit is None and needed + row <= USUAL.small_prediction:
        return PREDICTION_ENTRIES
    what = f"Prediction of {n_classes} values for each of {n_new} rows, from {first.n_compared} training rows,"
    allowed = find_resources(memory_limit).require(what, needed + row, "predict fewer rows at a time")
    left = (allowed - needed - footprint.MODEL.overhead) // USUAL.bytes_per_value
    return int(np.clip(left, row // USUAL.bytes_per_value, PREDICTION_ENTRIES))


def _prediction_points(model: Any) -> float:
    """Bytes of the copies of training points that a kernel makes: of all points, or of a neighbourhood per thread."""
    points = model.points
    if isinstance(points, KernelRows):
        return 0.0
    copies = float(footprint.MODEL.point_copies)
    if isinstance(model, NeighbourhoodModel):
        copies = (copies + 1.0) * n_threads() * model.n_compared / points.shape[0]
    return copies * bytes_of(points)
