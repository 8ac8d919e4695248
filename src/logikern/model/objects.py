"""The objects of an audited model file, from its description and its arrays.

Models without foreign parts are built here. Others, such as pipelines with transformers of scikit-learn, are left to
skops, whose import takes half a second because it imports every module of scikit-learn.
"""

import importlib
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from logikern.model.audit import OUR_TYPES, nodes, type_of

Node = dict[str, Any]
# The skops protocol that is known here.
PROTOCOL = 2
# Keys of a dict are text in JSON, and become their type again.
_KEY_TYPES: dict[str, type] = {"builtins.str": str, "builtins.int": int}
_UNFINISHED = object()


@dataclass(frozen=True)
class _Parts:
    """Parts of a file: its arrays, and the objects so far by the identity of their nodes."""

    archive: zipfile.ZipFile
    built: dict[int, Any] = field(default_factory=dict)

    def build(self, node: Node) -> Any:
        """The object of a node; nodes with the same identity are the same object."""
        identity = node.get("__id__")
        if not identity:
            return _BUILDERS[node["__loader__"]](node, self)
        if identity not in self.built:
            self.built[identity] = _UNFINISHED
            self.built[identity] = _BUILDERS[node["__loader__"]](node, self)
        if self.built[identity] is _UNFINISHED:
            raise ValueError("a part of it contains itself")
        return self.built[identity]

    def build_all(self, several: list[Node]) -> list[Any]:
        return [self.build(node) for node in several]

    def file(self, node: Node) -> io.BytesIO:
        return io.BytesIO(self.archive.read(node["file"]))


def has_only_ours(schema: Node) -> bool:
    """Whether `build` reads this description: of plain values, arrays and types of logikern."""
    is_known = type(schema["protocol"]) is int and schema["protocol"] == PROTOCOL
    return is_known and all(map(_is_ours, nodes(schema)))


def _is_ours(node: Node) -> bool:
    types = {"ObjectNode": OUR_TYPES, "TypeNode": _KEY_TYPES, "DictNode": ("builtins.dict",)}
    loader = node["__loader__"]
    return loader in _BUILDERS and (loader not in types or type_of(node) in types[loader])


def build(schema: Node, archive: zipfile.ZipFile) -> Any:
    """Build the object of a schema that has passed `audit` and `has_only_ours`."""
    return _Parts(archive).build(schema)


def _dict(node: Node, parts: _Parts) -> dict[Any, Any]:
    # Not by `build`, so that nothing but these types is ever called.
    kinds = [_KEY_TYPES[type_of(kind)] for kind in node["key_types"]["content"]]
    items = zip(kinds, node["content"].items(), strict=True)
    return {kind(key): parts.build(value) for kind, (key, value) in items}


def _array(node: Node, parts: _Parts) -> Any:
    """An array, or a single number of one of NumPy's types."""
    if node["type"] == "json":
        return _array_of_objects(parts.build_all(node["content"]), parts.build(node["shape"]))
    if node["type"] != "numpy":
        raise ValueError(f"an array has the unknown format {node['type']!r}")
    array = np.load(parts.file(node), allow_pickle=False)
    return array if node["__class__"] == "ndarray" else getattr(np, node["__class__"])(array)


def _array_of_objects(items: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    if len(shape) > 1:
        return np.array(items, dtype=object)
    # One by one: NumPy would take lists as rows.
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        array[place] = item
    return array


def _object(node: Node, parts: _Parts) -> Any:
    """An object of our own; its constructor is not called."""
    if type_of(node) not in OUR_TYPES:
        raise ValueError(f"it contains the type `{type_of(node)}`, which is not allowed")
    kind = getattr(importlib.import_module(node["__module__"]), node["__class__"])
    found = object.__new__(kind)
    # Objects without attributes have the state None.
    vars(found).update(parts.build(node["content"]) or {})
    return found


_BUILDERS: dict[str, Callable[[Node, _Parts], Any]] = {
    "JsonNode": lambda node, parts: json.loads(node["content"]),
    "ListNode": lambda node, parts: parts.build_all(node["content"]),
    "TupleNode": lambda node, parts: tuple(parts.build_all(node["content"])),
    "TypeNode": lambda node, parts: _KEY_TYPES[type_of(node)],
    "DictNode": _dict,
    "NdArrayNode": _array,
    "SparseMatrixNode": lambda node, parts: sparse.load_npz(parts.file(node)),
    "ObjectNode": _object,
}
