"""The Laplacian kernel in the estimators: every solver, a tree, both criteria, and a start from the data."""

import numpy as np
import pytest
from scipy import sparse

from logikern import KernelLogisticClassifier, KernelRegressor, Laplacian
from logikern.kernels.metrics import CITY_BLOCK, SQUARED_EUCLIDEAN
from logikern.model.defaults import default_rate, mean_distance
from tests.estimators.samples import NAMES, X, fixed
from tests.reference import kernels as reference

GIVEN = {"rate": 0.5, "variance": 10.0, "tol": 1e-6, "random_state": 0}
TREE = {"setosa": "small", "versicolor": "large", "virginica": "large"}


def one_hot(n=120):
    """Two categories of which the first decides the class, one-hot, and a number without effect."""
    random = np.random.default_rng(0)
    levels = random.integers(30, size=(n, 2))
    table = np.hstack([np.eye(30)[levels].reshape(n, -1), random.standard_normal((n, 1))])
    return table, levels[:, 0] % 2


@pytest.mark.parametrize("hierarchy", [None, TREE], ids=["flat", "tree"])
@pytest.mark.parametrize("solver", ["newton", "kcg", "smo"])
def test_every_solver_finds_the_exact_fit(solver, hierarchy):
    settings = GIVEN | {"hierarchy": hierarchy}
    wanted = fixed("laplacian", solver="exact", **settings).fit(X, NAMES).predict_proba(X)
    found = fixed("laplacian", solver=solver, **settings).fit(X, NAMES).predict_proba(X)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"operator": "tiled"}, {"precision": "single"}], ids=str)
def test_kernel_matrix_of_scipy_gives_the_same_fit(settings):
    table, y = one_hot()
    matrix = reference.laplacian(0.5)(table, table)
    wanted = fixed("precomputed", variance=10.0, tol=1e-6).fit(matrix, y).predict_proba(matrix)
    found = fixed("laplacian", **GIVEN, **settings).fit(table, y).predict_proba(table)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_sparse_rows_give_the_fit_of_dense_ones():
    table, y = one_hot()
    dense = fixed("laplacian", **GIVEN).fit(table, y).predict_proba(table)
    stored = sparse.csr_array(table)
    found = fixed("laplacian", **GIVEN).fit(stored, y).predict_proba(stored)
    np.testing.assert_allclose(found, dense, atol=1e-8)


@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_a_search_learns_its_rates(criterion, ard):
    model = KernelLogisticClassifier("laplacian", criterion=criterion, ard=ard, random_state=0).fit(X, NAMES)
    assert model.score(X, NAMES) > 0.95
    assert isinstance(model.kernels_[0], Laplacian)
    assert len(model.kernels_[0].log_parameters) == (X.shape[1] if ard else 1)


def test_a_search_gives_the_inputs_of_a_column_one_rate():
    table, y = one_hot(200)
    columns = (0,) * 30 + (1,) * 30 + (2,)
    kernel = Laplacian(0.3, columns=columns)
    model = KernelLogisticClassifier(kernel, ard=True, random_state=0).fit(table, y)
    found = model.kernels_[0]
    assert found.columns == columns and len(found.rate) == 3
    assert found.rate[0] > 1.5 * max(found.rate[1:])


def test_numbers_are_learned_as_well():
    random = np.random.default_rng(0)
    table = random.uniform(-1.0, 1.0, (80, 2))
    y = np.sign(table[:, 0]) + 0.05 * random.standard_normal(80)
    assert KernelRegressor("laplacian", random_state=0).fit(table, y).score(table, y) > 0.9


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_first_rate_makes_typical_distances_about_one(scale):
    table, weights = scale * X, np.ones(len(X))
    distances = CITY_BLOCK.distances(table, table, default_rate("laplacian", table, weights))
    assert 0.7 < np.median(distances[distances > 0]) < 1.5


def test_first_rate_is_that_of_the_points_without_outliers():
    weights = np.ones(len(X))
    spoiled = X.copy()
    spoiled[7] = 1e6
    usual, found = (default_rate("laplacian", table, weights) for table in (X, spoiled))
    assert found == pytest.approx(usual, rel=0.1)


@pytest.mark.parametrize("metric", [CITY_BLOCK, SQUARED_EUCLIDEAN], ids=repr)
def test_first_rate_counts_weights_as_copies(metric):
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    copies = np.repeat(X, weights, axis=0)
    expected = mean_distance(metric, copies, np.ones(len(copies)))
    assert mean_distance(metric, X, weights) == pytest.approx(expected, rel=1e-12)
    assert mean_distance(metric, sparse.csr_array(X), weights) == pytest.approx(expected, rel=1e-12)
