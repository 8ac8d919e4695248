"""Settings that are changed after a fit change nothing of what it found."""

import copy
from functools import cache

import numpy as np
import pytest

from logikern import KernelLogisticClassifier, KernelRegressor, load_model
from tests.estimators import samples
from tests.estimators.samples import fixed

X, NAMES = samples.X[::5], samples.NAMES[::5]
TREE = {"setosa": "small", "versicolor": "large", "virginica": "large"}
CHANGES = {
    "function as kernel": {"kernel": lambda left, right: 1.0},
    "matrix as kernel": {"kernel": "precomputed"},
    "hierarchy": {"hierarchy": TREE},
    "against the rest": {"one_vs_rest": True},
    "together": {"one_vs_rest": False},
    "no search": {"criterion": None},
    "free constants": {"bias_variance": np.inf},
    "no constants": {"bias_variance": 0.0},
    "products": {"operator": "features", "solver": "smo", "precision": "single"},
    "seed": {"random_state": 7},
}


@cache
def fits():
    """Models whose ways part after the fit."""
    return {
        "learned": KernelLogisticClassifier(cv=2, random_state=0).fit(X, NAMES),
        "against the rest": fixed(one_vs_rest=True).fit(X, NAMES),
        "on a tree": fixed(hierarchy=TREE).fit(X, NAMES),
        "free constants": fixed(bias_variance=np.inf).fit(X, NAMES),
    }


ASKED = {
    "explain": lambda model: model.explain(),
    "hyperparameters": lambda model: model.hyperparameters_.to_dict(),
    "probabilities": lambda model: model.predict_proba(X).tolist(),
    "decisions": lambda model: model.decide(X, reject_cost=0.3).tolist(),
    "refits": lambda model: np.round(model.exact_loo(), 6).tolist(),
    "suspects": lambda model: model.suspects(5).to_dict(),
}


def answers(model):
    """What a model answers; that it has no leave-one-out is an answer, too."""
    told = {}
    model.__dict__.pop("_left_out", None)
    for name, ask in ASKED.items():
        try:
            told[name] = ask(model)
        except AttributeError as error:
            told[name] = str(error)
    return told


@cache
def answers_before(name):
    return answers(copy.copy(fits()[name]))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["learned", "against the rest", "on a tree", "free constants"])
def test_answers_are_those_of_the_fit(name, change):
    changed = copy.copy(fits()[name]).set_params(**CHANGES[change])
    assert repr(answers(changed)) == repr(answers_before(name))  # NaN equals itself as text


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "function as kernel"])
def test_what_is_saved_is_the_fit(change, tmp_path):
    model = fixed().fit(X, NAMES)
    expected = model.predict_proba(X)
    model.set_params(**CHANGES[change]).save_model(tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict_proba(X), expected)


@pytest.mark.parametrize("criterion, changed", [("loo", None), (None, "loo")])
def test_story_of_a_regressor_is_that_of_the_fit(criterion, changed):
    model = KernelRegressor(criterion=criterion, random_state=0).fit(X[:, :3], X[:, 3])
    told = model.explain()
    assert model.set_params(criterion=changed).explain() == told


def test_rows_are_added_by_the_kernel_of_the_fit():
    settings = {"rate": 0.5, "variance": 10.0, "random_state": 0}
    first, second = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    model = fixed(**settings).fit(X[first], NAMES[first]).set_params(kernel=lambda left, right: 1.0)
    expected = fixed(**settings).fit(X[first], NAMES[first]).partial_fit(X[second], NAMES[second])
    found = model.partial_fit(X[second], NAMES[second])
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
