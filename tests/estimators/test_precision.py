"""Single precision where it does no harm: every result is that of the true model, whatever the inputs look like."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from logikern import KernelLogisticClassifier, Linear


def labels(inputs, random, noise=0.3):
    signal = np.sin(2.0 * inputs[:, 0]) + inputs[:, 1]
    return (signal + noise * random.logistic(size=len(inputs)) > 0).astype(int)


def cloud(n=300, seed=0):
    random = np.random.default_rng(seed)
    inputs = random.standard_normal((n, 3))
    return inputs, labels(inputs, random)


def residual(model, X, y):
    """Largest component of dual + gradient, in units of the largest of the gradient if that is below one.

    Kernel values are computed by differences in float64.
    """
    X, dual = X.astype(float), model.dual_coef_.astype(float)
    roots = np.sqrt(np.broadcast_to(model.kernels_[0].rate, X.shape[1]))
    correlation = np.exp(-0.5 * cdist(X * roots, X * roots, "sqeuclidean"))
    latents = model.variances_[0] * correlation @ dual + model.bias_variance * dual.sum(axis=0)
    odds = np.exp(latents - latents.max(axis=1, keepdims=True))
    probabilities = odds / odds.sum(axis=1, keepdims=True)
    missing = (y[:, None] == model.classes_) - probabilities
    return np.abs(dual - missing).max() / min(1.0, np.abs(missing).max())


def reported(model):
    return model.newton_trace_[-1].gradient_norm


@pytest.mark.parametrize(("rate", "variance"), [(0.02, 1e5), (0.1, 1e3), (3.0, 10.0)])
def test_reported_residual_is_that_of_the_true_model(rate, variance):
    X, y = cloud()
    model = KernelLogisticClassifier(criterion=None, rate=rate, variance=variance, precision="single").fit(X, y)
    assert residual(model, X, y) == pytest.approx(reported(model), rel=0.1)
    assert reported(model) <= model.tol


def test_an_outlier_does_not_swallow_the_other_rows():
    X, y = cloud()
    settings = {"criterion": None, "rate": 3.0, "variance": 10.0, "precision": "single"}
    without = KernelLogisticClassifier(**settings).fit(X, y).predict_proba(X)
    X[7] = 1e8
    model = KernelLogisticClassifier(**settings).fit(X, y)
    assert residual(model, X, y) <= 1.1 * model.tol
    # One row of 300 is gone; what it said about its neighbours is not much.
    assert np.abs(np.delete(model.predict_proba(X) - without, 7, axis=0)).max() < 0.2


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_sparse_rows_with_an_offset_are_learned_from_as_in_double(offset):
    random = np.random.default_rng(0)
    year, category = random.integers(0, 30, 400), random.integers(0, 5, 400)
    y = (np.sin(year / 5.0) + category % 3 + 0.5 * random.logistic(size=400) > 1).astype(int)
    X = sparse.csr_array(np.column_stack([year + offset, np.eye(5)[category]]))
    single, double = (
        KernelLogisticClassifier(precision=precision, random_state=0, ard=False).fit(X, y)
        for precision in ("auto", "double")
    )
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=0.02)  # inner fits are rough


def test_clusters_far_apart_are_learned_from_as_in_double():
    X, y = cloud(240)
    X[120:] += 1e4
    single, double = (
        KernelLogisticClassifier(precision=precision, random_state=0, rate=1.0).fit(X, y)
        for precision in ("auto", "double")
    )
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=0.02)  # inner fits are rough


@pytest.mark.parametrize("size", [1e20, 9.97e36])
def test_rows_of_huge_numbers_are_far_from_all_others(size):
    X, y = cloud(150)
    model = KernelLogisticClassifier(criterion=None).fit(X.astype(np.float32), y)
    far, huge = (model.predict_proba(np.full((1, 3), value, np.float32)) for value in (1e6, size))
    np.testing.assert_allclose(huge, far, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("size", [1e3, 1e8])
def test_an_outlier_does_not_mislead_the_default_rate(size, kind):
    X, y = cloud(400)
    rate = KernelLogisticClassifier(criterion=None).fit(kind(X), y).kernels_[0].rate
    X[7] = size
    with_outlier = KernelLogisticClassifier(criterion=None).fit(kind(X), y).kernels_[0].rate
    assert with_outlier == pytest.approx(rate, rel=0.02)


def test_features_of_single_precision_rows_keep_their_digits():
    X, y = cloud(60)
    X = X.astype(np.float32)
    settings = {"criterion": None, "variance": 1e7, "solver": "newton", "max_iter": 3}
    kernel = 1e-3 * Linear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single, double = (KernelLogisticClassifier(kernel, **settings).fit(rows, y) for rows in (X, X.astype(float)))
    # The same duals, so that nothing but the predictions may differ.
    single.model_ = replace(single.model_, dual=double.model_.dual)
    np.testing.assert_allclose(single.decision_function(X), double.decision_function(X), rtol=1e-9, atol=1e-9)


def test_constants_of_single_precision_duals_keep_their_digits():
    X, y = cloud(60)
    settings = {"criterion": None, "bias_variance": 1e4, "state_precision": "single", "max_iter": 50}
    model = KernelLogisticClassifier(**settings).fit(X, y).model_
    # Terms that nearly cancel: summed in single precision, they would leave nothing but rounding.
    dual = (1e3 * np.random.default_rng(0).standard_normal((2, 60))).astype(np.float32)
    dual[:, -1] -= dual.sum(axis=1)
    expected = 1e4 * dual.astype(float).sum(axis=1)
    np.testing.assert_allclose(replace(model, dual=dual).constants, expected, rtol=1e-9)
