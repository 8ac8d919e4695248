"""Products through Fourier modes."""

import sys

import numpy as np
import pytest

from logikern.kernels import Gaussian, Laplacian, Matern12, Matern32, Matern52
from logikern.numerics.parallel import own_threads
from logikern.operators.choose import choose
from logikern.operators.fourier import SPECTRA, ModePlan, Spectrum, has_modes, lattice
from tests.numerics.blas_threads import three_blas_threads

DOUBLE = np.dtype(np.float64)


def points(n=60, d=2, extent=1.0):
    return extent * np.random.default_rng(0).random((n, d))


def bind(kernel, X):
    return ModePlan(kernel, X).bind(DOUBLE)


@pytest.mark.parametrize(
    "kernel, n_inputs, extent",
    [
        *((Gaussian(1.0), d, extent) for d in (1, 2, 3) for extent in (0.1, 1.0, 10.0)),
        *((Matern52(1.0), d, extent) for d in (1, 2) for extent in (0.1, 1.0, 10.0)),
        *((Matern32(1.0), 1, extent) for extent in (0.1, 1.0, 100.0)),
        (Matern32(1.0), 2, 1.0),
    ],
    ids=str,
)
def test_every_value_is_within_the_tolerance(kernel, n_inputs, extent):
    X = points(n=24, d=n_inputs, extent=extent)
    X[0], X[1] = 0.0, extent  # opposite corners, whose images are nearest
    found = bind(kernel, X).matmul(np.eye(24)[:6])
    assert np.abs(found - kernel(X[:6], X)).max() <= SPECTRA[type(kernel)].tolerance


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern52(2.0), Matern32(2.0)], ids=str)
@pytest.mark.parametrize("n_inputs", [1, 2, 3])
def test_density_is_normalised(kernel, n_inputs):
    # A coarse lattice: a sum over the whole of it is one up to images.
    spectrum = Spectrum(SPECTRA[type(kernel)].smoothness, 1e-3)
    cutoff = spectrum.cutoff(n_inputs, 1e-3)
    own = np.linspace(-cutoff, cutoff, 61)
    squared = np.asarray(sum(np.ix_(*[own**2] * n_inputs)))
    mass = spectrum.density(squared, n_inputs).sum() * (own[1] - own[0]) ** n_inputs
    # The cube holds the ball beyond which the mass is 1e-3.
    assert 1.0 - 2e-3 <= mass <= 1.0 + 1e-3


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern52(1.0), Matern32(1.0)], ids=str)
def test_missing_weights_are_within_their_share(kernel):
    weights = lattice(kernel, np.array([5.0])).weights
    assert (weights > 0.0).all()
    assert 1.0 - weights.sum() <= 0.5 * SPECTRA[type(kernel)].tolerance


def test_matrix_is_positive_semidefinite_up_to_rounding():
    matrix = bind(Gaussian(0.1), points(80)).matmul(np.eye(80))
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-14)
    # Most eigenvalues of this kernel are below the tolerance.
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-13


@pytest.mark.parametrize("n_functions", [1, 2, 3, 4])
def test_functions_in_pairs_have_their_own_products(n_functions):
    functions = np.random.default_rng(1).standard_normal((n_functions, 60))
    operator = bind(Gaussian(5.0), points())
    expected = np.vstack([operator.matmul(own[None]) for own in functions])
    np.testing.assert_allclose(operator.matmul(functions), expected, atol=1e-12)


def test_threads_do_not_change_the_product():
    functions, operator = np.random.default_rng(1).standard_normal((5, 60)), bind(Gaussian(5.0), points())
    with own_threads(1):
        alone = operator.matmul(functions)
    with three_blas_threads(), own_threads(2):
        np.testing.assert_allclose(operator.matmul(functions), alone, atol=1e-12)


def test_more_modes_need_more_memory_and_time():
    plans = [ModePlan(Gaussian(rate), points()) for rate in (1.0, 1e4)]
    assert plans[0].n_bytes(DOUBLE) < plans[1].n_bytes(DOUBLE)
    assert plans[0].n_values < plans[1].n_values


@pytest.mark.parametrize(
    "kernel, n_inputs, expected",
    [
        (Gaussian(), 3, True),
        (Gaussian(), 4, False),
        (Matern32(), 2, True),
        (Matern12(), 2, False),
        (Laplacian(), 2, False),
        (2.0 * Gaussian(), 2, False),
    ],
)
def test_only_smooth_kernels_of_few_inputs_have_modes(kernel, n_inputs, expected):
    assert has_modes(kernel, points(d=n_inputs)) is expected


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "finufft", None)
    with pytest.raises(ImportError, match=r"pip install logikern\[fourier\]"):
        choose((Gaussian(),), points(), operator="fourier")
