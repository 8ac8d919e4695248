"""Files of the right types whose parts do not fit each other."""

import json

import numpy as np
import pytest

from logikern.model import persistence
from tests.model.forgery import PARTS, X, nameless, node, record, sequence, value, with_attribute


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


SUM = node("ObjectNode", "logikern.kernels.base", "Sum", content=record(left=value(1), right=value(2)))
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
    "features of another model": (with_attribute("n_features_in_", value(7)), "number of features"),
    "negative rate": (with_kernel(rate=value(-1.0)), "`rate` must be a positive"),
    "rate is text": (with_kernel(rate=value("x")), "`rate` must be a positive"),
    "kernel is a number": (with_specification(kernels=sequence(value(1))), "no kernel"),
    "sum of numbers": (with_specification(kernels=sequence(SUM)), "no kernel"),
    "no kernels": (with_specification(kernels=sequence()), "do not belong together"),
    "negative variance": (with_specification(variances=sequence(value(-1.0))), "variances"),
    "variance is no number": (with_specification(variances=sequence(value(float("nan")))), "variances"),
    "tying is text": (with_specification(tying=value("shared")), "two classes"),
    "no start": (with_attribute("start_", value(1)), "no specification"),
    "outcome unknown": (with_attribute("outcome_", value("FINE")), "FINE"),
    "trace is text": (with_attribute("trace_", value("long")), "trace"),
}


@pytest.mark.parametrize("name", INCONSISTENT)
def test_model_whose_parts_do_not_fit_is_refused(name, tmp_path):
    content, fragment = INCONSISTENT[name]
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    if fragment is None:
        assert np.isfinite(persistence.load(path).predict_proba(X)).all()
    else:
        with pytest.raises(ValueError, match=fragment):
            persistence.load(path)
