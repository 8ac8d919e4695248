"""Model files with any part replaced."""

import copy
import io
import json
import struct
import zipfile

import numpy as np
from scipy import sparse
from sklearn.datasets import load_iris

from logikern.model import persistence
from tests.estimators.samples import fixed

X, SPECIES = load_iris(return_X_y=True)
X, SPECIES = X[::5], SPECIES[::5]
STORED = zipfile.ZIP_STORED


def write(model) -> dict[str, bytes]:
    """The parts of a model's file."""
    with zipfile.ZipFile(io.BytesIO(persistence._pack(model))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


PARTS = write(fixed().fit(X, SPECIES))
SPARSE_PARTS = write(fixed("linear").fit(sparse.csr_matrix(X), SPECIES))


def archive_of(parts, compression=STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def node(loader, module, kind, **content):
    return {"__loader__": loader, "__module__": module, "__class__": kind, "__id__": 0, **content}


def value(plain):
    return node("JsonNode", "builtins", "str", content=json.dumps(plain), is_json=True)


def sequence(*items):
    return node("TupleNode", "builtins", "tuple", content=list(items))


def record(**items):
    names = [node("TypeNode", "builtins", "str") for _ in items]
    return node(
        "DictNode", "builtins", "dict", content=items, key_types=node("ListNode", "builtins", "list", content=names)
    )


def with_attribute(name, content, parts=PARTS) -> bytes:
    """The model, with one attribute of the estimator replaced."""
    schema = json.loads(parts["schema.json"])
    schema["content"]["content"][name] = content
    keys = schema["content"]["key_types"]["content"]
    keys.extend([copy.deepcopy(keys[0])] * (len(schema["content"]["content"]) - len(keys)))
    return archive_of({**parts, "schema.json": json.dumps(schema)})


def nameless(schema):
    """The same records without identities: equal ones elsewhere in the file would be taken in their place."""
    if isinstance(schema, dict):
        return {name: 0 if name == "__id__" else nameless(inner) for name, inner in schema.items()}
    return [nameless(inner) for inner in schema] if isinstance(schema, list) else schema


def with_root(root) -> bytes:
    return archive_of({**PARTS, "schema.json": json.dumps({**root, "protocol": 2})})


def with_header(**header) -> bytes:
    return archive_of({**PARTS, "logikern.json": json.dumps(header)})


def array_node(name, parts=PARTS):
    schema = json.loads(parts["schema.json"])
    return schema["content"]["content"][name]


def with_array(name, content) -> bytes:
    return archive_of({**PARTS, array_node(name)["file"]: content})


def npy(array, shape=None, descr=None) -> bytes:
    """An array file whose header may lie."""
    buffer = io.BytesIO()
    header = {"descr": descr or array.dtype.str, "fortran_order": False, "shape": shape or array.shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + array.tobytes()


def nested_list(depth) -> bytes:
    schema = PARTS["schema.json"].decode()[:-1].rstrip()
    return archive_of({**PARTS, "schema.json": f'{schema}, "x": {"[" * depth}{"]" * depth}}}'})


def nested_nodes(depth):
    inner = value(1)
    for _ in range(depth):
        inner = node("ListNode", "builtins", "list", content=[inner])
    return with_attribute("extra_", inner)


def cycle() -> bytes:
    inner = node("ListNode", "builtins", "list", content=[{**value(1), "__id__": 77}])
    inner["__id__"] = 77
    return with_attribute("extra_", inner)


def sparse_points(**changes) -> bytes:
    """The sparse model, with some of the arrays of its points replaced."""
    name = next(name for name in SPARSE_PARTS if name.endswith(".npz"))
    with np.load(io.BytesIO(SPARSE_PARTS[name])) as arrays:
        replaced = {**arrays, **changes}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **replaced)
    return archive_of({**SPARSE_PARTS, name: buffer.getvalue()})


def overlapping() -> bytes:
    """Every entry of the directory points at the same bytes, as in a bomb that needs no compression."""
    content = archive_of({"schema.json": PARTS["schema.json"], "logikern.json": PARTS["logikern.json"]})
    end = content.rindex(b"PK\5\6")
    start = struct.unpack("<I", content[end + 16 : end + 20])[0]
    entry = content[start : start + 46 + len("schema.json")]
    copies = b"".join(entry.replace(b"schema.json", f"array{number:02}.npy"[:11].encode()) for number in range(40))
    tail = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 42, 42, end - start + len(copies), start, 0)
    return content[:end] + copies + tail


def foreign(loader, module, kind, **content):
    return with_attribute("extra_", node(loader, module, kind, **content))
