"""A clock that runs only inside BLAS and LAPACK calls of logikern.

A profiler of Python calls does not see `a @ b`, which is no call. So logikern is
imported through a loader that rewrites every `a @ b` of its source as a call of
`timed_matmul`, and the functions of scipy.linalg that logikern may import are
replaced by timed ones before it does. A product counts only if NumPy hands it
to the BLAS: two float arrays of the same type, each with a contiguous axis.
What is not counted: casts (`astype` stands outside the operator), einsum,
exponentials, sums, and the clock itself; what is counted beside pure BLAS: the
allocation of the product, and the copies that scipy.linalg makes of its
arguments.

Import this module before logikern, in a process of its own.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

LAPACK = ("cho_factor", "cho_solve", "cholesky", "lu_factor", "lu_solve", "solve_triangular", "eigh", "solve")
NUMPY = ("matmul", "dot")


class Clock:
    """Seconds by kind of work; nested calls count once, for the outer one.

    Of the wall clock, so measure on a machine at rest: asking for a thread's own time instead is a system
    call, which on virtual machines can take longer than a small product.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.running = False

    def time(self, kind: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call the function with the clock running."""
        if self.running:
            return function(*arguments, **options)
        self.running = True
        began = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            self.seconds[kind] += time.perf_counter() - began
            self.running = False

    def reset(self) -> None:
        self.seconds.clear()


CLOCK = Clock()
OUTSIDE = "matmul outside BLAS"


def timed_matmul(left: Any, right: Any) -> Any:
    """left @ right, counted if it is a product for the BLAS."""
    kind = "matmul" if _for_blas(left, right) else OUTSIDE
    return CLOCK.time(kind, lambda a, b: a @ b, left, right)


def _for_blas(left: Any, right: Any) -> bool:
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return False
    if left.dtype != right.dtype or left.dtype.kind != "f":
        return False
    return all(array.itemsize in array.strides[-2:] or array.size == 0 for array in (left, right))


class _Rewrite(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        name = ast.Name("__timed_matmul__", ast.Load())
        return ast.copy_location(ast.Call(name, [node.left, node.right], []), node)


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the rewritten source, never a cached byte code."""

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        tree = _Rewrite().visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec")

    def exec_module(self, module: Any) -> None:
        module.__dict__["__timed_matmul__"] = timed_matmul
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if fullname.split(".")[0] != "logikern":
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                break
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def _timed(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        return CLOCK.time(kind, function, *arguments, **options)

    return call


def install() -> Clock:
    """Begin to count; logikern must not have been imported."""
    if any(name.split(".")[0] == "logikern" for name in sys.modules):
        raise RuntimeError("`blas_clock.install` must come before the first import of logikern.")
    sys.meta_path.insert(0, _Finder())
    for name in LAPACK:
        setattr(scipy.linalg, name, _timed(name, getattr(scipy.linalg, name)))
    for name in NUMPY:
        setattr(np, name, _timed(name, getattr(np, name)))
    return CLOCK
