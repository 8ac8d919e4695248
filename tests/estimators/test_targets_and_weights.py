"""Labels, distributions and weights: each says what its definition promises."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tests.estimators.samples import DISTRIBUTIONS, NAMES, SPECIES, X, fixed

RNG = np.random.default_rng(5)
COUNTS = RNG.integers(0, 4, len(X))
SOFT = RNG.dirichlet([0.4, 0.4, 0.4], len(X))

# A tolerance below that of the comparisons, so that they see the optimum.
MODELS = {
    "exact": fixed(solver="exact"),
    "newton": fixed(solver="newton", tol=1e-9),
    "separate": fixed(tying="separate", variance=[1.0, 5.0, 20.0], solver="exact"),
    "linear": fixed("linear", solver="newton", tol=1e-9),
    # Rates and variances are given where data of another size would change the default.
    "tiled": fixed(rate=0.5, variance=10.0, operator="tiled", solver="newton", tol=1e-9),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


@every_model
def test_one_hot_distributions_equal_labels(model):
    labels = clone(model).fit(X, SPECIES).predict_proba(X)
    np.testing.assert_allclose(clone(model).fit(X, DISTRIBUTIONS).predict_proba(X), labels, atol=1e-7)


@every_model
def test_distribution_equals_weighted_labels(model):
    # A point with distribution p is a point of each class c with weight p_c.
    repeated, labels = np.repeat(X, 3, axis=0), np.tile(np.arange(3), len(X))
    wanted = clone(model).fit(repeated, labels, sample_weight=SOFT.ravel()).predict_proba(X)
    np.testing.assert_allclose(clone(model).fit(X, SOFT).predict_proba(X), wanted, atol=1e-6)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_distributions_name_the_classes(library):
    names = ["setosa", "versicolor", "virginica"]
    frame = pd.DataFrame(DISTRIBUTIONS, columns=names)
    if library == "polars":
        frame = pytest.importorskip("polars").DataFrame(DISTRIBUTIONS, schema=names)
    model = fixed().fit(X, frame)
    assert model.classes_.tolist() == names
    assert model.score(X, NAMES) > 0.95


def test_class_that_no_target_holds_gets_the_smallest_probability():
    model = fixed().fit(X, np.c_[DISTRIBUTIONS, np.zeros(len(X))])
    probabilities = model.predict_proba(X)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert probabilities[:, 3].max() < 0.05


def test_undecided_targets_give_undecided_probabilities():
    probabilities = fixed().fit(X, np.full((len(X), 3), 1 / 3)).predict_proba(X)
    np.testing.assert_allclose(probabilities, 1 / 3, atol=1e-9)


@every_model
def test_weight_zero_equals_dropping(model):
    kept = COUNTS > 0
    wanted = clone(model).fit(X[kept], SPECIES[kept]).predict_proba(X)
    found = clone(model).fit(X, SPECIES, sample_weight=kept.astype(float)).predict_proba(X)
    np.testing.assert_allclose(found, wanted, atol=1e-7)


@every_model
def test_whole_weights_equal_repetition(model):
    wanted = clone(model).fit(np.repeat(X, COUNTS, axis=0), np.repeat(SPECIES, COUNTS)).predict_proba(X)
    found = clone(model).fit(X, SPECIES, sample_weight=COUNTS).predict_proba(X)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_rows_of_weight_zero_have_no_coefficients():
    model = fixed().fit(X, SPECIES, sample_weight=COUNTS)
    assert np.array_equal(np.flatnonzero(model.dual_coef_.any(axis=1)), np.flatnonzero(COUNTS))
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-9)


def test_dropped_rows_of_a_kernel_matrix_are_dropped_as_columns():
    matrix = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    kept = np.flatnonzero(COUNTS)
    given = fixed("precomputed", variance=5.0)
    wanted = clone(given).fit(matrix[np.ix_(kept, kept)], SPECIES[kept]).predict_proba(matrix[:, kept])
    found = given.fit(matrix, SPECIES, sample_weight=COUNTS > 0).predict_proba(matrix)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_class_weights_multiply_sample_weights():
    weighted = fixed(class_weight={0: 1.0, 1: 3.0, 2: 0.5}).fit(X, SPECIES, COUNTS)
    by_hand = COUNTS * np.array([1.0, 3.0, 0.5])[SPECIES]
    wanted = fixed().fit(X, SPECIES, sample_weight=by_hand).predict_proba(X)
    np.testing.assert_allclose(weighted.predict_proba(X), wanted, atol=1e-9)


def test_class_weights_by_name():
    weighted = fixed(class_weight={"setosa": 2.0}).fit(X, NAMES)
    wanted = fixed().fit(X, NAMES, sample_weight=1.0 + (NAMES == "setosa"))
    np.testing.assert_allclose(weighted.predict_proba(X), wanted.predict_proba(X), atol=1e-9)


def test_balanced_classes_have_equal_total_weight():
    few = np.r_[0:25, 25:30, 50:75]
    counts = np.bincount(SPECIES[few])
    by_hand = (len(few) / (3 * counts))[SPECIES[few]]
    balanced = fixed(class_weight="balanced").fit(X[few], SPECIES[few])
    wanted = fixed().fit(X[few], SPECIES[few], sample_weight=by_hand)
    np.testing.assert_allclose(balanced.predict_proba(X), wanted.predict_proba(X), atol=1e-9)


def test_class_of_weight_zero_gets_the_smallest_probability():
    model = fixed(class_weight={1: 0.0}).fit(X, SPECIES)
    assert model.predict_proba(X)[:, 1].max() < 0.2
    assert set(model.predict(X)) == {0, 2}
