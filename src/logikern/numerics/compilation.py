"""Compilation of loops in plain Python."""

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any


def compile_together(functions: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """Compile some functions of one module and return the last; cached on disk if possible.

    The compiler is slow to import, so it is imported here. Functions find each other by name, so each gets a
    namespace with compiled versions of the functions before it. Options are passed to `numba.njit`.
    """
    from numba import njit

    namespace = dict(functions[-1].__globals__)
    for function in functions:
        own = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
        own.__qualname__, own.__module__ = function.__qualname__, function.__module__
        try:
            namespace[function.__name__] = njit(own, cache=True, nogil=True, **options)
        except RuntimeError:  # nowhere to write
            namespace[function.__name__] = njit(own, nogil=True, **options)
    result: Callable[..., Any] = namespace[functions[-1].__name__]
    return result
