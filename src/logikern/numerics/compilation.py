"""Loops in plain Python made machine code."""

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any


def compile_together(functions: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The last of some functions of one module as machine code, kept on disk between processes if it can be.

    The compiler is slow to import: only work that needs it pays. Functions find each other by name, hence each is
    given a namespace in which the others, named before it, are compiled already.

    Parameters
    ----------
    functions : sequence of functions
    **options : Any
        Of `numba.njit`.
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
