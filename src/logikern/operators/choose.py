"""How products with a kernel matrix are computed: the only place where this is decided."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
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
from logikern.operators.fourier import ModePlan, has_modes, require_finufft
from logikern.operators.isotropic import Distances, distances_at, is_isotropic, isotropic, metric_rates
from logikern.operators.landmarks import approximate, random_landmarks
from logikern.operators.linear import feature_product
from logikern.operators.neighbourhoods import Neighbourhoods
from logikern.operators.sparse import PairCount, has_near_pairs
from logikern.operators.tiled import tiled


@dataclass(frozen=True)
class OperatorPolicy:
    """When products are in single precision, and when matrices are stored."""

    # Points from which on "auto" stores single precision: products take half the time, and solvers verify the result
    # by kernel values in double precision.
    single_from: int = 2000
    # Fractions of the allowed memory for kernel matrices, and for a tile of a matrix.
    matrix_fraction: float = 0.6
    tile_fraction: float = 0.15
    # Points from which on "sparse", "fourier" and "fast" may replace exact products. For fewer points, as in a
    # search, a stored matrix is as fast: 0.7 ms for 3000 points and 1.5 ms for 4000, Fourier modes 0.9 and 1.0 ms.
    fast_from: int = 4000


POLICY = OperatorPolicy()


@dataclass(frozen=True)
class FastSum:
    """A way to approximate products."""

    is_possible: Callable[[Kernel, Any], bool]  # whether it applies to a kernel and points
    plan: Callable[[Any, Any], "PairCount | ModePlan"]  # its costs, and then the operator
    needs: str  # what it applies to, for error messages


FAST_SUMS = {
    "fourier": FastSum(has_modes, ModePlan, "a Gaussian, Matern 3/2 or 5/2 kernel on at most three numeric inputs"),
    "sparse": FastSum(
        has_near_pairs, PairCount, "a kernel that is a function of one distance, on a dense table of numbers"
    ),
}
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
        Bytes for each operator that may hold a matrix in double precision in addition to the one in single precision.
    own : callable or None, default=None
        The user's function (kernel, X, dtype, memory) -> KernelOperator, X in double precision.
    exact : {"dense", "tiled"}, default="tiled"
        How products are computed where approximations are not faster.
    fast_memory : float, default=inf
        Bytes for each operator of fast sums.
    """

    name: str
    dtype: np.dtype
    reason: str
    memory: float
    spare_memory: float = np.inf
    own: MakeOperator | None = None
    exact: str = "tiled"
    fast_memory: float = np.inf

    def points(self, X: Any, keep_distances: bool = False, layout: "BlockLayout | None" = None) -> "PointSet":
        """The points, ready to be bound to kernels; with a layout of blocks, matrices are approximated."""
        return PointSet(self, X, keep_distances, layout)


@dataclass(frozen=True, eq=False)
class BlockLayout:
    """Blocks of consecutive points within which kernel matrices are exact, and the rank of their coupling."""

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
        """The points in double precision, whatever the precision of the products.

        Distances therefore do not lose accuracy.
        """
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


def _fast(points: PointSet, kernel: Kernel, names: Sequence[str] = tuple(FAST_SUMS)) -> KernelOperator:
    """The cheapest of some fast sums that fits in memory, or exact products where these are cheaper."""
    X, choice = points.in_double, points.choice
    n = count_points(X)
    best, fewest = None, float(n) ** 2
    for name in names if n >= POLICY.fast_from else ():
        if not FAST_SUMS[name].is_possible(kernel, X):
            continue
        found = FAST_SUMS[name].plan(kernel, X)
        if found.n_values < fewest and found.n_bytes(choice.dtype) <= choice.fast_memory:
            best, fewest = found, found.n_values
    return OPERATORS[choice.exact](points, kernel) if best is None else best.bind(choice.dtype)


OPERATORS: dict[str, Callable[[PointSet, Kernel], KernelOperator]] = {
    "dense": _dense,
    "tiled": _tiled,
    "features": _features,
    "sparse": partial(_fast, names=("sparse",)),
    "fourier": partial(_fast, names=("fourier",)),
    "fast": _fast,
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
    operator : {"auto", "dense", "tiled", "features", "sparse", "fourier", "fast"} or callable, default="auto"
    precision : {"auto", "single", "double"}, default="auto"
    memory_limit : float or None, default=None
        Bytes; None uses the free memory of the machine.
    n_matrices : int or None, default=None
        Matrices in memory at once; None counts one for each kernel, and one for shared distances.
    """
    n = count_points(X)
    memory = available_memory() if memory_limit is None else memory_limit
    # Fourier modes are always in double precision.
    single = precision == "single" or (precision == "auto" and n >= POLICY.single_from and operator != "fourier")
    dtype = np.dtype(np.float32 if single else np.float64)
    if not isinstance(operator, str):
        name = getattr(operator, "__name__", type(operator).__name__)
        return Choice(name, dtype, f"Products are computed by {name}, as requested.", memory, own=operator)
    n_matrices = n_matrices or len(kernels) + (len(kernels) > 1)
    matrices, room = n_matrices * n * n * dtype.itemsize, POLICY.matrix_fraction * memory
    if operator == "features" and any(kernel.features(X[:1]) is None for kernel in kernels):
        raise ValueError(
            "`operator='features'` needs kernels with an explicit, finite-dimensional feature map, but the kernels "
            f"are {kernels!r}. Pass 'dense', 'tiled' or 'auto'."
        )
    _check_fast(operator, kernels, X)
    exact, spare = "dense" if matrices <= room else "tiled", max(0.0, room - matrices) / len(kernels)
    if operator != "auto":
        reason = _requested(operator, n)
        return Choice(operator, dtype, reason, memory, spare, exact=exact, fast_memory=room / n_matrices)
    if _features_pay(kernels, X):
        return Choice("features", dtype, "Products use the features of the kernel, which are few or sparse.", memory)
    if exact == "dense":
        reason = f"{_describe(n_matrices, matrices)}: kept in memory."
        return Choice("dense", dtype, reason, memory, spare)
    exceeds = f"{_describe(n_matrices, matrices)}, above {POLICY.matrix_fraction:.0%} of the {_size(memory)} allowed"
    if n >= POLICY.fast_from and all(_is_fast(kernel, X) for kernel in kernels):
        how = "as sums over nearby points or Fourier modes, or tile by tile where that is faster"
        reason = f"{exceeds}: products are computed {how}."
        return Choice("fast", dtype, reason, memory, fast_memory=room / n_matrices)
    return Choice("tiled", dtype, f"{exceeds}: kernel values are recomputed tile by tile in every product.", memory)


def _is_fast(kernel: Kernel, X: Any) -> bool:
    return any(own.is_possible(kernel, X) for own in FAST_SUMS.values())


def _check_fast(operator: str, kernels: tuple[Kernel, ...], X: Any) -> None:
    """Reject fast sums that the kernels do not allow, or whose library is missing."""
    if operator == "fourier":
        require_finufft()
    wanted = [operator] if operator in FAST_SUMS else list(FAST_SUMS) if operator == "fast" else []
    if wanted and not all(any(FAST_SUMS[name].is_possible(kernel, X) for name in wanted) for kernel in kernels):
        needs = ", or ".join(FAST_SUMS[name].needs for name in wanted)
        raise ValueError(
            f"`operator={operator!r}` needs {needs}, but the kernels are {kernels!r} and the points have the shape "
            f"{getattr(X, 'shape', (count_points(X),))}. Pass 'dense', 'tiled' or 'auto'."
        )


def _requested(operator: str, n_points: int) -> str:
    """Whether a requested operator is used, as a sentence; exact products replace fast sums where they cost less."""
    if operator not in (*FAST_SUMS, "fast"):
        return f"Products are computed with operator={operator!r}, as requested."
    if n_points < POLICY.fast_from:
        why = f"{operator} sums need at least {POLICY.fast_from} rows to be faster, but there are {n_points}"
        return f"Products are exact: {why}."
    return f"Products are computed as {operator} sums, as requested, or exactly where that is cheaper."


def _describe(n_matrices: int, total: float) -> str:
    if n_matrices == 1:
        return f"1 kernel matrix of {_size(total)}"
    return f"{n_matrices} kernel matrices of {_size(total)} in total"


def _features_pay(kernels: tuple[Kernel, ...], X: Any) -> bool:
    """Whether two passes over the features cost less than one over the matrix."""
    features = kernels[0].features(X[:1])
    if features is None or len(kernels) > 1 or kernels[0].log_parameters.size:
        return False
    stored = X.nnz if hasattr(X, "nnz") else X.shape[0] * features.shape[1]
    return bool(2 * stored <= X.shape[0] ** 2)


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"
