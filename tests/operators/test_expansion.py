"""Functions spanned by a kernel equal the kernel matrix times their coefficients."""

import numpy as np
import pytest

from logikern import Gaussian, Linear, Polynomial
from logikern.operators.expansion import KernelExpansion, tiles_of


def sample(n, seed, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((n, 3)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear(), Polynomial(2)], ids=["gaussian", "linear", "polynomial"])
def test_expansion_is_the_kernel_matrix_times_the_coefficients(kernel, dtype):
    X, new, coefficients = sample(20, 0, dtype), sample(7, 1), np.random.default_rng(2).standard_normal((4, 20))
    expected = coefficients @ kernel(new, X.astype(float)).T
    np.testing.assert_allclose(KernelExpansion(kernel, X, coefficients).at(new), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("entries", "sizes"), [(100, [5, 2]), (1, [1] * 7), (10**6, [7])])
def test_tiles_bound_the_kernel_values(entries, sizes):
    parts = list(tiles_of(sample(7, 1), 20, entries))
    assert [len(part) for part in parts] == sizes and np.array_equal(np.concatenate(parts), sample(7, 1))


def test_no_points_have_no_tiles():
    assert list(tiles_of(np.zeros((0, 3)), 20, 100)) == []
