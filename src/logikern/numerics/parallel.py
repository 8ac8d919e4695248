"""Work shared among threads of our own, each of which calls a BLAS of one thread.

The BLAS divides one call at a time, waits for it, and keeps its threads spinning in between, against those of a
second BLAS in the same process. What a fit does is many calls of middling size, so they are divided here instead.
"""

import contextvars
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

TILE_ENTRIES = 2**19
SMALLEST_TILE = 256

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Crew:
    """The threads of this process, and the hold on its BLAS while they are at work."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.local = threading.local()
        self.n_holds = 0
        self.n_threads = 1
        self.limit: Any = None
        self.pool: ThreadPoolExecutor | None = None
        self.pool_size = 0

    def hold(self) -> None:
        """The first to come limits the BLAS: with two fits at once each must not restore the limit of the other."""
        with self.lock:
            self.n_holds += 1
            if self.n_holds > 1:
                return
            controller = ThreadpoolController().select(user_api="blas")
            self.n_threads = max((library["num_threads"] for library in controller.info()), default=1)
            self.limit = controller.limit(limits=1)

    def release(self) -> None:
        with self.lock:
            self.n_holds -= 1
            if self.n_holds == 0:
                self.limit.restore_original_limits()
                self.n_threads, self.limit = 1, None

    def submit(self, n_tasks: int, work: Callable[[], None]) -> list[Future]:
        with self.lock:
            if self.pool is None or self.pool_size < n_tasks:
                self.pool, self.pool_size = ThreadPoolExecutor(n_tasks, "logikern"), n_tasks
            # NumPy's error state belongs to the context, not to the process.
            return [self.pool.submit(contextvars.copy_context().run, work) for _ in range(n_tasks)]


_crew = _Crew()


def _forget_threads() -> None:
    """A forked child has none of its parent's threads."""
    global _crew
    _crew = _Crew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@contextmanager
def own_threads() -> Iterator[None]:
    """Inside, the BLAS keeps to one thread and `for_each` uses as many as the BLAS was allowed before."""
    crew = _crew
    crew.hold()
    try:
        yield
    finally:
        crew.release()


def n_threads() -> int:
    """How many threads `for_each` would use here."""
    return 1 if getattr(_crew.local, "busy", False) else _crew.n_threads


def for_each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """[function(item) for item in items], by all threads that `own_threads` gives; one inside another is serial."""
    own = list(items)
    n_helpers = min(n_threads(), len(own)) - 1
    if n_helpers < 1:
        return [function(item) for item in own]
    results: dict[int, Result] = {}
    numbers = itertools.count()
    local = _crew.local

    def work() -> None:
        local.busy = True
        try:
            while (number := next(numbers)) < len(own):
                results[number] = function(own[number])
        except BaseException:
            for _ in zip(range(len(own)), numbers, strict=False):
                pass  # nobody begins anything more
            raise
        finally:
            local.busy = False

    helpers = _crew.submit(n_helpers, work)
    try:
        work()
    finally:
        wait(helpers)
    for helper in helpers:
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
