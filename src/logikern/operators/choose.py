"""How a kernel's products are computed: the only place that decides it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from logikern.kernels.base import Kernel
from logikern.kernels.metrics import Metric
from logikern.kernels.stationary import DistanceKernel
from logikern.numerics.free_memory import available_memory
from logikern.numerics.outcome import Indices
from logikern.numerics.parallel import for_each
from logikern.operators.base import KernelOperator, count_points, in_precision
from logikern.operators.dense import dense
from logikern.operators.isotropic import Distances, distances_at, is_isotropic, isotropic, metric_rates
from logikern.operators.landmarks import approximate, random_landmarks
from logikern.operators.linear import feature_product
from logikern.operators.neighbourhoods import Neighbourhoods
from logikern.operators.tiled import tiled


@dataclass(frozen=True)
class OperatorPolicy:
    """When products are in single precision, and when matrices are stored."""

    # Points from which on "auto" stores single precision: products take half the time, and solvers verify the result
    # by kernel values in double precision.
    single_from: int = 2000
    # Parts of the allowed memory for kernel matrices, or for a tile of one.
    matrix_fraction: float = 0.6
    tile_fraction: float = 0.15


POLICY = OperatorPolicy()
MakeOperator: TypeAlias = Callable[[Kernel, Any, np.dtype, float], KernelOperator]


@dataclass(frozen=True)
class Choice:
    """How all operators of a model are made, and why.

    Parameters
    ----------
    name : str
        One of `OPERATORS`, or the name of the user's function.
    dtype : numpy dtype
        Dtype of the products.
    reason : str
        Explanation as a sentence.
    memory : float
        Bytes that the model may use.
    spare_memory : float, default=inf
        Bytes for each operator that may hold a matrix in double precision beside the one in single precision.
    own : callable or None, default=None
        The user's function (kernel, X, dtype, memory) -> KernelOperator, X in double precision.
    """

    name: str
    dtype: np.dtype
    reason: str
    memory: float
    spare_memory: float = np.inf
    own: MakeOperator | None = None

    def points(self, X: Any, keep_distances: bool = False, layout: "BlockLayout | None" = None) -> "PointSet":
        """The points, ready to be bound to one kernel after the other; a layout of blocks approximates matrices."""
        return PointSet(self, X, keep_distances, layout)


@dataclass(frozen=True, eq=False)
class BlockLayout:
    """Blocks of consecutive points inside which kernel matrices are exact, and the rank of what couples them."""

    edges: Indices  # (n_blocks + 1,): block b has the points from edges[b] to edges[b + 1]
    rank: int = 0  # landmarks; 0 for independent blocks
    seed: int = 0  # of the landmarks


@dataclass(frozen=True, eq=False)
class PointSet:
    """Points to which kernels are bound; distances are computed once if several kernels need them."""

    choice: Choice
    X: Any
    # Whether distances are kept: worth a second matrix in memory only if more than one kernel is bound.
    keep_distances: bool
    layout: BlockLayout | None = None  # None for exact matrices
    _distances: dict[Metric, Distances] = field(default_factory=dict, repr=False)
    # Chosen once: a search needs a smooth criterion.
    _landmarks: list[Indices] = field(default_factory=list, repr=False)

    def bind(self, kernel: Kernel) -> KernelOperator:
        """The operator of one kernel on the points."""
        choice = self.choice
        if self.layout is not None:
            return self._bind_blocks(kernel, self.layout)
        if choice.own is not None:
            return choice.own(kernel, self.in_double, choice.dtype, choice.memory)
        return OPERATORS[choice.name](self, kernel)

    def _bind_blocks(self, kernel: Kernel, layout: BlockLayout) -> KernelOperator:
        blocks = tuple(for_each(lambda points: points.bind(kernel), self._blocks))
        operator = Neighbourhoods(kernel, self.in_double, layout.edges, blocks)
        if not layout.rank:
            return operator
        exact = tiled(kernel, self.in_double, np.dtype(np.float64), POLICY.tile_fraction * self.choice.memory)
        if not self._landmarks:
            self._landmarks.append(random_landmarks(exact, layout.rank, layout.seed))
        return replace(operator, coupling=approximate(exact, self._landmarks[0]))

    @cached_property
    def _blocks(self) -> "tuple[PointSet, ...]":
        """The points of each block."""
        assert self.layout is not None
        n_blocks = len(self.layout.edges) - 1
        choice = replace(self.choice, spare_memory=self.choice.spare_memory / n_blocks)
        parts = pairwise(self.layout.edges.tolist())
        return tuple(PointSet(choice, self.X[start:stop], self.keep_distances) for start, stop in parts)

    @cached_property
    def in_double(self) -> Any:
        """The points in double precision, whatever the products: distances keep their digits."""
        return in_precision(self.X, np.dtype(np.float64))

    def distances_for(self, kernel: DistanceKernel) -> tuple[Distances, ...]:
        """Distances of all pairs in each metric of the kernel, recomputed only if a rate is too large for them.

        Distances in other metrics are dropped.
        """
        known = dict(self._distances)
        self._distances.clear()
        for metric, rate in zip(kernel.metrics, metric_rates(kernel), strict=True):
            if metric not in known or not known[metric].serve(rate):
                known.pop(metric, None)  # its memory is needed
                known[metric] = distances_at(metric, rate, self.in_double, self.choice.dtype)
            self._distances[metric] = known[metric]
        return tuple(self._distances.values())


def _dense(points: PointSet, kernel: Kernel) -> KernelOperator:
    X, choice = points.in_double, points.choice
    if points.keep_distances and is_isotropic(kernel):
        return isotropic(kernel, X, points.distances_for(kernel), choice.spare_memory)
    return dense(kernel, X, choice.dtype, choice.spare_memory)


def _tiled(points: PointSet, kernel: Kernel) -> KernelOperator:
    return tiled(kernel, points.in_double, points.choice.dtype, POLICY.tile_fraction * points.choice.memory)


def _features(points: PointSet, kernel: Kernel) -> KernelOperator:
    return feature_product(kernel, points.in_double, points.choice.dtype)


OPERATORS: dict[str, Callable[[PointSet, Kernel], KernelOperator]] = {
    "dense": _dense,
    "tiled": _tiled,
    "features": _features,
}


def choose(
    kernels: tuple[Kernel, ...],
    X: Any,
    operator: str | MakeOperator = "auto",
    precision: str = "auto",
    memory_limit: float | None = None,
    n_matrices: int | None = None,
) -> Choice:
    """Choose operators from the kernels, the number of points, sparsity and memory.

    Parameters
    ----------
    kernels : tuple of Kernel
        One per operator of the model.
    X : the points
    operator : {"auto", "dense", "tiled", "features"} or callable, default="auto"
    precision : {"auto", "single", "double"}, default="auto"
    memory_limit : float or None, default=None
        Bytes; None uses the free memory of the machine.
    n_matrices : int or None, default=None
        Matrices in memory at once; None counts one for each kernel, and one for shared distances.
    """
    n = count_points(X)
    memory = available_memory() if memory_limit is None else memory_limit
    single = precision == "single" or (precision == "auto" and n >= POLICY.single_from)
    dtype = np.dtype(np.float32 if single else np.float64)
    if not isinstance(operator, str):
        name = getattr(operator, "__name__", type(operator).__name__)
        return Choice(name, dtype, f"Products are computed by {name}, as requested.", memory, own=operator)
    n_matrices = n_matrices or len(kernels) + (len(kernels) > 1)
    matrices, room = n_matrices * n * n * dtype.itemsize, POLICY.matrix_fraction * memory
    if operator == "features" and any(kernel.features(X[:1]) is None for kernel in kernels):
        raise ValueError(
            "`operator='features'` needs kernels with finitely many known features, "
            f"but the kernels are {kernels!r}. Pass 'dense', 'tiled' or 'auto'."
        )
    if operator != "auto":
        spare = max(0.0, room - matrices) / len(kernels)
        return Choice(operator, dtype, f"Products are {operator}, as requested.", memory, spare)
    if _features_pay(kernels, X):
        return Choice("features", dtype, "The kernel has few or sparse features: products use them.", memory)
    if matrices <= room:
        reason = f"{_describe(n_matrices, matrices)}: kept in memory."
        return Choice("dense", dtype, reason, memory, (room - matrices) / len(kernels))
    reason = (
        f"{_describe(n_matrices, matrices)} exceed {POLICY.matrix_fraction:.0%} of the {_size(memory)} allowed: "
        "kernel values are recomputed tile by tile in every product."
    )
    return Choice("tiled", dtype, reason, memory)


def _describe(n_matrices: int, total: float) -> str:
    return f"{n_matrices} kernel {'matrix' if n_matrices == 1 else 'matrices'} of {_size(total)} in all"


def _features_pay(kernels: tuple[Kernel, ...], X: Any) -> bool:
    """Whether two passes over the features cost less than one over the matrix."""
    features = kernels[0].features(X[:1])
    if features is None or len(kernels) > 1 or kernels[0].log_parameters.size:
        return False
    stored = X.nnz if hasattr(X, "nnz") else X.shape[0] * features.shape[1]
    return bool(2 * stored <= X.shape[0] ** 2)


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"
