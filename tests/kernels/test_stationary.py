"""What is special about kernels of the distance."""

import tracemalloc

import numpy as np
import pytest

from logikern.kernels import Gaussian, Laplacian, Matern12, Matern32, Matern52, RationalQuadratic
from tests.kernels.catalogue import table

KINDS = [Gaussian, Laplacian, Matern12, Matern32, Matern52, RationalQuadratic]
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_number_of_rates_must_match_the_inputs(kind):
    with pytest.raises(ValueError, match="`rate` must have one value per input, but has 2 values for 3 inputs"):
        kind((1.0, 2.0))(table(), table())


@every_kind
def test_number_of_columns_must_match_the_inputs(kind):
    with pytest.raises(
        ValueError, match="`columns` must name a rate for every input, but has 2 entries for 3 inputs"
    ):
        kind((1.0, 2.0), columns=(0, 1))(table(), table())


@every_kind
def test_shared_rates_are_the_rates_of_their_inputs(kind):
    points = table()
    shared, each = kind((0.5, 2.0), columns=(1, 0, 1)), kind((2.0, 0.5, 2.0))
    np.testing.assert_array_equal(shared(points, points), each(points, points))
    left, right = np.random.default_rng(0).standard_normal((2, 3, len(points)))
    by_input = each.contract_gradient(points, points, left, right)
    by_rate = shared.contract_gradient(points, points, left, right)
    np.testing.assert_allclose(by_rate[:2], [by_input[1], by_input[0] + by_input[2]], rtol=1e-12)
    np.testing.assert_allclose(by_rate[2:], by_input[3:], rtol=1e-12)


@every_kind
def test_one_rate_ignores_columns_until_it_is_spread(kind):
    points, one = table(), kind(0.7, columns=(0, 1, 1))
    np.testing.assert_array_equal(one(points, points), kind(0.7)(points, points))
    assert one.spread_rate(3) == kind((0.7, 0.7), columns=(0, 1, 1))
    assert kind(0.7).spread_rate(3, (1, 0, 0)) == kind((0.7, 0.7), columns=(1, 0, 0))
    assert kind(0.7).spread_rate(3) == kind((0.7, 0.7, 0.7))


@every_kind
def test_equal_rates_are_one_rate(kind):
    points = table()
    np.testing.assert_allclose(
        kind((0.7, 0.7, 0.7))(points, points), kind(0.7)(points, points), rtol=1e-13, atol=1e-14
    )


@every_kind
def test_gradients_by_equal_rates_add_up_to_that_by_one_rate(kind):
    points = table()
    left, right = np.random.default_rng(0).standard_normal((2, 3, len(points)))
    one = kind(0.7).contract_gradient(points, points, left, right)
    each = kind((0.7, 0.7, 0.7)).contract_gradient(points, points, left, right)
    np.testing.assert_allclose(each[:3].sum(), one[0], rtol=1e-10)


@every_kind
def test_points_far_apart_have_no_denormal_correlation(kind):
    points = np.array([[0.0], [1e3], [3e4]], np.float32)
    for dtype in (np.float32, np.float64):
        matrix = kind(1.0)(points.astype(dtype), points.astype(dtype))
        assert matrix.min() >= np.finfo(dtype).tiny


@every_kind
def test_gradient_is_finite_at_extreme_rates(kind):
    points = table()
    left, right = np.random.default_rng(0).standard_normal((2, 3, len(points)))
    for rate in (1e-200, 1e200):
        assert np.isfinite(kind(rate).contract_gradient(points, points, left, right)).all()


@every_kind
def test_equal_points_in_float32_have_correlation_one(kind):
    points = np.random.default_rng(0).standard_normal((300, 100)).astype(np.float32)
    np.testing.assert_array_equal(np.diagonal(kind(0.1)(points, points.copy())), 1.0)


@every_kind
def test_point_has_correlation_one_with_itself(kind):
    # Equal inputs: rounding errors of the sums add up instead of averaging out, beyond the usual noise.
    points = np.repeat(np.random.default_rng(0).standard_normal((50, 1)), 10_000, axis=1).astype(np.float32)
    np.testing.assert_array_equal(np.diagonal(kind(1.0)(points, points)), 1.0)


@every_kind
@pytest.mark.parametrize("rate", [1.0, (1.0, 2.0, 0.5)])
def test_a_point_beyond_all_numbers_has_no_correlation_and_no_pull(kind, rate):
    points = table().astype(np.float32)
    left, right = np.random.default_rng(0).standard_normal((2, 3, len(points)))
    far = points.copy()
    far[3] = 1e30
    assert np.delete(kind(rate)(far, far)[3], 3).max() < 1e-15
    gradient = kind(rate).contract_gradient(far, far, left, right)
    left[:, 3] = right[:, 3] = 0.0
    expected = kind(rate).contract_gradient(points, points, left, right)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)


def test_gradient_of_matern12_is_zero_between_equal_points():
    points = np.ones((4, 2))
    weights = np.ones((4, 4))
    np.testing.assert_array_equal(Matern12((1.0, 2.0)).weigh_gradient(points, points, weights), [0.0, 0.0])


def test_contraction_needs_less_memory_than_the_matrix():
    points = np.random.default_rng(0).standard_normal((3000, 5))
    left = np.random.default_rng(1).standard_normal((2, 3000))
    tracemalloc.start()
    Gaussian((0.1,) * 5).contract_gradient(points, points, left, left)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 3000**2


def test_rational_quadratic_with_large_alpha_is_gaussian():
    points = table()
    np.testing.assert_allclose(
        RationalQuadratic(0.7, 1e12)(points, points), Gaussian(0.7)(points, points), rtol=1e-10
    )
