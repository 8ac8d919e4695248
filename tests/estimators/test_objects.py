"""Kernels of the user: functions on any objects, and given matrices."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score

from logikern.kernels import FunctionKernel, Gaussian, Linear, Precomputed
from tests.estimators.samples import KINDS, SPECIES, WORDS, X, fixed, shared_pairs

FOLDS = KFold(3, shuffle=True, random_state=1)


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, lambda words: np.array(words, dtype=object)])
def test_function_of_strings_takes_every_sequence(form):
    model = fixed(shared_pairs).fit(form(WORDS), form(KINDS))
    assert model.predict(form(["canana", "kiwiki"])).tolist() == ["a", "i"]


def test_polars_series_of_strings():
    polars = pytest.importorskip("polars")
    model = fixed(shared_pairs).fit(polars.Series(WORDS), polars.Series(KINDS))
    assert model.predict(polars.Series(["canana"])).tolist() == ["a"]


def test_function_of_strings_in_cross_validation():
    assert cross_val_score(fixed(shared_pairs), WORDS * 3, KINDS * 3, cv=FOLDS).min() == 1.0


def test_function_of_sets():
    def overlap(left, right):
        return len(left & right) / len(left | right)

    model = fixed(overlap).fit([set(word) for word in WORDS], KINDS)
    assert model.predict([{"b", "a", "n"}, {"k", "i", "w"}]).tolist() == ["a", "i"]


def test_multiples_and_sums_of_functions_take_objects():
    kernel = 2.0 * FunctionKernel(shared_pairs) + FunctionKernel(lambda x, z: float(len(x) == len(z)))
    model = fixed(kernel).fit(WORDS, KINDS)
    assert model.predict(["canana"]).tolist() == ["a"]


def dot(x, z):
    return float(x @ z)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_matrix], ids=["array", "frame", "sparse"])
def test_function_of_rows_equals_the_kernel_itself(form):
    wanted = fixed(Linear(), variance=0.5).fit(X, SPECIES).predict_proba(X)
    model = fixed(dot, variance=0.5).fit(form(X), SPECIES)
    np.testing.assert_allclose(model.predict_proba(form(X)), wanted, atol=1e-7)


def test_function_and_named_kernel_add_up_on_rows():
    mixed = fixed(FunctionKernel(dot) + Gaussian(0.3), variance=0.5).fit(X, SPECIES)
    wanted = fixed(Linear() + Gaussian(0.3), variance=0.5).fit(X, SPECIES)
    np.testing.assert_allclose(mixed.predict_proba(X), wanted.predict_proba(X), atol=1e-7)


KERNEL = Gaussian(0.6)
MATRIX = KERNEL(X, X)


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()], ids=["name", "object"])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix, pd.DataFrame])
def test_given_matrix_equals_the_kernel_itself(form, kernel):
    wanted = fixed(KERNEL, variance=5.0).fit(X, SPECIES).predict_proba(X)
    model = fixed(kernel, variance=5.0).fit(form(MATRIX), SPECIES)
    np.testing.assert_allclose(model.predict_proba(form(MATRIX)), wanted, atol=1e-5)


def test_given_matrix_is_sliced_in_cross_validation():
    given = fixed("precomputed", variance=5.0)
    found = cross_val_predict(given, MATRIX, SPECIES, cv=FOLDS, method="predict_proba")
    itself = fixed(KERNEL, variance=5.0)
    wanted = cross_val_predict(itself, X, SPECIES, cv=FOLDS, method="predict_proba")
    np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("operator", ["dense", "tiled"])
@pytest.mark.parametrize("solver", ["newton", "exact"])
def test_given_matrix_in_every_way_of_solving(operator, solver):
    given = fixed("precomputed", variance=5.0, tol=1e-8)
    wanted = clone(given).fit(MATRIX, SPECIES).predict_proba(MATRIX)
    found = given.set_params(operator=operator, solver=solver).fit(MATRIX, SPECIES).predict_proba(MATRIX)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_twice_a_given_matrix_is_twice_the_variance():
    double = fixed(2.0 * Precomputed(), variance=2.5).fit(MATRIX, SPECIES)
    wanted = fixed("precomputed", variance=5.0).fit(MATRIX, SPECIES)
    np.testing.assert_allclose(double.predict_proba(MATRIX), wanted.predict_proba(MATRIX), atol=1e-9)
