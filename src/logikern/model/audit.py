"""Checks of the bytes of a model file, before anything in it becomes an object.

A file is an archive of arrays and of `schema.json`, a tree of nodes from which objects are built. Every node names
a loader and a type; both must be on the lists below. `objects` or skops then checks the types again.
"""

import io
import json
import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from logikern.encoding.complaints import Note
from logikern.encoding.encoder import Encoder
from logikern.encoding.levels import Levels
from logikern.encoding.numbers import Numbers
from logikern.encoding.scaling import Ranked, Standardised, Unscaled
from logikern.kernels import KERNELS, KernelRows, Precomputed, Product, Scaled, Sum
from logikern.model.fitted import FittedModel, OneAgainstRest
from logikern.model.neighbourhoods import Approximation, Landmarks, LocalModels, NeighbourhoodModel
from logikern.numerics.outcome import NewtonStep
from logikern.numerics.temperature import Temperature
from logikern.operators.partition import Partition
from logikern.selection.judgement import Verdict
from logikern.selection.search import Record
from logikern.structure.coupling import Coupling
from logikern.structure.label_kernel import LabelKernel
from logikern.structure.loadings import LabelLoadings
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tree import Tree
from logikern.structure.tying import Tying

SCHEMA = "schema.json"
# Estimators belong to a later layer and are known here by name only.
CLASSIFIER = "logikern.estimators.classifier.KernelLogisticClassifier"
REGRESSOR = "logikern.estimators.regressor.KernelRegressor"
MULTILABEL = "logikern.estimators.multilabel.classifier.KernelMultilabelClassifier"
LABEL_SPACE = "logikern.estimators.multilabel._labels.LabelSpace"
COMPARISON = "logikern.estimators.multilabel._comparison.StructureComparison"
INDEPENDENT, JOINT = (f"logikern.estimators.multilabel._structures.{name}" for name in ("Independent", "Joint"))
SEQUENCES = "logikern.sequences.classifier.KernelSequenceClassifier"
SEQUENCE_MODEL = "logikern.sequences.model.SequenceModel"
FIELD_SPECIFICATION = "logikern.sequences.hyperparameters.FieldSpecification"
TRANSFORMER = "logikern.estimators._inputs.transformer.TableEncoder"
SETTINGS = "logikern.estimators._cells.settings.NeighbourhoodSettings"
# The first skops protocol with which model files were written.
OLDEST_PROTOCOL = 2


@dataclass(frozen=True)
class AuditPolicy:
    """Limits of a model file."""

    # Levels of nested nodes. A sum of twenty kernels needs about fifty.
    max_depth: int = 200
    # Unpacked size that arrays of any file may have. Sparse matrices are compressed.
    unpacked_bytes: int = 2**28
    unpacked_ratio: int = 100  # the same relative to the size of the file; the larger limit counts


DEFAULT_POLICY = AuditPolicy()


class UnreadModelError(ValueError):
    """A model file that may be valid, but is not read; the message says what to do."""


_OURS: tuple[type, ...] = (
    *KERNELS.values(),
    Sum,
    Product,
    Scaled,
    Precomputed,
    KernelRows,
    FittedModel,
    OneAgainstRest,
    NeighbourhoodModel,
    LocalModels,
    Landmarks,
    Approximation,
    Partition,
    Specification,
    Temperature,
    Tying,
    Flat,
    LabelLoadings,
    Tree,
    LabelKernel,
    Coupling,
    NewtonStep,
    Record,
    Verdict,
    Encoder,
    Numbers,
    Levels,
    Note,
    Unscaled,
    Standardised,
    Ranked,
)
OUR_TYPES = (
    *(CLASSIFIER, REGRESSOR, TRANSFORMER, SETTINGS),
    *(MULTILABEL, LABEL_SPACE, COMPARISON, INDEPENDENT, JOINT),
    *(SEQUENCES, SEQUENCE_MODEL, FIELD_SPECIFICATION),
    *(f"{kind.__module__}.{kind.__qualname__}" for kind in _OURS),
)

_PLAIN_TYPES = frozenset(f"builtins.{name}" for name in ("str", "int", "float", "bool"))
_NUMBER_TYPES = frozenset(
    f"numpy.{name}"
    for name in ("bool", "bool_", "str_", "float64", "float32", "float16")
    + tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
)
_SPARSE_TYPES = frozenset(
    f"scipy.sparse._{form}.{form}_{kind}" for form in ("csr", "csc") for kind in ("matrix", "array")
)
# Loader -> types that it may build. ObjectNode and FunctionNode have their own rules.
_LOADERS = {
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict"}),
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "JsonNode": frozenset({"builtins.str"}),
    "TypeNode": _PLAIN_TYPES | _NUMBER_TYPES,
    "DTypeNode": frozenset({"numpy.dtype"}),
    "NdArrayNode": frozenset({"numpy.ndarray"}) | _NUMBER_TYPES,
    "SparseMatrixNode": _SPARSE_TYPES,
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
}
# skops does not trust these by default. They hold numbers only, and are called only in a fit.
_SPLITTERS = tuple(
    f"sklearn.model_selection._split.{name}"
    for name in ("KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold", "LeaveOneOut", "LeaveOneGroupOut")
    + ("RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "TimeSeriesSplit")
)
# Types that skops does not trust by default, but that the rules above restrict.
TRUSTED = [*OUR_TYPES, *_SPARSE_TYPES, *_SPLITTERS, "numpy.dtype"]


def audit(
    archive: zipfile.ZipFile, file_size: int, size_limit: float | None, policy: AuditPolicy = DEFAULT_POLICY
) -> dict[str, Any]:
    """Raise a ValueError for anything that is not the state of a model.

    Parameters
    ----------
    archive : ZipFile
    file_size : int
        Bytes of the whole file.
    size_limit : float or None
        Maximum unpacked size of the arrays in bytes; None follows the policy.
    policy : AuditPolicy

    Returns
    -------
    schema : dict
        The audited description.
    """
    _audit_members(archive, file_size)
    allowed = max(policy.unpacked_bytes, policy.unpacked_ratio * file_size)
    limit = allowed if size_limit is None else size_limit
    schema = json.loads(archive.read(SCHEMA))
    if not isinstance(schema, dict) or schema.get("protocol", 0) < OLDEST_PROTOCOL:
        raise ValueError("it has no description that this version understands")
    unpacked = 0
    for node in nodes(schema, policy.max_depth):
        _audit_node(node)
        if "file" in node:
            unpacked += _audit_array(archive, node, unpacked, limit)
    return schema


def _audit_members(archive: zipfile.ZipFile, file_size: int) -> None:
    members = archive.infolist()
    if len({member.filename for member in members}) < len(members):
        raise ValueError("two of its parts have the same name")
    if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
        raise ValueError("its parts are compressed or encrypted")
    if sum(member.file_size for member in members) > file_size:
        raise ValueError("its parts claim to be larger than the file")


def nodes(schema: Any, max_depth: int = DEFAULT_POLICY.max_depth) -> Iterator[dict[str, Any]]:
    """All records that name a loader, at any depth."""
    waiting = [(schema, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > max_depth:
            raise ValueError(f"its records are nested more than {max_depth} levels deep")
        if isinstance(value, dict):
            if isinstance(value.get("__loader__"), str):
                yield value
            waiting.extend((inner, depth + 1) for inner in value.values())
        elif isinstance(value, list):
            waiting.extend((inner, depth + 1) for inner in value)


def type_of(node: dict[str, Any]) -> str:
    """The full name of the type of a node."""
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _audit_node(node: dict[str, Any]) -> None:
    loader, kind = node["__loader__"], type_of(node)
    if loader == "ObjectNode":
        allowed = kind in OUR_TYPES or kind.startswith("sklearn.")
    elif loader == "FunctionNode":
        # Among these, skops accepts only the elementwise functions of numpy and scipy.
        allowed = kind.startswith(("numpy.", "scipy.special."))
    else:
        allowed = kind in _LOADERS.get(loader, ())
    if not allowed:
        raise ValueError(
            f"it contains `{kind}` (loaded as {loader}), but only plain values, arrays, and types from logikern and "
            "scikit-learn are allowed"
        )


def _audit_array(archive: zipfile.ZipFile, node: dict[str, Any], before: int, limit: float) -> int:
    """Check the header of an array that follows `before` unpacked bytes, and return its own unpacked bytes."""
    name = node["file"]
    if node["__loader__"] != "SparseMatrixNode":
        _audit_size(before + archive.getinfo(name).file_size, limit)
        return _audit_header(archive, name)
    content = io.BytesIO(archive.read(name))
    with zipfile.ZipFile(content) as parts:
        _audit_size(before + sum(part.file_size for part in parts.infolist()), limit)
        size = sum(_audit_header(parts, part) for part in parts.namelist())
    content.seek(0)
    matrix: Any = sparse.load_npz(content)
    if matrix.format not in ("csr", "csc"):
        raise ValueError(f"a sparse matrix has the format {matrix.format!r}, but csr or csc is expected")
    # Indices outside the matrix would read foreign memory.
    matrix.check_format(full_check=True)
    return size


def _audit_size(size: int, limit: float) -> None:
    if size > limit:
        raise UnreadModelError(
            f"it unpacks to at least {size:.3g} bytes, but only {limit:.3g} are allowed. Raise `size_limit` if you "
            "trust the file."
        )


def _audit_header(archive: zipfile.ZipFile, name: str) -> int:
    """Bytes of an array. Raises an error if it holds objects or its header disagrees with its size."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as stream:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"an array has the unknown format {version!r}")
        present = size - stream.tell()
    if dtype.hasobject or dtype.itemsize == 0:
        raise ValueError(f"an array has the type {dtype}, which is not allowed")
    if math.prod(shape) * dtype.itemsize != present:
        raise ValueError(f"an array of shape {shape!r} has {present} bytes, which does not match its shape and type")
    return size


def file_size(stream: BinaryIO) -> int:
    """Bytes of an open file."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    return size
