"""Fingerprints of values: equal in every process, different when a value or the code behind it changes.

Functions and classes are identified by their code, and by the functions, classes and values that the code refers to.
Code of installed packages is identified by its name and the version of the package. Other objects are identified by
their pickled state. Bytecode differs between minor versions of Python, and so do fingerprints of functions.
"""

import copyreg
import dis
import functools
import hashlib
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

import numpy as np

from logikern.kernels.inputs import is_sparse

_PLAIN = (types.NoneType, bool, int, float, complex, str, bytes, bytearray, types.EllipsisType)
# Attributes that count; addresses, line numbers and file names are left out.
_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    types.CodeType: (
        "co_code",
        "co_consts",
        "co_names",
        "co_varnames",
        "co_freevars",
        "co_cellvars",
        "co_argcount",
        "co_posonlyargcount",
        "co_kwonlyargcount",
        "co_flags",
        "co_exceptiontable",
    ),
    types.MethodType: ("__func__", "__self__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    functools.cached_property: ("func",),
}
# Parts of a class that do not change what its objects compute.
_IDLE = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__repr__", "__str__", "_abc_impl"),
    *("__firstlineno__", "__static_attributes__", "__annotations__", "__annotate__", "__annotate_func__"),
    *("__annotations_cache__", "__dataclass_fields__", "__dataclass_params__", "__match_args__", "__orig_bases__"),
}


class _UnknownValueError(Exception):
    """A value without a fingerprint that is the same in every process."""


def fingerprint(name: str, value: Any) -> str:
    """A text that identifies a value in every process; a ValueError, which names it, if there is none."""
    try:
        return _Reader().read(value).hex()
    except (_UnknownValueError, RecursionError) as error:
        raise ValueError(
            "A `checkpoint` can be resumed only with the same data and settings, but a resumed fit could not check "
            f"whether `{name}` is the same: {error}. Give its class a `__reduce__` or `__getstate__`, or use "
            "checkpoint=None."
        ) from error


class _Reader:
    """Reads a value and all that it refers to, each object once."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}  # identity of what is being read -> its depth
        self.done: dict[int, bytes] = {}
        self.alive: list[Any] = []  # an identity is unique only while its object lives

    def read(self, value: Any) -> bytes:
        kind = type(value)
        if kind in _PLAIN:
            return _join(kind.__name__, _plain(value))
        if kind in (np.ndarray, np.memmap) or isinstance(value, np.generic):
            return self._array(np.asarray(value))
        if id(value) in self.done:
            return self.done[id(value)]
        if id(value) in self.open:
            return _join("cycle", str(len(self.open) - self.open[id(value)]).encode())
        self.open[id(value)] = len(self.open)
        self.alive.append(value)
        result = self._compound(value)
        del self.open[id(value)]
        self.done[id(value)] = result
        return result

    def _all(self, tag: str, values: Iterable[Any]) -> bytes:
        return _join(tag, *map(self.read, values))

    def _array(self, array: Any) -> bytes:
        if array.dtype.hasobject:
            return self._all("objects", [array.shape, *array.ravel().tolist()])
        head = repr((np.lib.format.dtype_to_descr(array.dtype), array.shape)).encode()
        flat = np.ascontiguousarray(array).reshape(-1)
        return _join("array", head, flat.view(np.uint8) if flat.nbytes else b"")

    def _compound(self, value: Any) -> bytes:
        kind = type(value)
        if kind in (list, tuple):
            return self._all(kind.__name__, value)
        if kind in (set, frozenset):
            return self._all(kind.__name__, sorted(value, key=_alone))
        if kind in (dict, types.MappingProxyType):
            items = sorted(value.items(), key=lambda item: _alone(item[0]))
            return self._all("dict", (part for item in items for part in item))
        if is_sparse(value):
            rows = value.tocsr()  # without the flags that SciPy caches
            return self._all("sparse", (rows.shape, rows.data, rows.indices, rows.indptr))
        if isinstance(value, types.ModuleType):
            return _named(value.__name__, "")
        if isinstance(value, type):
            return self._class(value)
        if kind is types.FunctionType:
            return self._function(value)
        if kind in _ATTRIBUTES:
            return self._all(kind.__name__, (getattr(value, name) for name in _ATTRIBUTES[kind]))
        return self._object(value)

    def _class(self, kind: type) -> bytes:
        if _is_installed(kind.__module__) and "<locals>" not in kind.__qualname__:
            return _named(kind.__module__, kind.__qualname__)
        namespace = {name: part for name, part in vars(kind).items() if name not in _IDLE}
        return self._all("class", (kind.__name__, type(kind), kind.__bases__, namespace))

    def _function(self, function: types.FunctionType) -> bytes:
        installed = _is_installed(function.__module__)
        if installed and _looked_up(function, function.__qualname__) is function:
            return _named(function.__module__, function.__qualname__)
        cells = [_content(cell) for cell in function.__closure__ or ()]
        own = (function.__code__, function.__defaults__, function.__kwdefaults__, cells, vars(function))
        return self._all("function", (*own, {} if installed else dict(_references(function))))

    def _object(self, value: Any) -> bytes:
        wrapped = getattr(value, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType) and _is_installed(type(value).__module__):
            return self._all("wrapped", (type(value), wrapped))  # a compiled or caching form of the function
        reduced = _reduced(value)
        if isinstance(reduced, str):
            if _looked_up(value, reduced) is not value:
                raise _UnknownValueError(f"{value!r} cannot be imported by its name")
            return _named(value.__module__, reduced)
        parts: list[Any] = [*reduced[:5], None, None, None]
        maker, arguments, state, items, pairs = parts[:5]
        if isinstance(state, dict):
            state = {name: part for name, part in state.items() if not _is_cached(type(value), name)}
        return self._all("object", (maker, arguments, state, list(items or ()), list(pairs or ())))


def _join(tag: str, *parts: Any) -> bytes:
    whole = hashlib.sha256()
    for part in (tag.encode(), *parts):
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.digest()


def _plain(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return (f"{value:x}" if isinstance(value, int) else repr(value)).encode()  # repr fails for very long integers


def _alone(value: Any) -> bytes:
    """A key that sorts values the same way in every process."""
    return _Reader().read(value)


def _named(module: str, name: str) -> bytes:
    package = module.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", "")
    return _join("name", module.encode(), name.encode(), str(version).encode())


def _is_installed(module: str | None) -> bool:
    """Whether a module belongs to Python, to logikern or to an installed package, rather than to the user."""
    package = (module or "").partition(".")[0]
    if package in sys.stdlib_module_names or package == "logikern":
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return file is not None and not {"site-packages", "dist-packages"}.isdisjoint(PurePath(file).parts)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return types.CellType  # empty


def _references(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Global values that a function uses, and members of the user's modules that it may use."""
    codes = list(_nested(function.__code__))
    loaded = {step.argval for code in codes for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    attributes = {name for code in codes for name in code.co_names}
    for name in loaded & function.__globals__.keys():
        value = function.__globals__[name]
        yield name, value
        if isinstance(value, types.ModuleType) and not _is_installed(value.__name__):
            yield from ((f"{name}.{own}", vars(value)[own]) for own in attributes & vars(value).keys())


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _reduced(value: Any) -> Any:
    """The state of an object as pickle stores it."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        return value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception as error:  # an object may raise any error
        raise _UnknownValueError(f"an object of type {type(value).__name__} cannot be pickled ({error})") from error


def _looked_up(value: Any, name: str) -> Any:
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return functools.reduce(lambda holder, part: getattr(holder, part, None), name.split("."), module)


def _is_cached(kind: type, name: str) -> bool:
    """Whether an attribute is a cached property."""
    found = (vars(base)[name] for base in kind.__mro__ if name in vars(base))
    return isinstance(next(found, None), functools.cached_property)
