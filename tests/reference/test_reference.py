"""The reference itself, by closed forms and differences."""

import ast
from pathlib import Path

import numpy as np
import pytest

from tests.reference import kernels
from tests.reference.criteria import leave_one_out, one_step_without
from tests.reference.decisions import error_kept, expected_losses, node_distance
from tests.reference.iterative import certify, polish
from tests.reference.model import Model, flat_paths
from tests.reference.newton import softmax_optimum
from tests.reference.regression import fit_regression
from tests.reference.softmax import residual, softmax
from tests.reference.tree import below, latent_nodes, latent_paths
from tests.reference.tying import tie_nodes

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(14, 2))
TARGETS = np.eye(3)[RANDOM.integers(3, size=14)].T
WEIGHTS = RANDOM.gamma(1.0, size=14) + 0.1
# a(b, c(d)), e
LABELS, PARENTS = ("a", "b", "c", "d", "e"), (-1, 0, 0, 2, -1)


def model(bias=2.0, variance=4.0, paths=None):
    paths = flat_paths(3) if paths is None else paths
    n_latent = paths.shape[1]
    return Model((kernels.gaussian(0.7),), np.zeros(n_latent, int), np.full(n_latent, variance), paths, bias)


def test_reference_shares_no_code_with_the_library():
    for path in Path(__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.split(".")[0] == "logikern" for name in names), path


@pytest.mark.parametrize("paths", [None, latent_paths(LABELS, PARENTS)], ids=["flat", "tree"])
def test_optimum_has_no_residual(paths):
    own = model(paths=paths)
    fit = softmax_optimum(own, X, TARGETS, WEIGHTS)
    image = own.image(own.matrices(X, X), fit.dual)
    np.testing.assert_allclose(image, fit.latent, atol=1e-10)
    assert np.abs(residual(fit.dual, image, TARGETS, WEIGHTS)).max() < 1e-10


def test_optimum_is_a_minimum():
    own = model()
    fit = softmax_optimum(own, X, TARGETS, WEIGHTS)
    covariance = own.covariance(X, X).reshape(42, 42)

    def value(dual):
        latent = (covariance @ dual.ravel()).reshape(dual.shape)
        losses = np.log(np.exp(latent).sum(axis=0)) - (TARGETS * latent).sum(axis=0)
        return WEIGHTS @ losses + 0.5 * np.vdot(dual, latent)

    assert fit.value == pytest.approx(value(fit.dual), rel=1e-12)
    for _ in range(5):
        assert value(fit.dual + 1e-2 * RANDOM.normal(size=fit.dual.shape)) > fit.value


def test_free_constants_are_the_limit_of_large_variances():
    free, large = (softmax_optimum(model(bias), X, TARGETS, WEIGHTS) for bias in (np.inf, 1e6))
    np.testing.assert_allclose(softmax(free.latents_at(X)), softmax(large.latents_at(X)), atol=1e-5)
    np.testing.assert_allclose(free.dual.sum(axis=1), 0.0, atol=1e-10)


def test_certificate_bounds_the_distance_from_the_optimum():
    own = model()
    fit, matrices = softmax_optimum(own, X, TARGETS, WEIGHTS), own.matrices(X, X)
    off = certify(own, matrices, fit.dual + 0.03 * RANDOM.normal(size=fit.dual.shape), TARGETS, WEIGHTS)
    assert np.abs(off.latent - fit.latent).max() <= np.sqrt(4.0 + 2.0) * off.distance
    near = polish(own, matrices, off.dual, TARGETS, WEIGHTS, 1e-9)
    assert near.distance <= 1e-9
    np.testing.assert_allclose(near.latent, fit.latent, atol=1e-8)


def test_one_step_is_close_to_a_refit_where_points_matter_little():
    own = model(variance=0.05, bias=0.1)
    fit = softmax_optimum(own, X, TARGETS, np.ones(14))
    np.testing.assert_allclose(
        one_step_without(fit, np.ones(14)), leave_one_out(own, X, TARGETS, np.ones(14)), atol=5e-3
    )


def test_free_constants_of_a_regression_make_residuals_sum_to_zero():
    y = RANDOM.normal(size=(14, 2))
    paths = flat_paths(2)
    own = Model((kernels.matern32(1.0),), np.zeros(2, int), np.ones(2), paths, np.inf)
    fit = fit_regression(own, X, y, WEIGHTS, np.zeros(2))
    np.testing.assert_allclose(WEIGHTS @ (y - fit.predict(X)), 0.0, atol=1e-10)


def test_kernels_of_half_integers_agree_with_the_general_formula():
    # Rasmussen and Williams (2006), eq. (4.14), with the Bessel function.
    from scipy.special import gamma, kv

    for order, kernel in ((0.5, kernels.matern12), (1.5, kernels.matern32), (2.5, kernels.matern52)):
        scaled = np.sqrt(2 * order * kernels.weighted_distances(X[:5], X[5:], 0.8))
        general = 2 ** (1 - order) / gamma(order) * scaled**order * kv(order, scaled)
        np.testing.assert_allclose(kernel(0.8)(X[:5], X[5:]), general, rtol=1e-10)


def test_nodes_of_a_tree():
    assert latent_nodes(PARENTS) == [0, 1, 2, 4]  # d says what c says
    assert latent_paths(LABELS, PARENTS).tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]  # b, d, e
    assert below(LABELS, PARENTS)[0].tolist() == [1, 1, 0]
    assert node_distance(PARENTS, 1, 3) == 1.5
    kernel_of, variance_of = tie_nodes("level", LABELS, PARENTS)
    assert kernel_of.tolist() == [0, 0, 0, 0]
    assert variance_of.tolist() == [0, 1, 1, 1]


def test_cases_of_equal_confidence_leave_by_equal_parts():
    proba = np.array([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9]])
    true = np.array([0, 1, 1])
    # Half of the two uncertain cases leaves: 2/3 of the weight is kept, half a wrong case among it.
    assert error_kept(true, proba, np.ones(3), 1 / 3) == pytest.approx(0.25)


def test_expected_losses_weigh_truths():
    assert expected_losses(np.array([[0.25, 0.75]]), np.array([[0.0, 4.0], [1.0, 0.0]])).tolist() == [[3.0, 0.25]]
