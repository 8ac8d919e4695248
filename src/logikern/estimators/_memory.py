"""Whether the memory allowed suffices for a call, asked before its work begins."""

from typing import Any, NamedTuple

import numpy as np

from logikern.criteria.leave_one_out.criterion import TILE_ENTRIES
from logikern.estimators._inputs.data import TrainingData, leaves, parse_memory
from logikern.fitting import footprint
from logikern.fitting.footprint import Size
from logikern.kernels import Kernel, KernelRows, Stationary
from logikern.kernels.inputs import is_sparse
from logikern.model.fitted import TILE_ENTRIES as PREDICTION_ENTRIES
from logikern.numerics.free_memory import available_memory
from logikern.numerics.parallel import n_threads
from logikern.operators.linear import BLOCK
from logikern.structure.tying import Tying

# Rows of kernel values that products compute at a time at least, and bytes of each value. They may have half of the
# room that is left.
LEAST_ROWS, BYTES_PER_VALUE = 16, 24
# Numbers for each row that a fitted model of two classes keeps beside its points.
VALUES_KEPT = 10
# Arrays of one value for each row and class that prediction holds, and bytes of a kernel value.
PREDICTION_ARRAYS, PREDICTION_BYTES = 6, 24
# A smaller one is made without looking how much memory is free, which would take longer than a row does.
SMALL_PREDICTION = 1e8

_FITTING = {
    "newton": footprint.newton,
    "auto": footprint.newton,
    "exact": footprint.exact,
    "kcg": footprint.kernel_gradient,
    "smo": footprint.pairs,
}


_CRITERIA = {
    "newton": footprint.cross_validation,
    "exact": footprint.exact,
    "loo": footprint.leave_one_out_criterion,
}


class Allowed(NamedTuple):
    """Bytes that a call may take, and who says so."""

    n_bytes: float
    source: str


def allowed(estimator: Any) -> Allowed:
    """`memory_limit`, or what is free."""
    limit = parse_memory(estimator.memory_limit)
    if limit is not None:
        return Allowed(limit, f"`memory_limit` allows {describe(limit)}")
    free = available_memory()
    return Allowed(free, f"{describe(free)} are free")


def describe(n_bytes: float) -> str:
    """In words; never less than it is."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{np.ceil(n_bytes / 1e6):.0f} MB"


def require(estimator: Any, what: str, needed: float, advice: str) -> Allowed:
    """Refuse a call that needs more than it may take.

    Parameters
    ----------
    estimator : the estimator
    what : str
        Subject of the sentence.
    needed : float
    advice : str
        What to do other than to allow more.
    """
    may = allowed(estimator)
    if needed + footprint.LEAST <= may.n_bytes:
        return may
    more = "Pass a larger `memory_limit`" if estimator.memory_limit is not None else "Free some memory"
    total = describe(needed + footprint.LEAST)
    raise ValueError(f"{what} needs about {total}, but {may.source}. {more}, or {advice}.")


def size_of(data: TrainingData, tying: Tying, n_points: int | None = None, **others: Any) -> Size:
    """Sizes of a model on all points, or on so many."""
    n_classes = len(data.classes)
    is_pair, is_shared = n_classes == 2 and data.labels is not None, tying.n_kernels == tying.n_variances == 1
    return Size(
        len(data.weights) if n_points is None else n_points,
        n_classes,
        data.mixing.n_latent,
        1 if is_pair else n_classes,
        n_classes > 2 and data.labels is not None,
        data.mixing.is_coupled,
        tying.n_kernels,
        1 if is_shared else n_classes,
        n_threads=n_threads(),
        **others,
    )


def room_for_fit(estimator: Any, data: TrainingData, solver: str, size: Size, kernel: Kernel) -> float:
    """Bytes that kernel values and preconditioner of the final fit may take; refused where the rest does not fit.

    Parameters
    ----------
    estimator : the estimator
    data : TrainingData
    solver : str
        Its name.
    size : Size
    kernel : Kernel
        One of the model's, which are all of a kind.
    """
    n, dense = size.n_points, solver == "exact"
    needed = _FITTING[solver](size)
    if solver == "smo" and estimator.solver == "auto":
        needed = max(needed, footprint.newton(size))  # which takes over where sweeps do not end
    needed += _copies(data, n)
    if dense or estimator.operator == "dense":
        needed += fit_matrices(kernel, data, size.n_kernels) * size.matrix
    least = 0.0 if dense else _least_room(data, n)
    what = f"A fit to {n} rows with {_classes(data)}"
    may = require(estimator, what, needed + least, _advice(estimator, solver, data))
    return may.n_bytes if dense else may.n_bytes - needed - footprint.LEAST


def room_for_search(estimator: Any, data: TrainingData, criterion: str, size: Size, kernel: Kernel) -> float:
    """Bytes that kernel values of a search may take; refused where the rest does not fit.

    Parameters
    ----------
    estimator : the estimator
    data : TrainingData
    criterion : {"loo", "exact", "newton"}
        How it is evaluated: by leave-one-out, or by folds with dense factors or without.
    size : Size
        Of the subset that the search sees.
    kernel : Kernel
        One of the model's, which are all of a kind.
    """
    n, by_products = size.n_points, criterion == "newton"
    needed = _copies(data, len(data.weights)) + size.n_threads * _scaled(data, n)
    if not by_products or estimator.operator == "dense":
        needed += search_matrices(kernel, data, size.n_kernels) * size.matrix
    least = _least_room(data, n) if by_products else 0.0
    needed += _CRITERIA[criterion](size)
    by_loo, n_folds = criterion == "loo", size.n_batch
    what = f"A search {'by leave-one-out' if by_loo else f'by {n_folds} folds'} on {n} rows with {_classes(data)}"
    other = ", criterion='cv'" if by_loo and not np.isinf(estimator.bias_variance) else ""
    may = require(estimator, what, needed + least, f"pass a smaller `search_size`{other} or criterion=None")
    return may.n_bytes - needed - footprint.LEAST if by_products else may.n_bytes


def limit_for_each(estimator: Any, data: TrainingData) -> float | None:
    """`memory_limit` for each model against the rest: what is left beside the points that every one of them keeps."""
    if estimator.memory_limit is None:
        return None
    n_classes = len(data.classes)
    kept = n_classes * (bytes_of(data.points) + 8.0 * VALUES_KEPT * len(data.weights))
    may = require(estimator, f"One model for each of {n_classes} classes", kept, "pass one_vs_rest=False")
    return may.n_bytes - kept


def _advice(estimator: Any, solver: str, data: TrainingData) -> str:
    if np.isinf(estimator.bias_variance):
        return "pass fewer rows or a finite `bias_variance`"
    if solver == "exact" and estimator.solver == "exact":
        return "pass fewer rows or solver='newton'"
    if estimator.operator == "dense":
        return "pass fewer rows or operator='tiled'"
    single = data.labels is not None and estimator.state_precision != "single"
    return "pass fewer rows" + (" or state_precision='single'" if single else "")


def _classes(data: TrainingData) -> str:
    return f"{len(data.classes)} {'outputs' if data.labels is None else 'classes'}"


def fit_matrices(kernel: Kernel, data: TrainingData, n_kernels: int) -> int:
    """Matrices that a fit holds at once: of the kernels, and the distances that several share."""
    return n_kernels + (n_kernels > 1) + temporary_matrices(kernel, data)


def search_matrices(kernel: Kernel, data: TrainingData, n_kernels: int) -> int:
    """Matrices that a search holds at once: of the kernels, and distances, also of a smaller subset before."""
    return n_kernels + 2 + temporary_matrices(kernel, data)


def temporary_matrices(kernel: Kernel, data: TrainingData) -> int:
    """Further matrices that exist while one is computed: kernels of distances write theirs in place."""
    parts = leaves(kernel)
    plain = len(parts) == 1 and isinstance(parts[0], Stationary)
    return 0 if plain else 3 if is_sparse(data.points) else 1


def _least_room(data: TrainingData, n_points: int) -> float:
    """Room for the smallest tiles of kernel values, or for a block of functions of explicit features per thread."""
    room = 2.0 * LEAST_ROWS * BYTES_PER_VALUE * n_points
    if not is_sparse(data.points):
        return room
    n_features = min(data.points.shape[1], data.points.nnz)
    return max(room, 8.0 * BLOCK * n_threads() * (n_features + 2 * n_points))


def _copies(data: TrainingData, n_points: int) -> float:
    """Points, kept and in the forms that kernels take, and targets."""
    return _bytes(data, n_points) + _scaled(data, n_points) + 3.0 * data.targets.nbytes


def _scaled(data: TrainingData, n_points: int) -> float:
    """Points as a kernel takes them apart; kernel values that were given are what they are."""
    return 0.0 if isinstance(data.points, KernelRows) else footprint.POINT_COPIES * _bytes(data, n_points)


def _bytes(data: TrainingData, n_points: int) -> float:
    """Of so many of the points."""
    return bytes_of(data.points) * n_points / max(1, len(data.weights))


def bytes_of(points: Any) -> float:
    """Of points of any kind, in double precision; those of objects are not counted."""
    if isinstance(points, KernelRows):
        return 0.0 if points.values is None else float(points.values.nbytes)
    if is_sparse(points):
        return float(8.0 * points.nnz + points.indices.nbytes + points.indptr.nbytes)
    numeric = hasattr(points, "dtype") and points.dtype.kind in "fiub"
    return 8.0 * float(np.prod(points.shape)) if numeric else 8.0 * len(points)


def check_leave_one_out(estimator: Any, data: TrainingData, rank: int, size: Size, kernel: Kernel) -> float:
    """Refuse leave-one-out after a fit that would take too much; returns the room for kernel values.

    Parameters
    ----------
    estimator : the estimator
    data : TrainingData
    rank : int
        Of landmarks; zero for dense factors.
    size : Size
    kernel : Kernel
        One of the model's, which are all of a kind.
    """
    n, needed = size.n_points, _scaled(data, size.n_points)
    if rank:
        needed += footprint.low_rank_leave_one_out(size, rank, TILE_ENTRIES)
        least = _least_room(data, n)
    else:
        needed += footprint.leave_one_out(size)
        least = (size.n_kernels + temporary_matrices(kernel, data)) * size.matrix
    what = f"Leave-one-out of {n} rows and {_classes(data)}"
    may = require(estimator, what, needed + least, "fit to fewer rows, or cross-validate")
    return may.n_bytes - needed - footprint.LEAST if rank else may.n_bytes


def refits_at_a_time(estimator: Any, data: TrainingData, size: Size, kernel: Kernel) -> int:
    """How many fits without a row the memory allows in lock-step; refused where it is not even one."""
    n, free_bias = size.n_points, np.isinf(estimator.bias_variance)
    needed = _scaled(data, n) + (size.n_kernels + temporary_matrices(kernel, data)) * size.matrix
    one = footprint.exact(size) if free_bias else footprint.refits(size, 1)
    what = f"A refit without each of {n} rows, with {_classes(data)},"
    may = require(estimator, what, needed + one, "fit to fewer rows")
    left = may.n_bytes - needed - footprint.LEAST
    # Without a penalty on constants they are fitted one after the other.
    return footprint.MOST_REFITS if free_bias else footprint.affordable_refits(size, left)


def prediction_tile(estimator: Any, X: Any) -> int:
    """Kernel values that prediction at these points may compute at a time; refused where not even one row fits."""
    model = estimator.model_
    models = getattr(model, "models", (model,))
    points, n_new, n_train = models[0].points, X.shape[0], models[0].points.shape[0]
    n_classes = len(models) if len(models) > 1 else len(models[0].dual)
    n_bytes = 0.0 if isinstance(points, KernelRows) else bytes_of(points)
    needed = footprint.POINT_COPIES * n_bytes + 8.0 * PREDICTION_ARRAYS * n_new * n_classes
    features = models[0].specification.kernels[0].features(points[:1])
    if features is not None:
        needed += 16.0 * len(models) * len(models[0].dual) * features.shape[1]
    row = PREDICTION_BYTES * float(n_train)
    if estimator.memory_limit is None and needed + row <= SMALL_PREDICTION:
        return PREDICTION_ENTRIES
    what = f"Prediction of {n_classes} values for each of {n_new} rows, from {n_train} training rows,"
    may = require(estimator, what, needed + row, "predict fewer rows at a time")
    return int(np.clip((may.n_bytes - needed - footprint.LEAST) // PREDICTION_BYTES, n_train, PREDICTION_ENTRIES))
