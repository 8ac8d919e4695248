"""What our estimators do beyond scikit-learn's interface, for pipelines and searches that contain one."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import logikern
from logikern import KernelRegressor
from tests.estimators.samples import NAMES, X, fixed

SCALED = StandardScaler().fit_transform(X)
LOSS = [[0, 1, 9], [1, 0, 1], [2, 1, 0]]
# A plain model on scaled inputs, and others that do the scaling themselves; each with the rows that it takes.
MODELS = {
    "model": (fixed(), SCALED),
    "pipeline": (make_pipeline(StandardScaler(), fixed()), X),
    "one step": (make_pipeline(fixed()), SCALED),
    "search": (GridSearchCV(make_pipeline(StandardScaler(), fixed()), {"standardscaler": [StandardScaler()]}), X),
}
every_model = pytest.mark.parametrize("name", MODELS)


def fit(name):
    model, rows = MODELS[name]
    return model.fit(rows, NAMES), rows


def plain():
    return fixed().fit(SCALED, NAMES)


@every_model
def test_any_of_them_is_explained(name):
    model, _ = fit(name)
    assert logikern.explain(model).split("Resources")[0] == plain().explain().split("Resources")[0]


@every_model
def test_any_of_them_decides(name):
    model, rows = fit(name)
    settings = {"loss": LOSS, "reject_cost": 0.3, "reject_label": "none"}
    decided = logikern.predict_decisions(model, rows, **settings)
    assert decided.tolist() == plain().decide(SCALED, **settings).tolist() and "none" in decided


@every_model
def test_any_of_them_has_suspects(name):
    model, _ = fit(name)
    assert logikern.suspects(model, 5).equals(plain().suspects(5))


@every_model
def test_any_of_them_gives_a_frame(name):
    pytest.importorskip("pandas")
    model, rows = fit(name)
    frame = logikern.predict_proba_frame(model, rows)
    assert frame.equals(plain().predict_proba_frame(SCALED))


def test_frame_of_a_pipeline_has_the_index_of_its_rows():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, index=100 + np.arange(len(X)))
    model = make_pipeline(StandardScaler(), fixed()).fit(table, NAMES)
    assert logikern.predict_proba_frame(model, table).index.tolist() == table.index.tolist()


def test_suspects_of_a_pipeline_get_the_index_of_its_rows():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, index=100 + np.arange(len(X)))
    found = logikern.suspects(make_pipeline(StandardScaler(), fixed()).fit(table, NAMES), 5, table)
    assert found.index.tolist() == [100 + row for row in found["row"]]


def test_regression_in_a_pipeline_is_explained():
    model = make_pipeline(StandardScaler(), KernelRegressor(criterion=None)).fit(X, X.sum(axis=1))
    assert "One kernel and one variance." in logikern.explain(model)


@pytest.mark.parametrize("wrong", [DummyClassifier(), make_pipeline(StandardScaler(), DummyClassifier())])
def test_other_estimators_are_refused(wrong):
    with pytest.raises(ValueError, match="must be a KernelLogisticClassifier .* DummyClassifier"):
        logikern.explain(wrong.fit(X, NAMES))


def test_search_without_a_final_model_is_refused_with_advice():
    search = GridSearchCV(fixed(), {"variance": [1.0, 10.0]}, refit=False, cv=2)
    with pytest.raises(ValueError, match="a search that was fitted with refit=True, but is of type GridSearchCV"):
        logikern.explain(search.fit(X, NAMES))


def test_search_is_not_saved_but_its_best_estimator_is_named(tmp_path):
    search = GridSearchCV(fixed(), {"variance": [1.0, 10.0]}, cv=2).fit(X, NAMES)
    with pytest.raises(ValueError, match="For a search, save its `best_estimator_`"):
        logikern.save_model(search, tmp_path / "model.skops")


@every_model
def test_deciding_by_a_model_instead_of_probabilities_is_refused_with_advice(name):
    model, rows = fit(name)
    with pytest.raises(ValueError, match=r"is a model of type \w+\. .* use `predict_decisions\(model, X\)`"):
        logikern.decide(model, rows)


def test_suspects_without_a_number_name_the_argument_for_rows():
    with pytest.raises(ValueError, match=r"type ndarray and shape \(\d+, \d+\)\. .* `suspects\(model, X=X\)`"):
        logikern.suspects(plain(), X, NAMES)


@pytest.mark.parametrize("ask", [logikern.explain, logikern.suspects, lambda model: model.predict_proba(X)])
def test_pipeline_that_is_not_fitted_is_refused(ask):
    with pytest.raises(NotFittedError):
        ask(make_pipeline(StandardScaler(), fixed()))
