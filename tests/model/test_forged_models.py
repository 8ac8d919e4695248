"""Files that were put together with care: right types and shapes, but values that would mislead or break a model."""

import copy

import numpy as np
import pytest

from logikern import KernelLogisticClassifier, KernelRegressor, load_model
from logikern.kernels import Gaussian, KernelRows, Linear, Precomputed
from logikern.model import persistence
from tests.estimators.samples import fixed
from tests.model.forgery import SPECIES, X

MATRIX, PLACES = X @ X.T, np.arange(len(X))
PLAIN = fixed().fit(X, SPECIES)
NAMED = fixed().fit(X, np.array(["a", "b", "c"])[SPECIES])
GIVEN = fixed("precomputed").fit(MATRIX, SPECIES)
REST = fixed(one_vs_rest=True).fit(X, SPECIES)
NUMBERS = KernelRegressor(criterion=None).fit(X[:, 1:], X[:, 0])
LEARNED = KernelLogisticClassifier(cv=2, tying="shared", ard=False, random_state=0).fit(X, SPECIES)


def altered(record, **changes):
    """A copy with other fields, whatever its constructor would say."""
    other = copy.copy(record)
    for name, value in changes.items():
        object.__setattr__(other, name, value)
    return other


def with_model(estimator, **changes):
    return altered(estimator, model_=altered(estimator.model_, **changes))


def with_specification(estimator, **changes):
    return with_model(estimator, specification=altered(estimator.model_.specification, **changes))


def with_places(places):
    return with_model(GIVEN, points=KernelRows(None, places))


def without(estimator, name):
    other = copy.copy(estimator)
    delattr(other, name)
    return other


def broken(values):
    """The same with one entry that is no number."""
    other = values.copy()
    other.flat[0] = np.nan
    return other


TYING = PLAIN.model_.specification.tying
FORGED = {
    "places beyond the matrix": (with_places(PLACES + 1), "not positions among the 30 rows"),
    "places far beyond": (with_places(PLACES * 10**12), "not positions among the 30 rows"),
    "places below zero": (with_places(PLACES - 1), "not positions among the 30 rows"),
    "one place for all": (with_places(np.zeros(len(X), dtype=int)), "not positions among the 30 rows"),
    "places in a table": (with_places(PLACES[:, None]), "not positions in a kernel matrix"),
    "matrix of fewer rows": (altered(GIVEN, n_features_in_=3), "not positions among the 3 rows"),
    "places for a kernel of inputs": (with_model(PLAIN, points=KernelRows(None, PLACES)), "match its kernels"),
    "inputs for a given matrix": (with_model(GIVEN, points=MATRIX), "match its kernels"),
    "a class twice": (altered(PLAIN, classes_=np.array([0, 0, 1])), "not distinct labels"),
    "a name twice": (altered(NAMED, classes_=np.array(["a", "b", "a"])), "not distinct labels"),
    "a class twice, against the rest": (altered(REST, classes_=np.array([0, 1, 1])), "not distinct labels"),
    "a class is no number": (altered(PLAIN, classes_=np.array([0, np.nan, 1])), "not distinct labels"),
    "a class is missing": (altered(PLAIN, classes_=np.array([None, 1, 2], dtype=object)), "not distinct labels"),
    "classes are complex": (altered(PLAIN, classes_=np.array([1j, 2j, 3j])), "classes are not labels"),
    "features as text": (altered(PLAIN, n_features_in_="4"), "how many features"),
    "names of other features": (
        altered(PLAIN, feature_names_in_=np.array(["a", "b"])),
        "names do not match its features",
    ),
    "coefficients are no numbers": (with_model(PLAIN, dual=broken(PLAIN.model_.dual)), "coefficients are not finite"),
    "points are no numbers": (with_model(PLAIN, points=broken(PLAIN.model_.points)), "points are not finite"),
    "constants are no numbers": (with_model(NUMBERS, free_constants=np.array([np.nan])), "biases are not finite"),
    "rates of other features": (with_specification(PLAIN, kernels=(Gaussian((1.0, 2.0)),)), "rates for a different"),
    "groups are fractions": (with_specification(PLAIN, tying=altered(TYING, kernel_of=(0.0,) * 3)), "not integers"),
    "groups are truth values": (
        with_specification(PLAIN, tying=altered(TYING, kernel_of=(False,) * 3)),
        "not integers",
    ),
    "another kernel is shown": (altered(PLAIN, kernels_=(Linear(),)), "not match its model"),
    "a given kernel is shown": (altered(PLAIN, kernels_=(Precomputed(),)), "encoder, but its kernel is precomputed"),
    "no kernel is shown": (altered(REST, kernels_=()), "not match its model"),
    "other variances are shown": (altered(PLAIN, variances_=np.ones(2)), "variances do not match its model"),
    "coefficients of fewer classes": (altered(PLAIN, dual_coef_=PLAIN.dual_coef_[:, :2]), "column for each class"),
    "coefficients of fewer rows": (altered(PLAIN, dual_coef_=PLAIN.dual_coef_[:3]), "fewer coefficients than points"),
    "coefficients of fewer rows, of numbers": (
        altered(NUMBERS, dual_coef_=np.zeros(3)),
        "fewer coefficients than points",
    ),
    "start of fewer classes": (
        altered(PLAIN, start_=REST.binaries_[0].start_),
        "starting values belong to another model",
    ),
    "evaluation took a word": (
        altered(LEARNED, trace_=(altered(LEARNED.trace_[0], seconds="x"),)),
        "trace is not a list",
    ),
    "verdict in words": (
        altered(LEARNED, verdicts_=(altered(LEARNED.verdicts_[0], value="x"),)),
        "verdicts are not a list",
    ),
    "verdicts are text": (altered(LEARNED, verdicts_="abc"), "verdicts are not a list"),
    "steps are text": (altered(LEARNED, newton_trace_="abc"), "steps are not a list"),
    "no steps": (without(LEARNED, "newton_trace_"), "steps are not a list"),
    "criterion is text": (altered(LEARNED, criterion_value_="x"), "criterion has no value"),
    "steps in words": (altered(PLAIN, n_iter_="many"), "how many steps"),
    "no models against the rest": (without(REST, "binaries_"), "not have a model for every class"),
    "models in another order": (altered(REST, binaries_=REST.binaries_[::-1]), "not match its classes"),
    "other outputs": (altered(NUMBERS, n_outputs_=4), "number of outputs does not match"),
    "error is text": (altered(NUMBERS, held_out_error_="x"), "no held-out error"),
    "errors are too many": (altered(NUMBERS, held_out_rmse_=np.ones(7)), "one held-out error per output"),
}


def keep(estimator, folder):
    path = folder / "model.skops"
    path.write_bytes(persistence._pack(estimator))
    return path


@pytest.mark.parametrize("name", FORGED)
def test_forged_model_is_refused_when_it_is_loaded(name, tmp_path):
    estimator, fragment = FORGED[name]
    path = keep(estimator, tmp_path)
    with pytest.raises(ValueError, match=fragment):
        load_model(path)


@pytest.mark.parametrize("estimator", [PLAIN, NAMED, GIVEN, REST, NUMBERS, LEARNED], ids=repr)
def test_model_as_it_was_is_loaded(estimator, tmp_path):
    found = load_model(keep(estimator, tmp_path))
    points = {30: MATRIX, 3: X[:, 1:]}.get(estimator.n_features_in_, X)
    np.testing.assert_array_equal(found.predict(points), estimator.predict(points))
