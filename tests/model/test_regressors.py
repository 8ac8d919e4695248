"""Files of regressors: every bit is kept, and parts that do not fit are refused."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import logikern
from logikern import KernelRegressor
from logikern.kernels import Gaussian, Linear
from logikern.model import persistence
from tests.estimators.numbers import TABLE, X, Y, fixed
from tests.model.forgery import archive_of, nameless, value, write

FRAME = pd.DataFrame(TABLE, columns=["one", "two", "three"])
MODELS = {
    "defaults": (KernelRegressor(random_state=0), X, Y),
    "folds": (KernelRegressor(criterion="cv", cv=KFold(3), random_state=0), X, Y),
    "fixed": (fixed(), X, Y),
    "three outputs": (fixed(tying="separate"), X, FRAME),
    "one output as a table": (fixed(), X, TABLE[:, :1]),
    "no constant": (fixed(bias_variance=0.0), X, Y),
    "free constant": (fixed(bias_variance=np.inf), X, Y),
    "sparse": (fixed("linear"), sparse.csr_matrix(X), Y),
    "given matrix": (fixed("precomputed"), X @ X.T, Y),
    "algebra": (fixed(Gaussian(0.3) + 2.0 * Linear()), X, Y),
    "kernel gradient": (fixed(solver="kcg"), X, Y),
    "pipeline": (make_pipeline(StandardScaler(), fixed()), X, Y),
}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip_keeps_every_bit(name, tmp_path):
    model, points, targets = MODELS[name]
    model = clone(model).fit(points, targets)
    persistence.save_model(model, tmp_path / "model.skops")
    loaded = logikern.load_model(tmp_path / "model.skops")
    assert np.array_equal(loaded.predict(points), model.predict(points))
    ours, theirs = persistence.final_step(model), persistence.final_step(loaded)
    assert (theirs.outcome_, theirs.trace_) == (ours.outcome_, ours.trace_)
    assert vars(theirs).keys() == vars(ours).keys()
    assert theirs.hyperparameters_.equals(ours.hyperparameters_)
    assert theirs.explain() == ours.explain()


PARTS = write(fixed().fit(X, Y))


def content() -> dict:
    return json.loads(PARTS["schema.json"])["content"]["content"]


def forged(changes) -> bytes:
    """The file of the model with attributes, and fields of its FittedModel, replaced."""
    schema = json.loads(PARTS["schema.json"])
    attributes = schema["content"]["content"]
    for name, new in changes.items():
        where, _, field = name.partition(".")
        if field:
            attributes[where]["content"]["content"][field] = new
        else:
            attributes[where] = new
    return archive_of({**PARTS, "schema.json": json.dumps(nameless(schema)).encode()})


REFUSED = {
    "no fitted model": ({"model_": value(1)}, "no fitted model"),
    "no outputs": ({"outputs_": value([0])}, "outputs"),
    "outputs of another model": ({"outputs_": content()["dual_coef_"]}, "classes do not match"),
    "no constants": ({"model_.free_constants": value(None)}, "biases"),
    "constants of another model": ({"model_.free_constants": content()["dual_coef_"]}, "biases"),
    "coefficients are text": ({"dual_coef_": value("x")}, "not a table"),
    "no start": ({"start_": value(1)}, "no specification"),
    "outcome unknown": ({"outcome_": value("FINE")}, "FINE"),
    "trace is text": ({"trace_": value("long")}, "trace"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_model_whose_parts_do_not_fit_is_refused(name, tmp_path):
    changes, fragment = REFUSED[name]
    path = tmp_path / "model.skops"
    path.write_bytes(forged(changes))
    with pytest.raises(ValueError, match=fragment):
        persistence.load_model(path)


def test_untouched_forgery_is_read(tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(forged({"verbose": value(0)}))
    assert persistence.load_model(path).predict(X).shape == Y.shape
