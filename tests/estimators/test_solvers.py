"""What solver="auto" takes, and that it does not matter for the answer."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from logikern.estimators import _solver_plan
from logikern.estimators._names import solvers
from logikern.fitting.pairwise.solver import Smo
from logikern.numerics.outcome import Outcome
from tests.estimators.samples import NAMES, X, fixed
from tests.policies import change_policy

GIVEN = {"rate": 0.5, "variance": 10.0, "random_state": 0}


@pytest.fixture
def large(monkeypatch):
    """A world in which 75 points of three classes are many."""
    change_policy(monkeypatch, _solver_plan, exact_up_to=10, pairs_from=200)


@pytest.fixture
def wanted():
    return fixed(solver="exact", **GIVEN).fit(X, NAMES).predict_proba(X)


def test_many_classes_of_many_points_are_trained_in_pairs(large, wanted):
    model = fixed(**GIVEN).fit(X, NAMES)
    assert "pairwise coordinate ascent" in model.operator_
    np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-3)


def test_so_are_classes_in_a_tree(large):
    tree = {"setosa": "small", "versicolor": "large", "virginica": "large"}
    model = fixed(**GIVEN, hierarchy=tree).fit(X, NAMES)
    assert "pairwise coordinate ascent" in model.operator_
    wanted = fixed(solver="exact", **GIVEN, hierarchy=tree).fit(X, NAMES).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"tying": "separate"},
        {"operator": "dense"},
        {"solver": "newton"},
        {"kernel": "linear"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_others_are_not(large, settings):
    model = fixed(**{**GIVEN, "rate": None} | settings).fit(X, NAMES)
    assert "pairwise coordinate ascent" not in model.operator_


def test_newton_goes_on_where_sweeps_do_not_end(large, wanted, monkeypatch):
    change_policy(monkeypatch, solvers, sweeps=0)
    model = fixed(**GIVEN).fit(X, NAMES)
    assert model.outcome_.converged
    assert "pairwise coordinate ascent" not in model.operator_
    np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-3)


def test_newton_keeps_the_sweeps_before_it(large, monkeypatch):
    change_policy(monkeypatch, solvers, sweeps=0)
    trace = fixed(**GIVEN).fit(X, NAMES).newton_trace_
    assert [step.step for step in trace] == list(range(len(trace)))
    assert trace[0].step_length == 1.0 and trace[0].products == 0 and len(trace) > 2


@pytest.fixture
def overflowing(monkeypatch):
    """Sweeps that end in values that are not finite."""
    fit = Smo.fit

    def broken(*arguments, **settings):
        result = fit(*arguments, **settings)
        return replace(result, dual=np.full_like(result.dual, np.nan), outcomes=(Outcome.NOT_FINITE,))

    monkeypatch.setattr(Smo, "fit", broken)


def test_newton_goes_on_where_sweeps_overflow(large, wanted, overflowing):
    model = fixed(**GIVEN).fit(X, NAMES)
    assert model.outcome_.converged
    np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-3)


def test_overflow_of_a_solver_asked_for_is_an_error(overflowing):
    with pytest.raises(ValueError, match="not finite"):
        fixed(solver="smo", **GIVEN).fit(X, NAMES)


@pytest.mark.parametrize("solver", ["newton", "exact"])
def test_advice_names_the_precision_that_is_the_cause(solver):
    with pytest.warns(ConvergenceWarning, match="Use state_precision='double'"):
        fixed(solver=solver, variance=1e5, tol=1e-6, state_precision="single", random_state=0).fit(X, NAMES)
