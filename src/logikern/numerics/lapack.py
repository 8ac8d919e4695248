"""Cholesky factors and triangular solves in place, without the global interpreter lock.

The functions of `scipy.linalg.lapack` hold the lock. SciPy exports the same routines for Cython, as pointers with
their signatures; called through ctypes they release it.

All matrices are float64 arrays in Fortran order, or parts of such arrays; triangles are lower.
"""

import ctypes
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas, cython_lapack, lapack

from logikern.numerics.outcome import Array

_ARGUMENTS: dict[str, Any] = {"c": ctypes.c_char_p, "i": ctypes.POINTER(ctypes.c_int), "d": ctypes.c_void_p}


def _export(module: ModuleType, name: str, kinds: str) -> Callable[..., None] | None:
    """A routine by name; None if its arguments are of other kinds, such as 64-bit integers.

    Parameters
    ----------
    module : module
        `cython_blas` or `cython_lapack`.
    name : str
    kinds : str
        A letter for each argument: c for text, i for an integer, d for float64 numbers.
    """
    read_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    read_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    capsule = getattr(module, "__pyx_capi__", {}).get(name)
    if capsule is None:
        return None
    own = module.__name__.rsplit(".", maxsplit=1)[-1]
    types = {"c": "char *", "i": "int *", "d": f"__pyx_t_5scipy_6linalg_{len(own)}{own}_d *"}
    signature = f"void ({', '.join(types[kind] for kind in kinds)})".encode()
    if read_name(capsule) != signature:
        return None
    return ctypes.CFUNCTYPE(None, *(_ARGUMENTS[kind] for kind in kinds))(read_pointer(capsule, signature))


_dpotrf = _export(cython_lapack, "dpotrf", "cidii")
_dpotri = _export(cython_lapack, "dpotri", "cidii")
_dtrsm = _export(cython_blas, "dtrsm", "cccciiddidi")


def factorise(matrix: Array) -> bool:
    """Overwrite the lower triangle with L, where matrix = L L'; False if the matrix is not positive definite."""
    if _dpotrf is None:
        matrix[...], failed = lapack.dpotrf(matrix, lower=1, clean=0)
        return not failed
    failed = ctypes.c_int()
    _dpotrf(b"L", *_square(matrix), failed)
    return not failed.value


def invert_factor(lower: Array) -> None:
    """Write the lower triangle of (L L')^-1 over L."""
    if _dpotri is None:
        lower[...] = lapack.dpotri(lower, lower=1)[0]
        return
    _dpotri(b"L", *_square(lower), ctypes.c_int())


def solve_lower(lower: Array, right: Array) -> None:
    """right = L^-1 right."""
    _solve(lower, right, b"L", b"N")


def solve_upper(lower: Array, right: Array) -> None:
    """right = L^-T right."""
    _solve(lower, right, b"L", b"T")


def divide_by_upper(left: Array, lower: Array) -> None:
    """left = left L^-T."""
    _solve(lower, left, b"R", b"T")


def _solve(lower: Array, values: Array, side: bytes, transposed: bytes) -> None:
    if _dtrsm is None:
        values[...] = blas.dtrsm(1.0, lower, values, side=side == b"R", lower=1, trans_a=transposed == b"T")
        return
    n_rows, n_columns = (ctypes.c_int(size) for size in values.shape)
    one = ctypes.byref(ctypes.c_double(1.0))
    _dtrsm(side, b"L", transposed, b"N", n_rows, n_columns, one, *_place(lower), *_place(values))


def _place(matrix: Array) -> tuple[int, Any]:
    """Address, and the distance between columns, which must not be less than their length."""
    if matrix.dtype != np.float64 or (len(matrix) > 1 and matrix.strides[0] != matrix.itemsize):
        raise ValueError(
            f"The matrix must be float64 in Fortran order, but is {matrix.dtype} with strides {matrix.strides}."
        )
    return matrix.ctypes.data, ctypes.c_int(max(1, len(matrix), matrix.strides[1] // matrix.itemsize))


def _square(matrix: Array) -> tuple[Any, ...]:
    return ctypes.c_int(len(matrix)), *_place(matrix)
