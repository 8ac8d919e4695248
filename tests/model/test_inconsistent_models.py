"""Files of the right types whose parts do not fit each other."""

import json

import numpy as np
import pytest

from logikern.model import persistence
from tests.estimators.samples import fixed
from tests.model.forgery import (
    PARTS,
    SPECIES,
    X,
    archive_of,
    nameless,
    node,
    record,
    sequence,
    value,
    with_attribute,
    write,
)

PATHS = np.array(["a/x", "a/y", "b"])[SPECIES]
TREE_PARTS = write(fixed(hierarchy="paths").fit(X, PATHS))
TREE = (("a", "a/x", "a/y", "b"), (-1, 0, 0, -1))


def part(name, parts=PARTS):
    schema = json.loads(parts["schema.json"])
    return schema["content"]["content"][name]


def with_model(**changes) -> bytes:
    """The model, with fields of its FittedModel replaced."""
    model = part("model_")
    model["content"]["content"].update(changes)
    return with_attribute("model_", nameless(model))


def with_specification(**changes) -> bytes:
    specification = part("model_")["content"]["content"]["specification"]
    specification["content"]["content"].update(changes)
    return with_model(specification=specification)


def with_kernel(**fields) -> bytes:
    kernel = node("ObjectNode", "logikern.kernels.gaussian", "Gaussian", content=record(**fields))
    return with_specification(kernels=sequence(kernel))


def tree_of(labels, parents):
    fields = record(labels=sequence(*map(value, labels)), parents=sequence(*map(value, parents)))
    return node("ObjectNode", "logikern.structure.tree", "Tree", content=fields)


def with_tree(labels, parents) -> bytes:
    """A model on a tree, with another tree wherever there is one."""
    other = tree_of(labels, parents)
    schema = nameless(json.loads(TREE_PARTS["schema.json"]))
    own = schema["content"]["content"]
    for holder in (own["model_"]["content"]["content"]["specification"], own["start_"]):
        holder["content"]["content"]["mixing"] = other
    own["tree_"] = other
    return archive_of({**TREE_PARTS, "schema.json": json.dumps(schema)})


SUM = node("ObjectNode", "logikern.kernels.base", "Sum", content=record(left=value(1), right=value(2)))
RATES = sequence(value(1.0), value(2.0))
INCONSISTENT = {
    "untouched": (with_attribute("verbose", value(0)), None),
    "no fitted model": (with_attribute("model_", value(1)), "no fitted model"),
    "no specification": (with_model(specification=value(1)), "no specification"),
    "coefficients are text": (with_model(dual=value("dual")), "coefficients"),
    "coefficients of another model": (with_model(dual=part("dual_coef_")), "coefficients"),
    "points are a number": (with_model(points=value(3)), "not a model file"),
    "points of another model": (with_model(points=part("dual_coef_")), "number of features"),
    "classes are a list": (with_attribute("classes_", value([0, 1, 2])), "classes"),
    "classes of another model": (with_attribute("classes_", part("dual_coef_")), "classes"),
    "features of another model": (with_attribute("n_features_in_", value(7)), "number of columns"),
    "negative rate": (with_kernel(rate=value(-1.0)), "`rate` must be a positive"),
    "rate is text": (with_kernel(rate=value("x")), "`rate` must be a positive"),
    "columns of other rates": (
        with_kernel(rate=RATES, columns=sequence(*map(value, (0, 1, 2, 0)))),
        "position 2 occurs",
    ),
    "columns that are no places": (with_kernel(rate=RATES, columns=sequence(value(0.5), value(1.5))), "`columns`"),
    "columns as text": (with_kernel(rate=RATES, columns=value("0101")), "`columns`"),
    "columns of other features": (
        with_kernel(rate=RATES, columns=sequence(value(0), value(1))),
        "rates for a different number of features",
    ),
    "kernel is a number": (with_specification(kernels=sequence(value(1))), "is not a kernel"),
    "sum of numbers": (with_specification(kernels=sequence(SUM)), "is not a kernel"),
    "no kernels": (with_specification(kernels=sequence()), "do not match its kernels"),
    "negative variance": (with_specification(variances=sequence(value(-1.0))), "variances"),
    "variance is no number": (with_specification(variances=sequence(value(float("nan")))), "variances"),
    "tying is text": (with_specification(tying=value("shared")), "no latent functions"),
    "no start": (with_attribute("start_", value(1)), "no specification"),
    "tree untouched": (with_tree(*TREE), None),
    "tree of a circle": (with_tree(TREE[0], (1, 0, 0, -1)), "positions of earlier labels"),
    "tree with its own parent": (with_tree(TREE[0], (-1, 1, 0, -1)), "positions of earlier labels"),
    "tree with children first": (
        with_tree(("a/x", "a", "a/y", "b"), (1, -1, 1, -1)),
        "positions of earlier labels",
    ),
    "parents far away": (with_tree(TREE[0], (-1, 0, 70, -1)), "positions of earlier labels"),
    "parents below the root": (with_tree(TREE[0], (-1, -2, 0, -1)), "positions of earlier labels"),
    "parents are text": (with_tree(TREE[0], ("a", "b", "c", "d")), "positions of earlier labels"),
    "nodes of one name": (with_tree(("a", "a/x", "a/x", "b"), TREE[1]), "must be distinct"),
    "nodes without parents": (with_tree(TREE[0], (-1, 0)), "one parent for each label"),
    "tree of one leaf": (with_tree(("a",), (-1,)), "leaves"),
    "tree of other classes": (with_tree(("a", "a/x", "a/z", "b"), TREE[1]), "not the leaves"),
    "tree of more latents": (with_tree(("a", "a/x", "a/y", "b", "b/x", "b/y"), (-1, 0, 0, -1, 3, 3)), "tying"),
    "no tree to see": (with_attribute("tree_", value(None), TREE_PARTS), "hierarchy is incomplete"),
    "tree without a model": (with_attribute("tree_", tree_of(*TREE)), "hierarchy is incomplete"),
    "tree is text": (with_attribute("tree_", value("tree"), TREE_PARTS), "not a tree"),
    "two trees": (
        with_attribute("tree_", tree_of(("a", "a/x", "b", "b/x"), TREE[1]), TREE_PARTS),
        "hierarchy does not match its model",
    ),
    "circle to fit again on": (
        with_attribute("hierarchy", tree_of(("a", "b"), (1, 0))),
        "positions of earlier labels",
    ),
    "outcome unknown": (with_attribute("outcome_", value("FINE")), "FINE"),
    "trace is text": (with_attribute("trace_", value("long")), "trace"),
}


@pytest.mark.parametrize("name", INCONSISTENT)
def test_model_whose_parts_do_not_fit_is_refused(name, tmp_path):
    content, fragment = INCONSISTENT[name]
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    if fragment is None:
        assert np.isfinite(persistence.load_model(path).predict_proba(X)).all()
    else:
        with pytest.raises(ValueError, match=fragment):
            persistence.load_model(path)
