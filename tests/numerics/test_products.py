import numpy as np
import pytest

from logikern.numerics.parallel import TILES, own_threads
from logikern.numerics.products import fold_gram, multiply, subtract_gram
from tests.numerics.blas_threads import three_blas_threads

random = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(1, 5, 3), (300, 40, 20), (301, 0, 4), (0, 3, 2)])
def test_product_by_threads_is_that_of_numpy(shape):
    left, right = random.standard_normal(shape[:2]), random.standard_normal(shape[1:])
    with three_blas_threads(), own_threads():
        np.testing.assert_allclose(multiply(left, right), left @ right, atol=1e-12)
        np.testing.assert_allclose(multiply(right.T, left.T), (left @ right).T, atol=1e-12)


@pytest.mark.parametrize("kinds", [(1,), (-1,), (1, -1), (1, 0), (1, 0, -1), (0,)], ids=str)
@pytest.mark.parametrize("n", [3, TILES.triangle_rows, 2 * TILES.triangle_rows + 5])
def test_folded_gram_has_the_same_sums_against_symmetric_matrices(n, kinds):
    rows, signs = random.standard_normal((50, n)), random.choice(kinds, 50).astype(float)
    rows[signs == 0] = 0.0
    other = random.standard_normal((n, n))
    other += other.T
    with three_blas_threads(), own_threads():
        folded = fold_gram(rows, signs)
    wanted = np.vdot((rows.T * signs) @ rows, other)
    np.testing.assert_allclose(np.vdot(folded, other), wanted, atol=1e-9)
    assert not folded[: TILES.triangle_rows, TILES.triangle_rows :].any()


@pytest.mark.parametrize("shape", [(1, 4), (300, 7), (5, 0)])
def test_gram_is_subtracted_on_and_below_the_diagonal(shape):
    rows, before = random.standard_normal(shape), random.standard_normal((shape[0],) * 2)
    after = before.copy()
    with three_blas_threads(), own_threads():
        subtract_gram(after, rows)
    np.testing.assert_allclose(np.tril(after), np.tril(before - rows @ rows.T), atol=1e-12)
