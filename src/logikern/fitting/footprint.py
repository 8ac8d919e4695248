"""Upper bounds on the peak memory of each algorithm, in bytes, from the sizes of its problem.

Kernel matrices and copies of the points, which all algorithms need, are not included: `estimators/_memory` adds them.
"""

from dataclasses import dataclass, replace

import numpy as np

from logikern.fitting.pairwise import policy as pairwise
from logikern.fitting.preconditioning import adaptive
from logikern.numerics.parallel import TILES


@dataclass(frozen=True)
class MemoryModel:
    """Counts and bounds behind the estimates; `benchmarks/memory.py` compares them with measured peaks."""

    # Arrays of the size of the coefficients, (B, C, n), that a solver holds at its peak.
    newton_arrays: int = 28
    gradient_arrays: int = 20
    pairs_arrays: int = 34
    # Arrays of latent functions, (B, P, n), if latent functions differ from class functions.
    latent_arrays: int = 6
    # Copies of the kernel rows of a block in pairwise ascent.
    row_copies: int = 3
    # Arrays of one tile that a thread holds while it evaluates kernels, their gradients, or passes over functions.
    kernel_tiles: int = 1
    gradient_tiles: int = 4
    function_tiles: int = 6
    # Copies of the points for the evaluation of a kernel: centred, scaled, folded.
    point_copies: int = 4
    # Largest number of weightings in lock-step for refits without single rows.
    most_refits: int = 32
    # Bytes of the smallest call: interpreter, allocator and threads.
    overhead: float = 8e6
    # The preconditioner of a search may take the bytes of this many matrices and of all functions, and at least
    # `least_conditioning`. This exceeds the initial size in searches on satimage, segment and usps, and is close to
    # the initial size on letter.
    conditioning_matrices: int = 3
    least_conditioning: float = 32e6
    # Copies of a tile in which leave-one-out gathers rows of all blocks, for each thread.
    gathered_tiles: int = 2
    # Largest number of landmarks of leave-one-out, in units of the points over the root of the number of functions,
    # as in criteria/leave_one_out/criterion.
    landmark_fraction: float = 0.35


MODEL = MemoryModel()
DOUBLE = 8


@dataclass(frozen=True)
class Size:
    """The sizes that determine the memory of a problem."""

    n_points: int
    n_classes: int  # the outputs of a regression
    n_latent: int  # latent functions: the nodes of a hierarchy, else the classes
    n_functions: int  # functions that the likelihood distinguishes: one for two classes, else the classes
    has_null: bool  # whether the curvature couples these functions: probabilities of three classes or more
    coupled: bool  # whether one dense factor covers all classes together
    n_kernels: int = 1
    n_blocks: int = 1  # different covariances among the classes
    n_batch: int = 1  # weightings that are fitted in lock-step: folds
    itemsize: int = DOUBLE  # bytes of a coefficient
    n_threads: int = 1

    @property
    def matrix(self) -> float:
        """Bytes of one matrix of n x n doubles."""
        return DOUBLE * float(self.n_points) ** 2

    @property
    def is_difference(self) -> bool:
        """Whether two classes count as one function."""
        return self.n_functions < self.n_classes

    @property
    def n_matrices(self) -> float:
        """Matrices of n x n doubles in the covariances of the classes, and of the difference of two classes."""
        return float(self.n_classes**2) if self.coupled else float(self.n_blocks + self.is_difference)


def functions(size: Size, n_arrays: int) -> float:
    """Some arrays of the size of the coefficients, and arrays of latent functions."""
    per_class = float(n_arrays) * size.n_classes
    latent = MODEL.latent_arrays * size.n_latent if size.n_latent > size.n_classes or size.n_kernels > 1 else 0
    return size.itemsize * size.n_batch * size.n_points * (per_class + latent)


def tiles(size: Size, n_each: int = MODEL.kernel_tiles) -> float:
    """Tiles of all threads: `n_each` of kernel values, and tiles of functions."""
    n, n_threads = size.n_points, size.n_threads
    of_kernel = min(n_threads * min(TILES.kernel_entries, max(TILES.fewest_entries, n * n // n_threads)), n * n)
    of_points = min(n_threads * TILES.function_entries, size.n_batch * size.n_classes * n)
    return DOUBLE * float(n_each * of_kernel + MODEL.function_tiles * of_points)


def newton(size: Size) -> float:
    """Newton's method, with a preconditioner of the least rank."""
    return functions(size, MODEL.newton_arrays) + tiles(size) + conditioning(size, adaptive.POLICY.least_rank)


def kernel_gradient(size: Size) -> float:
    """Conjugate gradients in the function space."""
    return functions(size, MODEL.gradient_arrays) + tiles(size)


def pairs(size: Size) -> float:
    """Pairwise ascent without its cached rows."""
    couplings = float(size.n_kernels + 1) * size.n_classes**2 + float(size.n_classes) * size.n_latent
    rows = MODEL.row_copies * float(pairwise.POLICY.block) * size.n_kernels * size.n_points
    return functions(size, MODEL.pairs_arrays) + tiles(size) + DOUBLE * (2.0 * couplings + rows)


def cross_validation(size: Size) -> float:
    """Newton's method for all folds, the gradient of the criterion, and the preconditioner."""
    return functions(size, MODEL.newton_arrays) + tiles(size, MODEL.gradient_tiles) + search_conditioning(size)


def conditioning(size: Size, rank: float) -> float:
    """The preconditioner of Newton's method, of a rank within its bounds."""
    rows = max(size.n_classes, size.n_latent)
    rank = min(rank, size.n_points, adaptive.POLICY.largest_size / rows)
    return float(adaptive.preconditioner_bytes(rows, size.n_points, size.n_kernels, size.n_batch, rank))


def search_conditioning(size: Size) -> float:
    """The bound on the preconditioner of a search; it depends on the problem alone."""
    usual = MODEL.conditioning_matrices * size.matrix + functions(size, MODEL.newton_arrays)
    least = conditioning(size, adaptive.POLICY.least_rank)
    return max(least, min(conditioning(size, adaptive.POLICY.largest_size), max(MODEL.least_conditioning, usual)))


def exact(size: Size) -> float:
    """Newton's method with dense factors."""
    per_member = size.n_classes**2 if size.coupled else size.n_functions
    # With null directions, each thread also holds the inverse of one block.
    at_once = size.n_classes**2 if size.coupled else min(size.n_threads, size.n_functions)
    temporary = at_once + 3 if size.has_null else 1
    matrices = size.n_matrices + size.n_batch * float(per_member) + temporary
    free_bias = DOUBLE * 4.0 * size.n_classes**2 * size.n_points
    return matrices * size.matrix + free_bias + functions(size, MODEL.newton_arrays) + tiles(size)


def leave_one_out(size: Size) -> float:
    """The posterior covariance from dense factors, then refits without some points, at least one at a time."""
    posterior = _posterior(size, 3 if size.has_null else 1) + functions(size, MODEL.newton_arrays) + tiles(size)
    return max(posterior, refits(size, 1))


def leave_one_out_criterion(size: Size) -> float:
    """Leave-one-out with its derivatives, by landmarks if they are few, and the preceding fit."""
    n, n_functions = float(size.n_points), size.n_functions
    rank = MODEL.landmark_fraction * n / np.sqrt(n_functions)
    landmarks = _low_rank(size, rank) + DOUBLE * 3.0 * n_functions**2 * n * (rank + 1) + size.matrix
    dense = max(_posterior(size, 4 if size.has_null else 2), exact(size))
    extra = functions(size, MODEL.newton_arrays) + tiles(size, MODEL.gradient_tiles)
    return extra + (dense if size.coupled else max(dense, landmarks))


def _posterior(size: Size, n_each: int) -> float:
    """`n_each` matrices for each function, or for each pair of coupled functions, plus some more."""
    n_functions = float(size.n_functions)
    gathered = float(MODEL.gathered_tiles * size.n_threads * TILES.kernel_entries)
    groups = DOUBLE * (6.0 * n_functions**2 * size.n_points + gathered)
    if size.coupled:
        return (n_each * n_functions**2 + 8.0 * n_functions + 8.0) * size.matrix + groups
    return (n_each * n_functions + size.n_matrices + (6.0 if size.has_null else 4.0)) * size.matrix + groups


def low_rank_leave_one_out(size: Size, rank: int, tile_entries: int) -> float:
    """Leave-one-out for given landmarks of each kernel, some points at a time."""
    groups = DOUBLE * 6.0 * float(size.n_functions) ** 2 * size.n_points
    tile = DOUBLE * 5.0 * min(tile_entries, size.n_functions * size.n_points * _coordinates(size, rank))
    return _low_rank(size, rank) + tile + groups + functions(size, MODEL.newton_arrays) + tiles(size)


def _coordinates(size: Size, rank: float) -> float:
    per_function = size.n_kernels if size.is_difference else 1
    return size.n_functions * (per_function * rank + 1.0)


def _low_rank(size: Size, rank: float) -> float:
    """Landmark rows and their transforms, the factors of all functions, and Woodbury's matrix."""
    coordinates = _coordinates(size, rank)
    of_points = 3.0 * size.n_kernels * rank + 2.0 * coordinates
    return DOUBLE * (size.n_points * of_points + 3.0 * coordinates**2)


def refits(size: Size, n_batch: int) -> float:
    """Newton fits without single points, `n_batch` in lock-step, with their preconditioner."""
    batch = replace(size, n_batch=n_batch)
    return functions(batch, MODEL.newton_arrays) + tiles(batch) + search_conditioning(batch)


def affordable_refits(size: Size, n_bytes: float) -> int:
    """The number of refits in lock-step that fit into `n_bytes`; at least one."""
    batches = range(2, min(MODEL.most_refits, size.n_points) + 1)
    return max((batch for batch in batches if refits(size, batch) <= n_bytes), default=1)
