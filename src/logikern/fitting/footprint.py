"""How many bytes each algorithm holds at its peak, from the sizes of its problem.

Kernel matrices and copies of the points, which all algorithms need, are not included: `estimators/_memory` adds them.
The numbers are upper bounds; `benchmarks/memory.py` compares them with peaks.
"""

from dataclasses import dataclass, replace

import numpy as np

from logikern.fitting.preconditioning.adaptive import LARGEST_WOODBURY, LEAST_RANK, preconditioner_bytes
from logikern.kernels.tiles import SMALLEST_TILE, TILE_ENTRIES
from logikern.numerics.parallel import TILE_ENTRIES as POINT_TILE_ENTRIES

DOUBLE = 8
# Arrays of the size of the coefficients, (B, C, n), that a solver holds at its peak.
NEWTON_ARRAYS, GRADIENT_ARRAYS, PAIRS_ARRAYS = 28, 20, 34
# Of the latent functions, (B, P, n), where these are not the classes.
LATENT_ARRAYS = 6
# Points whose kernel rows pairwise training computes together, and copies of them.
PAIRS_BLOCK, PAIRS_COPIES = 256, 3
# Arrays of one tile that a thread holds while it evaluates kernels, or their gradients, or passes over functions.
KERNEL_TILES, GRADIENT_TILES, POINT_TILES = 1, 4, 6
# Copies of the points that evaluating a kernel makes: centred, scaled, folded.
POINT_COPIES = 4
# Weightings that refits without single rows have in lock-step at most.
MOST_REFITS = 32
# Interpreter, allocator and threads: what even the smallest call takes.
LEAST = 8e6
# The preconditioner of a search may take the bytes of this many matrices and of all functions, and at least so many:
# more than the searches on satimage, segment and usps begin with, and about as much as those on letter.
CONDITIONING_MATRICES, LEAST_CONDITIONING = 3, 32e6
# Copies of a tile in which leave-one-out gathers rows of all blocks, for each thread.
GATHERED_TILES = 2
# Of the points, over the root of the number of functions: landmarks that leave-one-out takes at most, as in
# criteria/leave_one_out/criterion.
LANDMARK_SHARE = 0.35


@dataclass(frozen=True)
class Size:
    """What decides the memory of a problem.

    Parameters
    ----------
    n_points, n_classes : int
        The classes are the outputs of a regression.
    n_latent : int
        Latent functions: the nodes of a hierarchy, else the classes.
    n_functions : int
        That the likelihood tells apart: one for two classes, else the classes.
    has_null : bool
        Whether the curvature couples these functions: probabilities of three classes or more.
    coupled : bool
        Whether dense factors are those of all classes together.
    n_kernels : int, default=1
    n_blocks : int, default=1
        Different covariances among the classes.
    n_batch : int, default=1
        Weightings that are fitted in lock-step: folds.
    itemsize : int, default=8
        Bytes of a coefficient.
    n_threads : int, default=1
    """

    n_points: int
    n_classes: int
    n_latent: int
    n_functions: int
    has_null: bool
    coupled: bool
    n_kernels: int = 1
    n_blocks: int = 1
    n_batch: int = 1
    itemsize: int = DOUBLE
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
        """Matrices of n x n doubles in the covariance of all functions, and in that of those told apart."""
        return float(self.n_classes**2) if self.coupled else float(self.n_blocks + self.is_difference)


def functions(size: Size, n_arrays: int) -> float:
    """So many arrays of the size of the coefficients, and what latent functions add."""
    per_class = float(n_arrays) * size.n_classes
    latent = LATENT_ARRAYS * size.n_latent if size.n_latent > size.n_classes or size.n_kernels > 1 else 0
    return size.itemsize * size.n_batch * size.n_points * (per_class + latent)


def tiles(size: Size, n_each: int = KERNEL_TILES) -> float:
    """What threads hold while they work on tiles, so many for each tile of kernel values, and those of functions."""
    n, n_threads = size.n_points, size.n_threads
    of_kernel = min(n_threads * min(TILE_ENTRIES, max(SMALLEST_TILE, n * n // n_threads)), n * n)
    of_points = min(n_threads * POINT_TILE_ENTRIES, size.n_batch * size.n_classes * n)
    return DOUBLE * float(n_each * of_kernel + POINT_TILES * of_points)


def newton(size: Size) -> float:
    """Newton's method, with a preconditioner of the least rank."""
    return functions(size, NEWTON_ARRAYS) + tiles(size) + conditioning(size, LEAST_RANK)


def kernel_gradient(size: Size) -> float:
    """Conjugate gradients in the function space."""
    return functions(size, GRADIENT_ARRAYS) + tiles(size)


def pairs(size: Size) -> float:
    """Pairwise training without the rows that it keeps."""
    couplings = float(size.n_kernels + 1) * size.n_classes**2 + float(size.n_classes) * size.n_latent
    rows = PAIRS_COPIES * float(PAIRS_BLOCK) * size.n_kernels * size.n_points
    return functions(size, PAIRS_ARRAYS) + tiles(size) + DOUBLE * (2.0 * couplings + rows)


def cross_validation(size: Size) -> float:
    """Newton's method for all folds, the gradient of the criterion, and the preconditioner."""
    return functions(size, NEWTON_ARRAYS) + tiles(size, GRADIENT_TILES) + search_conditioning(size)


def conditioning(size: Size, rank: float) -> float:
    """The preconditioner of Newton's method, of a rank as far as that is possible."""
    rows = max(size.n_classes, size.n_latent)
    rank = min(rank, size.n_points, LARGEST_WOODBURY / rows)
    return float(preconditioner_bytes(rows, size.n_points, size.n_kernels, size.n_batch, rank))


def search_conditioning(size: Size) -> float:
    """The bound on the preconditioner of a search, which depends on the problem alone."""
    share = CONDITIONING_MATRICES * size.matrix + functions(size, NEWTON_ARRAYS)
    least = conditioning(size, LEAST_RANK)
    return max(least, min(conditioning(size, LARGEST_WOODBURY), max(LEAST_CONDITIONING, share)))


def exact(size: Size) -> float:
    """Newton's method with dense factors."""
    per_member = size.n_classes**2 if size.coupled else size.n_functions
    # For the null directions each thread has the inverse of one block beside its factor.
    at_once = size.n_classes**2 if size.coupled else min(size.n_threads, size.n_functions)
    temporary = at_once + 3 if size.has_null else 1
    matrices = size.n_matrices + size.n_batch * float(per_member) + temporary
    free_bias = DOUBLE * 4.0 * size.n_classes**2 * size.n_points
    return matrices * size.matrix + free_bias + functions(size, NEWTON_ARRAYS) + tiles(size)


def leave_one_out(size: Size) -> float:
    """The posterior covariance from dense factors; and afterwards refits without some points, at least one by one."""
    posterior = _posterior(size, 3 if size.has_null else 1) + functions(size, NEWTON_ARRAYS) + tiles(size)
    return max(posterior, refits(size, 1))


def leave_one_out_criterion(size: Size) -> float:
    """The same with its derivatives, or by landmarks where these are few; and the fit before it."""
    n, n_functions = float(size.n_points), size.n_functions
    rank = LANDMARK_SHARE * n / np.sqrt(n_functions)
    landmarks = _low_rank(size, rank) + DOUBLE * 3.0 * n_functions**2 * n * (rank + 1) + size.matrix
    dense = max(_posterior(size, 4 if size.has_null else 2), exact(size))
    extra = functions(size, NEWTON_ARRAYS) + tiles(size, GRADIENT_TILES)
    return extra + (dense if size.coupled else max(dense, landmarks))


def _posterior(size: Size, n_each: int) -> float:
    """So many matrices for each function, or each pair of coupled ones, and some more."""
    n_functions = float(size.n_functions)
    groups = DOUBLE * 6.0 * n_functions**2 * size.n_points + DOUBLE * GATHERED_TILES * size.n_threads * TILE_ENTRIES
    if size.coupled:
        return (n_each * n_functions**2 + 8.0 * n_functions + 8.0) * size.matrix + groups
    return (n_each * n_functions + size.n_matrices + (6.0 if size.has_null else 4.0)) * size.matrix + groups


def low_rank_leave_one_out(size: Size, rank: int, tile_entries: int) -> float:
    """The same for given landmarks of each kernel, some points at a time."""
    groups = DOUBLE * 6.0 * float(size.n_functions) ** 2 * size.n_points
    tile = DOUBLE * 5.0 * min(tile_entries, size.n_functions * size.n_points * _coordinates(size, rank))
    return _low_rank(size, rank) + tile + groups + functions(size, NEWTON_ARRAYS) + tiles(size)


def _coordinates(size: Size, rank: float) -> float:
    per_function = size.n_kernels if size.is_difference else 1
    return size.n_functions * (per_function * rank + 1.0)


def _low_rank(size: Size, rank: float) -> float:
    """Landmark rows and what is made of them, the factors of all functions, and Woodbury's matrix."""
    coordinates = _coordinates(size, rank)
    of_points = 3.0 * size.n_kernels * rank + 2.0 * coordinates
    return DOUBLE * (size.n_points * of_points + 3.0 * coordinates**2)


def refits(size: Size, n_batch: int) -> float:
    """Newton fits without each of so many points, in lock-step, with their preconditioner."""
    batch = replace(size, n_batch=n_batch)
    return functions(batch, NEWTON_ARRAYS) + tiles(batch) + search_conditioning(batch)


def affordable_refits(size: Size, n_bytes: float) -> int:
    """How many refits fit into so many bytes in lock-step; one at least."""
    batches = range(2, min(MOST_REFITS, size.n_points) + 1)
    return max((batch for batch in batches if refits(size, batch) <= n_bytes), default=1)
