"""Learned coupling of classes: the square root, its derivatives, and independence without factors."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from logikern.kernels import Gaussian, Matern32
from logikern.operators.choose import Choice
from logikern.structure.coupling import Coupling, correlations, uncoupled
from logikern.structure.specification import Specification
from logikern.structure.tying import tie
from tests.structure.catalogue import COUPLED, N_CLASSES, points
from tests.structure.test_contract import central_differences, state

LOADINGS = {
    "one factor": np.random.default_rng(0).standard_normal((4, 1)),
    "two factors": np.random.default_rng(1).standard_normal((4, 2)),
    "as many factors as classes": np.random.default_rng(2).standard_normal((4, 4)),
    "more factors than classes": np.random.default_rng(3).standard_normal((4, 6)),
    "equal factors": np.ones((4, 2)),
    "zeros": np.zeros((4, 2)),
    "large": 1e3 * np.random.default_rng(4).standard_normal((4, 2)),
}
every_loading = pytest.mark.parametrize("loadings", LOADINGS.values(), ids=LOADINGS)


@every_loading
def test_matrix_is_the_square_root(loadings):
    expected = sqrtm(np.eye(4) + loadings @ loadings.T).real
    np.testing.assert_allclose(Coupling(loadings).as_matrix(), expected, rtol=1e-6, atol=1e-9)


@every_loading
def test_derivatives_by_loadings_match_differences(loadings):
    weights = np.random.default_rng(5).standard_normal((4, 4))

    def contract(values):
        covariance = np.eye(4) + values.reshape(loadings.shape) @ values.reshape(loadings.shape).T
        eigenvalues, vectors = np.linalg.eigh(covariance)
        return np.sum(weights * ((vectors * np.sqrt(eigenvalues)) @ vectors.T))

    expected = central_differences(contract, loadings.ravel(), step=1e-5 * max(1.0, np.abs(loadings).max()))
    np.testing.assert_allclose(Coupling(loadings).collect(weights), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name, kernels", [("shared", 1), ("scaled", 1), ("separate", 4), ("groups", 2)])
def test_gradient_of_a_product_by_loadings_matches_differences(name, kernels):
    tying = tie(["a", "b", "a", "b"] if name == "groups" else name, COUPLED)
    own = tuple(Gaussian(0.5 + number) if number % 2 else Matern32(0.7) for number in range(kernels))
    variances = tuple(0.5 * 2.0**number for number in range(tying.n_variances))
    specification = Specification(own, variances, 1.5, tying, COUPLED)
    left, right, X = state(), state(1), points()
    bound = Choice("dense", np.dtype(float), "", 1e9).points(X)

    def contract(values):
        """sum left . K~ right from K~ written out."""
        mapped = np.asarray(sqrtm(np.eye(N_CLASSES) + values.reshape(4, 2) @ values.reshape(4, 2).T).real)
        matrices = np.array([own[number](X, X) for number in tying.kernel_of])
        latent = matrices * specification.latent_variances[:, None, None]
        dense = np.einsum("cp,dp,pnm->cndm", mapped, mapped, latent)
        dense += 1.5 * np.eye(N_CLASSES)[:, None, :, None]
        return np.einsum("bcn,cndm,bdm->", left, dense, right)

    gradient = specification.collect(specification.bind(bound).contract_gradient(left, right))
    expected = central_differences(contract, COUPLED.parameters)
    np.testing.assert_allclose(gradient[specification.mixing_places], expected, rtol=1e-6, atol=1e-6)


def test_parameters_of_the_mixing_come_back():
    tying = tie("scaled", COUPLED)
    specification = Specification((Gaussian(0.5),), (1.0, 2.0, 3.0, 4.0), 1.5, tying, COUPLED)
    moved = specification.log_parameters + np.linspace(-1, 1, len(specification.log_parameters))
    found = specification.with_log_parameters(moved)
    np.testing.assert_allclose(found.log_parameters, moved, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.mixing.loadings.ravel(), moved[1:9], rtol=0, atol=0)


def test_without_factors_classes_are_independent():
    mixing = uncoupled(3)
    np.testing.assert_array_equal(mixing.as_matrix(), np.eye(3))
    assert mixing.parameters.size == 0 and mixing.forest is not None


def test_correlations_are_those_of_the_covariance():
    variances = np.array([1.0, 2.0, 0.5, 3.0])
    mapped = COUPLED.as_matrix()
    covariance = mapped @ np.diag(variances) @ mapped.T
    expected = covariance / np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()))
    np.testing.assert_allclose(correlations(COUPLED, variances), expected, rtol=1e-12)
