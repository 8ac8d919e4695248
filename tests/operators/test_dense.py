import numpy as np
import pytest

from logikern.kernels import Gaussian
from logikern.numerics.parallel import TILES
from logikern.operators.dense import Dense, dense
from logikern.operators.tiled import Tiled

N_POINTS = 300


def points():
    return np.random.default_rng(0).standard_normal((N_POINTS, 4))


def functions():
    return np.random.default_rng(1).standard_normal((5, N_POINTS))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrix_is_stored_in_the_type_asked_for(dtype):
    assert dense(Gaussian(0.5), points(), np.dtype(dtype)).matrix.dtype == dtype


def test_single_product_is_within_its_rounding():
    operator = dense(Gaussian(0.5), points(), np.dtype(np.float32))
    exact = functions() @ operator.matrix.astype(float)
    bound = N_POINTS * np.finfo(np.float32).eps * (np.abs(functions()) @ operator.matrix)
    assert (np.abs(operator.matmul(functions()) - exact) <= bound).all()


@pytest.mark.parametrize("tile", [1, 7, 100, 256, 1000])
def test_product_summed_in_double_does_not_depend_on_tiles(tile, monkeypatch):
    operator = dense(Gaussian(0.5), points(), np.dtype(np.float32))
    expected = functions() @ operator.matrix.astype(float)
    monkeypatch.setitem(vars(TILES), "summed_rows", tile)
    np.testing.assert_allclose(operator.summed_matmul(functions()), expected, rtol=1e-12, atol=1e-12)


def test_accurate_product_has_kernel_values_in_double():
    operator = dense(Gaussian(0.5), points(), np.dtype(np.float32))
    expected = functions() @ Gaussian(0.5)(points(), points())
    np.testing.assert_allclose(operator.accurate_matmul(functions()), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("spare_memory", "kind"), [(8 * N_POINTS**2, Dense), (8 * N_POINTS**2 - 1, Tiled)])
def test_double_precision_is_stored_where_memory_allows(spare_memory, kind):
    operator = dense(Gaussian(0.5), points(), np.dtype(np.float32), spare_memory).in_double()
    assert isinstance(operator, kind)
    expected = functions() @ Gaussian(0.5)(points(), points())
    np.testing.assert_allclose(operator.matmul(functions()), expected, rtol=1e-12, atol=1e-12)
