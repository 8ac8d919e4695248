"""Classifiers whose classes are as similar as a kernel of labels says."""

import warnings

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.special import logsumexp
from sklearn.base import clone

from logikern import KernelLogisticClassifier, NeighbourhoodSettings, load_model
from logikern.structure.hierarchy import read_tree

RANDOM = np.random.default_rng(0)
X, NEW = RANDOM.standard_normal((50, 2)), RANDOM.standard_normal((20, 2))
SCORES = np.column_stack([X[:, 0], X[:, 0] + 0.5 * X[:, 1], -X[:, 0], X[:, 1] ** 2 - 1])
Y = np.array(["a", "b", "c", "d"])[np.argmax(SCORES + 0.7 * RANDOM.gumbel(size=SCORES.shape), axis=1)]
MATRIX = np.array([[2.0, 0.5, 0.0, 0.1], [0.5, 1.0, 0.3, 0.0], [0.0, 0.3, 1.5, -0.4], [0.1, 0.0, -0.4, 1.0]])
LOW_RANK = np.outer([1.0, 1.0, -1.0, 2.0], [1.0, 1.0, -1.0, 2.0])
FIXED = {"kernel": "gaussian", "rate": 0.7, "variance": 3.0, "criterion": None, "tol": 1e-10, "precision": "double"}
TREE = read_tree(["p/a", "p/b", "q/c", "q/d"])
IN_TREE = np.array(["p/a", "p/b", "q/c", "q/d"])[np.searchsorted([*"abcd"], Y)]


def dense_probabilities(covariance_of_labels):
    """Probabilities at new rows from Newton's method for dual = targets - probabilities, written out."""
    everything = np.concatenate([X, NEW])
    distances = ((everything[:, None] - everything) ** 2).sum(axis=2)
    kernel = 3.0 * np.exp(-0.5 * 0.7 * distances)
    joint = np.kron(covariance_of_labels, kernel)
    joint += block_diag(*[np.full(kernel.shape, 16.0)] * 4)
    n, total = len(X), len(everything)
    seen = np.concatenate([own * total + np.arange(n) for own in range(4)])
    onto, targets = joint[np.ix_(seen, seen)], (Y[None] == np.array([*"abcd"])[:, None]).astype(float)

    dual, rows = np.zeros(4 * n), np.arange(n)
    for _ in range(30):
        latent = (onto @ dual).reshape(4, n)
        share = np.exp(latent - logsumexp(latent, axis=0))
        curvature = np.zeros((4, n, 4, n))
        for one in range(4):
            for other in range(4):
                curvature[one, rows, other, rows] = (one == other) * share[one] - share[one] * share[other]
        system = np.eye(4 * n) + curvature.reshape(4 * n, 4 * n) @ onto
        dual -= np.linalg.solve(system, dual + (share - targets).ravel())
    latent = (joint[:, seen] @ dual).reshape(4, total)[:, n:]
    return np.exp(latent - logsumexp(latent, axis=0)).T


@pytest.mark.parametrize("matrix, added", [(MATRIX, 0.0), (LOW_RANK, 7 / 4)])
@pytest.mark.parametrize("solver", ["newton", "exact"])
def test_probabilities_are_those_of_dense_algebra(matrix, added, solver):
    model = KernelLogisticClassifier(label_kernel=matrix, tying="shared", solver=solver, **FIXED).fit(X, Y)
    expected = dense_probabilities(matrix + added * np.eye(4))
    np.testing.assert_allclose(model.predict_proba(NEW), expected, atol=1e-8)


def test_tree_written_as_a_kernel_of_labels_is_the_model_of_the_tree():
    settings = FIXED | {"tying": "shared"}
    tree = KernelLogisticClassifier(hierarchy=TREE, **settings).fit(X, IN_TREE)
    mapped = TREE.as_matrix()
    model = KernelLogisticClassifier(label_kernel=mapped @ mapped.T, **settings).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(NEW), tree.predict_proba(NEW), atol=1e-8)


def test_levels_of_a_tree_are_the_levels_of_a_kernel_of_labels():
    settings = FIXED | {"tying": "level", "variance": [2.0, 5.0]}
    tree = KernelLogisticClassifier(hierarchy=TREE, **settings).fit(X, IN_TREE)
    siblings = np.kron(np.eye(2), np.ones((2, 2)))
    model = KernelLogisticClassifier(label_kernel=siblings + np.eye(4), **settings).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(NEW), tree.predict_proba(NEW), atol=1e-8)


@pytest.mark.filterwarnings("ignore:Closed-form leave-one-out")
@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_search_learns_the_share_of_the_identity(criterion):
    settings = {"criterion": criterion, "cv": 3, "random_state": 0, "kernel": "gaussian"}
    model = KernelLogisticClassifier(label_kernel=MATRIX, **settings).fit(X, Y)
    assert model.outcome_.converged and len(set(model.variances_)) >= 2 and "tree_" not in vars(model)
    assert "the part that classes share has one variance" in " ".join(model.explain().split())
    assert model.hyperparameters_["classes"].str.contains("shared part").any()


@pytest.mark.filterwarnings("ignore:Closed-form leave-one-out")
@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_criterion_is_that_of_the_tree(criterion):
    settings = {"criterion": criterion, "cv": 3, "random_state": 0, "kernel": "gaussian", "tying": "level"}
    siblings = np.kron(np.eye(2), np.ones((2, 2)))
    model = KernelLogisticClassifier(label_kernel=siblings + np.eye(4), **settings).fit(X, Y)
    tree = KernelLogisticClassifier(hierarchy=TREE, **settings).fit(X, IN_TREE)
    # Searches stop when the criterion changes by less than a thousandth.
    assert model.criterion_value_ == pytest.approx(tree.criterion_value_, rel=2e-3)


@pytest.mark.parametrize("given", [MATRIX, lambda one, other: float(one == other) + 0.5], ids=["matrix", "function"])
def test_model_file_keeps_the_model(given, tmp_path):
    model = KernelLogisticClassifier(label_kernel=given, **FIXED).fit(X, Y)
    model.save_model(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    again = clone(loaded).fit(X, Y)
    np.testing.assert_allclose(again.predict_proba(NEW), model.predict_proba(NEW), atol=1e-8)


def test_forged_kernel_of_labels_is_refused(tmp_path):
    model = KernelLogisticClassifier(label_kernel=MATRIX, **FIXED).fit(X, Y)
    mixing = model.model_.specification.mixing
    object.__setattr__(mixing, "factor", np.full_like(mixing.factor, np.nan))
    model.save_model(tmp_path / "model")
    with pytest.raises(ValueError, match="its label kernel is not a table of numbers"):
        load_model(tmp_path / "model")


def test_clone_and_neighbourhoods_take_a_kernel_of_labels():
    model = KernelLogisticClassifier(label_kernel=MATRIX, operator=NeighbourhoodSettings(50, partitions=1), **FIXED)
    found = clone(model).fit(X, Y).predict_proba(NEW)
    whole = KernelLogisticClassifier(label_kernel=MATRIX, **FIXED).fit(X, Y).predict_proba(NEW)
    np.testing.assert_allclose(found, whole, atol=1e-6)


def test_stream_takes_a_kernel_of_labels():
    settings = {"label_kernel": MATRIX, "kernel": "gaussian", "rate": 0.7, "variance": 3.0, "criterion": None}
    model = KernelLogisticClassifier(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for part in (slice(0, 25), slice(25, None)):
            model.partial_fit(X[part], Y[part], classes=[*"abcd"])
    whole = KernelLogisticClassifier(**settings).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(NEW), whole.predict_proba(NEW), atol=1e-3)


@pytest.mark.parametrize(
    "settings, told",
    [
        ({"hierarchy": "paths"}, "`hierarchy` and `label_kernel` both say how classes are related"),
        ({"one_vs_rest": True}, "`label_kernel` couples classes"),
        ({"bias_variance": np.inf, "criterion": "loo"}, "which `label_kernel` does not allow"),
        ({"label_kernel": np.eye(3)}, "each of the 4 classes"),
    ],
)
def test_combinations_without_a_meaning_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        KernelLogisticClassifier(**{"label_kernel": MATRIX} | settings).fit(X, Y)
