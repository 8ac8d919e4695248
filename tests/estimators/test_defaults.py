"""Defaults read off the data: useful on raw tables, close to a tuned linear model on standardised ones."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.estimators.samples import fixed

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
KERNELS = ["gaussian", "matern12", "matern32", "matern52", "rational_quadratic", "laplacian", "linear"]
TABLES = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}


def log_loss(model, X, y):
    return -cross_val_score(model, X, y, cv=FOLDS, scoring="neg_log_loss").mean()


def prior_loss(y):
    shares = np.bincount(y) / len(y)
    return -shares @ np.log(shares)


@pytest.mark.parametrize("name", TABLES)
def test_raw_table_is_learned(name):
    X, y = TABLES[name](return_X_y=True)
    # Of raw wine and breast cancer one large column drives the distances: much is lost, but far from all.
    assert log_loss(fixed(), X, y) < 0.55 * prior_loss(y)


@pytest.mark.parametrize("name", TABLES)
def test_standardised_table_is_learned_as_well_as_by_logistic_regression(name):
    X, y = TABLES[name](return_X_y=True)
    ours = log_loss(make_pipeline(StandardScaler(), fixed()), X, y)
    assert ours < 1.25 * log_loss(make_pipeline(StandardScaler(), LogisticRegression()), X, y)


def test_digits_are_learned_as_well_as_by_logistic_regression():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    assert log_loss(fixed(), X, y) < 1.15 * log_loss(linear, X, y)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e6, 1e60])
def test_units_of_the_table_do_not_matter(scale, kernel):
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], y[::2]
    wanted = fixed(kernel).fit(X, y).predict_proba(X)
    found = fixed(kernel).fit(scale * X, y).predict_proba(scale * X)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_place_of_the_table_does_not_matter():
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], y[::2]
    wanted = fixed().fit(X, y).predict_proba(X)
    moved = X + 1e6
    # At 1e6 the inputs keep nine digits behind the point.
    np.testing.assert_allclose(fixed().fit(moved, y).predict_proba(moved), wanted, atol=1e-6)
