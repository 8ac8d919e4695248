"""Work shared among threads of our own, each of which calls a BLAS of one thread.

The BLAS divides one call at a time, waits for it, and keeps its threads spinning in between, against those of a
second BLAS in the same process. A fit makes many calls of moderate size, so they are divided here instead.
"""

import contextvars
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from logikern.numerics.blas_hold import limit_this_thread, one_blas_thread

TILE_ENTRIES = 2**19
SMALLEST_TILE = 256

Item = TypeVar("Item")
Result = TypeVar("Result")

# Threads that `for_each` may use in this thread; None outside of `own_threads`.
_share: contextvars.ContextVar[int | None] = contextvars.ContextVar("logikern_threads", default=None)


class _Pool:
    """The threads of this process that help, as many as were ever asked for at once."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.executor: ThreadPoolExecutor | None = None
        self.size = 0

    def submit(self, n_tasks: int, work: Callable[[], None]) -> list[Future]:
        """Start tasks, or fewer where no threads are to be had: without any, the caller does all the work."""
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
        """Threads end after their last task; `for_each` finishes without tasks that are cancelled."""
        if self.executor is not None:
            self.executor.shutdown(wait=False, cancel_futures=cancel)
        self.executor, self.size = None, 0


_pool = _Pool()


def _forget_threads() -> None:
    """Begin anew in a forked child, which has none of its parent's threads."""
    global _pool
    _pool = _Pool()
    _share.set(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@contextmanager
def own_threads(most: int | None = None) -> Iterator[None]:
    """Inside, the BLAS keeps to one thread and `for_each` uses as many as the BLAS was allowed before.

    Parameters
    ----------
    most : int or None, default=None
        A smaller number of threads, if there is one to keep to.
    """
    with one_blas_thread() as allowed:
        outer = _share.get()
        try:
            _share.set(min(limit for limit in (allowed, outer, most) if limit is not None))
            yield
        finally:
            _share.set(outer)


def n_threads() -> int:
    """How many threads `for_each` would use here."""
    return _share.get() or 1


def for_each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """[function(item) for item in items], by all threads that `own_threads` gives; one inside another is serial."""
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
            deque(numbers, maxlen=0)  # takes all that are left: no thread begins anything more
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
        # Helpers that have not begun are busy with another fit: there is nothing left to wait for.
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()
    return [results[number] for number in range(len(own))]


def point_tiles(shape: tuple[int, ...]) -> list[slice]:
    """The last axis of an array in pieces that stay in the cache: no step makes an array of the whole size."""
    n_rows = 1
    for length in shape[:-1]:
        n_rows *= length
    width = max(SMALLEST_TILE, TILE_ENTRIES // max(1, n_rows))
    return [slice(start, min(start + width, shape[-1])) for start in range(0, shape[-1], width)]


def shares(length: int, smallest: int = 1) -> list[slice]:
    """The range of a length cut into one even part per thread, none smaller than `smallest`."""
    n_parts = max(1, min(n_threads(), length // max(1, smallest)))
    edges = [length * part // n_parts for part in range(n_parts + 1)]
    return [slice(start, end) for start, end in itertools.pairwise(edges)]
