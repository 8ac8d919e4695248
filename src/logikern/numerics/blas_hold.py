"""Holds on the BLAS: while any thread has one, every BLAS of this process uses one thread.

OpenBLAS has one limit for the whole process. If each fit set and restored it, fits that overlap in several threads
would restore each other's limits, and the BLAS could be left at one thread. Holds are therefore counted: the first
one lowers the limit and the last one restores it, in any thread.
"""

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from threadpoolctl import ThreadpoolController

# Spellings of the names in the OpenBLAS builds of NumPy, SciPy and others.
OPENBLAS_AFFIXES = tuple(itertools.product(("", "scipy_"), ("", "64_", "_64")))


@dataclass(frozen=True)
class Library:
    """One BLAS and its number of threads."""

    path: str
    read: Callable[[], int]  # returns the number of threads
    write: Callable[[int], Any]  # sets it
    per_thread: bool  # whether each thread of the process has a limit of its own, as with MKL and OpenMP

    @property
    def scope(self) -> tuple[str, int | None]:
        """Identifies the limit that this thread would set."""
        return self.path, threading.get_ident() if self.per_thread else None


def find_libraries() -> list[Library]:
    """Every BLAS that is loaded now."""
    return [_library(found) for found in ThreadpoolController().select(user_api="blas").lib_controllers]


def _library(found: Any) -> Library:
    is_openblas = found.internal_api == "openblas"
    per_thread = found.internal_api == "mkl" or (is_openblas and found.threading_layer == "openmp")
    write = found.set_num_threads
    if is_openblas and not per_thread:
        # From version 3.8 on, threadpoolctl ignores all threads but the first that set a limit: the last fit to end
        # could not restore what the first one set. The function of the library itself has no such rule.
        names = (f"{prefix}openblas_set_num_threads{suffix}" for prefix, suffix in OPENBLAS_AFFIXES)
        write = next((getattr(found.dynlib, name) for name in names if hasattr(found.dynlib, name)), write)
    return Library(found.filepath, found.get_num_threads, write, per_thread)


@dataclass
class _Limit:
    """The limit of one library while it is held: its holders, and the number of threads to restore."""

    library: Library
    scope: tuple[str, int | None]
    before: int = 1
    holders: set[object] = field(default_factory=set)

    def lower(self, holder: object) -> None:
        self.holders.add(holder)
        seen = self.library.read()
        if seen != 1:  # also if other code set a new limit while it was held
            self.before = seen
            self.library.write(1)

    def restore(self) -> None:
        is_here = self.scope == self.library.scope  # the limit of another thread is out of reach
        if is_here and self.library.read() == 1:  # otherwise other code set a new limit, which stays
            self.library.write(self.before)


class _Limits:
    """All limits that are held in this process.

    Every method leaves a state from which `leave` restores all limits, wherever an interrupt ends it.
    """

    def __init__(self) -> None:
        # Reentrant: a signal handler or the garbage collector may enter again in the thread that has the lock.
        self.lock = threading.RLock()
        self.limits: dict[tuple[str, int | None], _Limit] = {}

    def enter(self, holder: object) -> int:
        """Lower all limits, and return the number of threads that they allowed before."""
        with self.lock:
            own = [self._limit(library) for library in find_libraries()]
            for limit in own:
                limit.lower(holder)
            return max((limit.before for limit in own), default=1)

    def _limit(self, library: Library) -> _Limit:
        return self.limits.setdefault(library.scope, _Limit(library, library.scope))

    def leave(self, holder: object) -> None:
        """Restore all limits that have no other holder."""
        with self.lock:
            for limit in self.limits.values():
                limit.holders.discard(holder)
            for scope, limit in list(self.limits.items()):
                if not limit.holders:
                    limit.restore()
                    self.limits.pop(scope, None)

    def abandon(self) -> None:
        """Restore the limits in a forked child, which has only the forking thread."""
        for limit in self.limits.values():
            limit.restore()


_limits = _Limits()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[int]:
    """Keep every BLAS at one thread; the value is the number of threads that was allowed before."""
    holder = object()
    try:
        yield _limits.enter(holder)
    finally:
        try:
            _limits.leave(holder)
        except BaseException:
            _limits.leave(holder)  # once more: an interrupt may have come before all limits were restored
            raise


def limit_this_thread() -> None:
    """Set the limits of the calling thread to one thread, permanently."""
    for library in find_libraries():
        if library.per_thread:
            library.write(1)


def _renew() -> None:
    """Give a forked child the limits from before all holds, without the holds of lost threads."""
    global _limits
    parent, _limits = _limits, _Limits()
    parent.abandon()


if hasattr(os, "register_at_fork"):
    # The lock ensures that no other thread is changing limits at the time of the fork.
    os.register_at_fork(
        before=lambda: _limits.lock.acquire(),
        after_in_parent=lambda: _limits.lock.release(),
        after_in_child=_renew,
    )
