"""The BLAS of this process: its number of threads, and a process in which it is allowed three."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy  # noqa: F401  loads a BLAS
import scipy.linalg  # noqa: F401  and another one
from threadpoolctl import ThreadpoolController, threadpool_info


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@contextmanager
def three_blas_threads() -> Iterator[None]:
    """As on a machine with three cores: no thread has set a limit."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    before = [library.num_threads for library in libraries]
    try:
        _set_limits(libraries, [3] * len(libraries))
        yield
    finally:
        _set_limits(libraries, before)


def _set_limits(libraries: list, limits: list[int]) -> None:
    for library, limit in zip(libraries, limits, strict=True):
        _clear_owner(library)
        library.set_num_threads(limit)
        _clear_owner(library)


def _clear_owner(library) -> None:
    """From version 3.8 on, threadpoolctl obeys only the thread that set a limit first."""
    clear = getattr(library, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
