"""Inputs that look wrong but have an answer: the right one is given."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score

from logikern.kernels import Gaussian
from tests.estimators.samples import fixed

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
Y = np.arange(30) % 3
UNEVEN = np.repeat([0, 1, 2], [18, 9, 3])
# A flat loss has no direction of descent; whether that is reported is the solver's matter, not the answer's.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CONSTANT = {
    "ones": np.ones((30, 3)),
    "zeros": np.zeros((30, 3)),
    "one point thirty times": np.repeat(X[:1], 30, axis=0),
    "empty sparse": sparse.csr_matrix((30, 3)),
}


def posterior_of_constants(targets, variance):
    """Probabilities of a softmax of constants u_c of that prior variance, by Newton on three numbers."""
    counts = np.bincount(targets)
    constants = np.zeros(len(counts))
    for _ in range(100):
        shares = np.exp(constants - constants.max())
        shares /= shares.sum()
        gradient = constants / variance + counts.sum() * shares - counts
        curvature = np.eye(len(counts)) / variance + counts.sum() * (np.diag(shares) - np.outer(shares, shares))
        constants -= np.linalg.solve(curvature, gradient)
    return shares


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "matern32"])
@pytest.mark.parametrize("name", CONSTANT)
def test_constant_inputs_leave_the_shares_of_classes(name, kernel):
    table = CONSTANT[name]
    model = fixed(kernel, variance=1.0, bias_variance=16.0).fit(table, UNEVEN)
    # What is constant adds its own variance to that of the bias.
    alike = model.kernels_[0](table[:1], table[:1]).item()
    wanted = posterior_of_constants(UNEVEN, 16.0 + alike)
    np.testing.assert_allclose(model.predict_proba(table), np.tile(wanted, (30, 1)), atol=1e-6)


def test_constant_column_changes_nothing():
    wanted = fixed().fit(X, Y).predict_proba(X)
    extended = np.c_[X, np.full(30, 7.0)]
    np.testing.assert_allclose(fixed().fit(extended, Y).predict_proba(extended), wanted, atol=1e-7)


def test_contradicting_labels_of_equal_points_give_their_shares():
    points, labels = np.repeat([[0.0], [100.0]], 40, axis=0), np.r_[np.arange(40) % 4 == 0, np.arange(40) % 2 == 0]
    probabilities = fixed(variance=1e3).fit(points, labels).predict_proba([[0.0], [100.0]])
    np.testing.assert_allclose(probabilities[:, 1], [0.25, 0.5], atol=0.01)


def test_two_rows_are_enough():
    model = fixed().fit(X[:2], ["a", "b"])
    assert model.predict(X[:2]).tolist() == ["a", "b"]


def test_every_row_a_class_of_its_own():
    with pytest.warns(UserWarning, match="unique classes"):
        model = fixed().fit(X, np.arange(30))
    assert model.predict(X).tolist() == list(range(30))


def test_unknown_labels_at_score_count_as_errors():
    model = fixed().fit(X, Y)
    unseen = np.where(Y == 0, 9, Y)
    assert model.score(X, unseen) == accuracy_score(unseen, model.predict(X))


def test_column_of_labels_is_taken_with_a_warning():
    with pytest.warns(UserWarning, match="column-vector y"):
        model = fixed().fit(X, Y[:, None])
    assert model.classes_.tolist() == [0, 1, 2]


def test_small_scale_is_no_obstacle():
    wanted = fixed().fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(fixed().fit(1e-120 * X, Y).predict_proba(1e-120 * X), wanted, atol=1e-7)


def test_wide_sparse_table_is_not_made_dense():
    columns = RNG.integers(1_000_000, size=60 * 20)
    wide = sparse.csr_matrix((RNG.random(60 * 20), columns, np.arange(0, 60 * 20 + 1, 20)), shape=(60, 1_000_000))
    marked = sparse.hstack([wide, sparse.csr_matrix(5.0 * np.eye(3)[np.arange(60) % 3])], format="csr")
    for kernel in ("gaussian", "linear", "polynomial"):
        assert fixed(kernel).fit(marked, np.arange(60) % 3).score(marked, np.arange(60) % 3) == 1.0


@pytest.mark.parametrize("limit", ["20 MB", 5e7, "1GB"])
def test_any_memory_limit_gives_the_same_answer(limit):
    points = RNG.standard_normal((300, 3))
    labels = (points[:, 0] > 0).astype(int) + (points[:, 1] > 0)
    wanted = fixed(Gaussian(0.5), solver="newton", tol=1e-8).fit(points, labels).predict_proba(points)
    model = fixed(Gaussian(0.5), solver="newton", tol=1e-8, memory_limit=limit, operator="tiled").fit(points, labels)
    np.testing.assert_allclose(model.predict_proba(points), wanted, atol=1e-6)


def test_many_rows_under_a_linear_kernel():
    points = np.random.default_rng(1).standard_normal((50_000, 2))
    labels = points @ [1.0, 2.0] > 0.3
    model = fixed("linear", variance=1.0).fit(points, labels)
    assert model.outcome_.converged
    assert model.score(points, labels) > 0.995


def test_weights_of_any_size_weigh():
    model = fixed().fit(X, Y, sample_weight=np.where(Y == 0, 1e6, 1e-6))
    assert (model.predict(X) == 0).all()


def test_indefinite_matrix_that_stays_convex_is_fitted():
    # An eigenvalue of -1e-9 is rounding of whoever computed the matrix.
    matrix = X @ X.T - 1e-9 * np.eye(30)
    wanted = fixed("precomputed", variance=0.1).fit(X @ X.T, Y).predict_proba(X @ X.T)
    model = fixed("precomputed", variance=0.1).fit(matrix, Y)
    np.testing.assert_allclose(model.predict_proba(matrix), wanted, atol=1e-6)
