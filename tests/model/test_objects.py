"""Files of our own types are read without skops: the same objects, and as strict."""

import io
import json
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from logikern import KernelRegressor
from logikern.model import objects, persistence
from logikern.model.audit import OUR_TYPES
from tests.estimators.samples import fixed
from tests.model.catalogue import MODELS, SPECIES, X
from tests.model.forgery import PARTS, archive_of, array_node, node, record, sequence, value, with_attribute

CATALOGUE = {
    **MODELS,
    "regressor": (KernelRegressor(criterion=None), X[:, 1:], X[:, 0]),
    "keys that are numbers": (fixed(class_weight={0: 1.0, 1: 2.0, 2: 0.5}), X, SPECIES),
    "numbers of NumPy": (fixed(rate=np.float64(0.5), variance=np.float32(2.0), cv=np.int64(5)), X, SPECIES),
}
# Files with a splitter or a random state are left to skops.
LEFT = ("learned by a splitter", "options")


def read(content: bytes):
    """The description of a file, and its archive."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    return json.loads(archive.read("schema.json")), archive


def same(one, other) -> bool:
    """Whether two objects have the same types and values at any depth."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray) and one.dtype != object:
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if sparse.issparse(one):
        return one.shape == other.shape and same(vars(one), vars(other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple | np.ndarray):
        return len(one) == len(other) and all(map(same, one, other))
    # NaN is not equal to itself.
    return same(vars(one), vars(other)) if hasattr(one, "__dict__") else repr(one) == repr(other)


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in LEFT])
def test_objects_are_those_that_skops_builds(name):
    model, points, targets = CATALOGUE[name]
    content = persistence._pack(clone(model).fit(points, targets))
    schema, archive = read(content)
    assert objects.has_only_ours(schema)
    assert same(objects.build(schema, archive), persistence._load_with_skops(io.BytesIO(content)))


@pytest.mark.parametrize("name", LEFT)
def test_foreign_parts_are_left_to_skops(name):
    model, points, targets = CATALOGUE[name]
    schema, _ = read(persistence._pack(clone(model).fit(points, targets)))
    assert not objects.has_only_ours(schema)


def test_model_of_our_types_is_read_without_skops(tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    path.write_bytes(archive_of(PARTS))
    monkeypatch.setitem(sys.modules, "skops", None)
    assert persistence.load_model(path).predict(X).shape == SPECIES.shape


def test_nodes_with_one_identity_are_one_object():
    shared = {**sequence(value(1)), "__id__": 7}
    schema, archive = read(with_attribute("extra_", sequence(shared, shared)))
    first, second = objects.build(schema, archive).extra_
    assert first is second


def test_every_type_can_be_built_without_its_constructor():
    """No type of ours restores its state in a way of its own, which `build` would pass over."""
    _, archive = read(archive_of(PARTS))
    for name in OUR_TYPES:
        module, _, kind = name.rpartition(".")
        built = objects.build(node("ObjectNode", module, kind, content=record(a=value(1))), archive)
        assert f"{type(built).__module__}.{type(built).__qualname__}" == name
        assert vars(built) == {"a": 1}
        assert "__setstate__" not in vars(type(built))


FORBIDDEN = {
    "function": node("FunctionNode", "os", "system"),
    "object of another module": node("ObjectNode", "subprocess", "Popen", content=record()),
    "estimator of scikit-learn": node("ObjectNode", "sklearn.pipeline", "Pipeline", content=record()),
    "type": node("TypeNode", "builtins", "eval"),
    "constructor": node("ConstructorFromReduceNode", "builtins", "eval", content=sequence(value("1"))),
    "call of a key type": node(
        "DictNode", "builtins", "dict", content={"1": value(1)}, key_types=sequence(node("TypeNode", "os", "system"))
    ),
    "call of an object": node(
        "DictNode",
        "builtins",
        "dict",
        content={"1": value(1)},
        key_types=sequence(node("ObjectNode", "logikern.kernels.gaussian", "Gaussian", content=record())),
    ),
    "fewer key types than keys": {**record(a=value(1)), "key_types": sequence()},
    "array of an unknown form": {**array_node("dual_coef_"), "type": "pickle"},
    "attributes that are text": node("ObjectNode", "logikern.kernels.gaussian", "Gaussian", content=value("rate")),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_build_refuses_what_an_audit_should_have_refused(name):
    _, archive = read(archive_of(PARTS))
    with pytest.raises((ValueError, KeyError)):
        objects.build(FORBIDDEN[name], archive)


@pytest.mark.parametrize("protocol", [2.0, 3, 99])
def test_other_protocols_are_left_to_skops_which_refuses_them(protocol, tmp_path):
    path = tmp_path / "model.skops"
    schema = {**json.loads(PARTS["schema.json"]), "protocol": protocol}
    path.write_bytes(archive_of({**PARTS, "schema.json": json.dumps(schema)}))
    assert not objects.has_only_ours(schema)
    with pytest.raises(ValueError, match="protocol"):
        persistence.load_model(path)
