"""Estimators whose products are approximate sums: the fits of stored matrices."""

import numpy as np
import pytest

from logikern import KernelLogisticClassifier, KernelRegressor
from logikern.operators import fourier
from logikern.operators.choose import POLICY
from logikern.operators.fourier import Fourier
from logikern.operators.sparse import NearPairs

KINDS = {"sparse": NearPairs, "fourier": Fourier}
# Short length scales have few near pairs, long ones few modes.
CASES = [("sparse", 2000.0), ("fourier", 30.0)]


@pytest.fixture(autouse=True)
def used(monkeypatch):
    """Names of the fast sums that were used; few points suffice for them, whatever their cost."""
    monkeypatch.setitem(vars(POLICY), "fast_from", 1)
    monkeypatch.setitem(vars(fourier.POLICY), "values_per_mode", 0.0)
    found = set()
    for name, kind in KINDS.items():

        def count(self, functions, name=name, matmul=kind.matmul):
            found.add(name)
            return matmul(self, functions)

        monkeypatch.setattr(kind, "matmul", count)
    return found


def places(n=300):
    return np.random.default_rng(0).random((n, 2))


def heights():
    return np.sin(9.0 * places()[:, 0]) + np.cos(7.0 * places()[:, 1])


def regions():
    """Three classes."""
    return np.digitize(heights(), [-0.5, 0.7])


def weights():
    return np.random.default_rng(1).uniform(0.5, 2.0, 300)


def fit_both(make, operator, used, *arguments, **options):
    """A fit with a stored matrix, and one that uses the operator."""
    exact = make(operator="dense").fit(*arguments, **options)
    assert not used
    fast = make(operator=operator).fit(*arguments, **options)
    assert used == {operator}
    return exact, fast


@pytest.mark.parametrize("operator, rate", CASES)
@pytest.mark.parametrize("precision", ["single", "double"])
def test_regression_is_that_of_the_matrix(used, operator, rate, precision):
    def make(operator):
        return KernelRegressor(
            rate=rate, variance=10.0, criterion=None, solver="newton", precision=precision, operator=operator
        )

    exact, fast = fit_both(make, operator, used, places(), heights(), sample_weight=weights())
    # Both fits stop at a gradient of 1e-4.
    np.testing.assert_allclose(fast.predict(places()), exact.predict(places()), atol=1e-3)


@pytest.mark.parametrize("operator, rate", CASES)
@pytest.mark.parametrize("hierarchy", [None, {0: "low", 1: "high", 2: "high"}], ids=["flat", "tree"])
def test_probabilities_are_those_of_the_matrix(used, operator, rate, hierarchy):
    def make(operator):
        return KernelLogisticClassifier(
            rate=rate, variance=5.0, criterion=None, solver="newton", hierarchy=hierarchy, operator=operator
        )

    exact, fast = fit_both(make, operator, used, places(), regions(), sample_weight=weights())
    np.testing.assert_allclose(fast.predict_proba(places()), exact.predict_proba(places()), atol=1e-3)


@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_search_finds_the_hyperparameters_of_the_matrix(used, criterion):
    def make(operator):
        return KernelRegressor(criterion=criterion, ard=True, random_state=0, operator=operator)

    exact, fast = fit_both(make, "fourier", used, places(), heights() + 0.1 * weights())
    assert fast.criterion_value_ == pytest.approx(exact.criterion_value_, abs=1e-3)
    np.testing.assert_allclose(fast.predict(places()), exact.predict(places()), atol=0.02)


def test_other_kernels_are_refused():
    with pytest.raises(ValueError, match="needs a Gaussian, Matern 3/2 or 5/2 kernel"):
        KernelRegressor("laplacian", operator="fourier").fit(places(), heights())


@pytest.mark.parametrize("operator", ["sparse", "fourier", "fast"])
def test_few_rows_are_said_to_have_exact_products(operator, monkeypatch):
    monkeypatch.setitem(vars(POLICY), "fast_from", 61)
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = KernelLogisticClassifier("gaussian", rate=1.0, variance=1.0, criterion=None, operator=operator)
    assert f"exact: {operator} sums need at least 61 rows" in model.fit(X, X[:, 0] > 0).operator_
