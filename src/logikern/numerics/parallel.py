"""Work divided among threads of our own, each calling a single-threaded BLAS.

The BLAS divides one call at a time and waits for it. In between its threads spin, and compete with the threads of a
second BLAS in the same process. A fit makes many calls of moderate size, so they are divided here instead.
"""

import contextvars
import itertools
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from logikern.numerics.blas_hold import limit_this_thread, one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class TilePolicy:
    """Sizes of the pieces into which large work is cut, for the cache and for threads."""

    # Entries of a tile over all functions, and the minimum number of its points.
    function_entries: int = 2**19
    fewest_points: int = 256
    # Entries of a tile of kernel rows, 4 MB in float32: smaller tiles slow the matrix product down, larger ones leave
    # the cache between passes. A tile of less than `fewest_entries` is not worth a thread.
    kernel_entries: int = 2**20
    fewest_entries: int = 2**17
    # Columns or rows of a product below which a second thread takes longer to wake than to multiply.
    fewest_columns: int = 256
    fewest_rows: int = 64
    # Rows of a symmetric matrix that are multiplied at a time.
    product_rows: int = 512
    # Rows of a single-precision matrix that are cast to double at a time.
    summed_rows: int = 256
    # Rows of a tile where only one triangle is computed: small enough to skip nearly half of the matrix.
    triangle_rows: int = 128
    # Rows that are mirrored at a time; points whose diagonal derivative is computed at a time.
    mirror_rows: int = 64
    diagonal_points: int = 32
    # Sums of a product, each by one thread. A fixed number makes rounding independent of the number of threads.
    partial_sums: int = 8
    # Rows of a Cholesky tile. For a factor of 1500 rows on two threads, tiles of 128 take a tenth more CPU time and
    # tiles of 256 take the same time. Inverses take the same time with all three.
    cholesky_rows: int = 192
    # Sizes from which tiles beat LAPACK on one core. With two threads, the CPU time of the calling thread relative to
    # LAPACK is 1.0 for a factor of 1000 rows and 0.8 for 1500 rows; for an inverse, it is 0.85 with 800 rows and 0.7
    # with 1000 rows.
    factor_from: int = 1500
    inverse_from: int = 1000


TILES = TilePolicy()

# Threads that `for_each` may use in this thread; None outside of `own_threads`.
_share: contextvars.ContextVar[int | None] = contextvars.ContextVar("logikern_threads", default=None)


class _Pool:
    """The helper threads of this process. The pool grows to the largest number ever requested at once."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.executor: ThreadPoolExecutor | None = None
        self.size = 0

    def submit(self, n_tasks: int, work: Callable[[], None]) -> list[Future]:
        """Start tasks on as many threads as are available; without any, the caller does all the work."""
        tasks: list[Future] = []
        with self.lock:
            try:
                executor = self._executor(n_tasks)
                # NumPy's error state belongs to the context, not to the process.
                tasks.extend(executor.submit(contextvars.copy_context().run, work) for _ in range(n_tasks))
            except RuntimeError:  # the interpreter is about to end, or the system has no more threads
                self._close(cancel=True)
        return tasks

    def _executor(self, n_threads: int) -> ThreadPoolExecutor:
        if self.executor is None or self.size < n_threads:
            self._close(cancel=False)
            self.executor, self.size = ThreadPoolExecutor(n_threads, "logikern", limit_this_thread), n_threads
        return self.executor

    def _close(self, cancel: bool) -> None:
        """Let threads end after their last task; `for_each` finishes without cancelled tasks."""
        if self.executor is not None:
            self.executor.shutdown(wait=False, cancel_futures=cancel)
        self.executor, self.size = None, 0


_pool = _Pool()


def _forget_threads() -> None:
    """Start again in a forked child, which has no threads of its parent."""
    global _pool
    _pool = _Pool()
    _share.set(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@contextmanager
def own_threads(most: int | None = None) -> Iterator[None]:
    """A context in which the BLAS uses one thread, and `for_each` at most `most` of the threads that the BLAS had."""
    with one_blas_thread() as allowed:
        outer = _share.get()
        try:
            _share.set(min(limit for limit in (allowed, outer, most) if limit is not None))
            yield
        finally:
            _share.set(outer)


def n_threads() -> int:
    """The number of threads that `for_each` would use here."""
    return _share.get() or 1


def for_each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """[function(item) for item in items], on all threads that `own_threads` allows; nested calls are serial."""
    own = list(items)
    n_helpers = min(n_threads(), len(own)) - 1
    if n_helpers < 1:
        return [function(item) for item in own]
    results: dict[int, Result] = {}
    helpers: list[Future] = []
    numbers = iter(range(len(own)))

    def work() -> None:
        outer = _share.get()
        try:
            _share.set(1)
            for number in numbers:
                results[number] = function(own[number])
        except BaseException:
            deque(numbers, maxlen=0)  # consume the rest: no thread begins another item
            raise
        finally:
            _share.set(outer)

    try:
        helpers += _pool.submit(n_helpers, work)
        work()
    except BaseException:
        deque(numbers, maxlen=0)
        raise
    finally:
        # Helpers that have not begun are busy with another fit: do not wait for them.
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()
    return [results[number] for number in range(len(own))]


def point_tiles(shape: tuple[int, ...]) -> list[slice]:
    """The last axis of an array in pieces that stay in the cache: no step allocates an array of the whole size."""
    width = max(TILES.fewest_points, TILES.function_entries // max(1, math.prod(shape[:-1])))
    return slices(0, shape[-1], width)


def row_tiles(n_rows: int, n_columns: int) -> list[slice]:
    """The rows of a kernel matrix in tiles of about `kernel_entries`, smaller where threads would be idle."""
    entries = min(TILES.kernel_entries, max(TILES.fewest_entries, n_rows * n_columns // n_threads()))
    return slices(0, n_rows, max(1, entries // max(1, n_columns)))


def slices(start: int, stop: int, width: int) -> list[slice]:
    """The range from start to stop in pieces of one width; the last may be shorter."""
    return [slice(first, min(first + width, stop)) for first in range(start, stop, width)]


def even_slices(length: int, smallest: int = 1) -> list[slice]:
    """The range of a length in equal parts, at most one per thread, each of at least `smallest`."""
    n_parts = max(1, min(n_threads(), length // max(1, smallest)))
    edges = [length * part // n_parts for part in range(n_parts + 1)]
    return [slice(start, end) for start, end in itertools.pairwise(edges)]
