"""Scales of inputs: closed forms, invariance under a change of units, and what sparse inputs allow."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.preprocessing import StandardScaler

from logikern.encoding import learn_scaling
from logikern.encoding.scaling import ScalingPolicy

RANDOM = np.random.default_rng(0)
X = np.column_stack([RANDOM.standard_normal(200), np.round(RANDOM.exponential(3, 200)), RANDOM.random(200) < 0.3])
IS_LEVEL = np.array([False, False, True])
NO_LEVELS = np.zeros(3, dtype=bool)


def scaled(kind, inputs=X, is_level=IS_LEVEL, new=None, **settings):
    return learn_scaling(kind, inputs, is_level, **settings).transform(inputs if new is None else new)


def spread(shares):
    """Shares of values below, centred and with the variance of standardised inputs."""
    return 12**0.5 * (shares - 0.5)


def test_raw_inputs_are_the_same_object():
    assert scaled("raw") is X


def test_standard_equals_scikit_learn():
    expected = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(scaled("standard", is_level=NO_LEVELS), expected, atol=1e-13)
    np.testing.assert_allclose(scaled("standard")[:, :2], expected[:, :2], atol=1e-13)


def test_levels_keep_their_values():
    assert set(scaled("standard")[:, 2]) == set(scaled("ranks")[:, 2]) == {0.0, 1.0}


def test_ranks_are_mid_ranks_of_training_values():
    expected = spread((stats.rankdata(X, axis=0) - 0.5) / len(X))
    np.testing.assert_allclose(scaled("ranks")[:, :2], expected[:, :2], atol=1e-14)


def test_ranks_have_variance_one_if_values_differ():
    inputs = RANDOM.exponential(size=(500, 1))
    assert scaled("ranks", inputs, [False]).std() == pytest.approx(1.0, abs=1e-5)


def test_ranks_are_linear_between_training_values_and_clamped_outside():
    inputs = np.array([[0.0], [1.0], [1.0], [3.0]])
    found = scaled("ranks", inputs, [False], np.array([[-9.0], [0.5], [2.0], [9.0]]))
    # Mid-ranks of 0, 1 and 3 are 1/8, 4/8 and 7/8.
    np.testing.assert_allclose(found[:, 0], spread(np.array([1 / 8, 2.5 / 8, 5.5 / 8, 7 / 8])))


def test_few_knots_change_ranks_by_less_than_their_distance():
    inputs = RANDOM.exponential(size=(5000, 1))
    scaling = learn_scaling("ranks", inputs, [False], policy=ScalingPolicy(most_knots=50))
    assert len(scaling.knots) <= 50
    exact = spread((stats.rankdata(inputs[:, 0]) - 0.5) / 5000)
    assert np.abs(scaling.transform(inputs)[:, 0] - exact).max() < 12**0.5 / 50


@pytest.mark.parametrize("kind", ["standard", "ranks"])
@pytest.mark.parametrize("factor", [3.7, 1e-9, 1e200, 1e-200, 2.0**-900, 1e306])
def test_units_do_not_matter(kind, factor):
    np.testing.assert_allclose(scaled(kind, factor * X, NO_LEVELS), scaled(kind, X, NO_LEVELS), atol=1e-12)


@pytest.mark.parametrize("kind", ["standard", "ranks"])
def test_origin_far_away_costs_only_the_digits_of_the_inputs(kind):
    whole = np.round(1000 * X)
    np.testing.assert_allclose(scaled(kind, whole + 2.0**40, NO_LEVELS), scaled(kind, whole, NO_LEVELS), atol=1e-6)


@pytest.mark.parametrize("kind", ["standard", "ranks"])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e308])
def test_constant_input_stays_finite(kind, value):
    found = scaled(kind, np.full((7, 1), value), [False], np.array([[value], [0.3]]))
    assert np.isfinite(found).all() and np.ptp(scaled(kind, np.full((7, 1), value), [False])) == 0


def test_sparse_inputs_are_standardised_without_a_shift():
    inputs = sparse.random_array((300, 4), density=0.1, format="csr", rng=0)
    found = scaled("standard", inputs, np.zeros(4, dtype=bool))
    assert found.format == "csr" and found.nnz == inputs.nnz
    expected = StandardScaler(with_mean=False).fit_transform(inputs)
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_spread_of_sparse_inputs_survives_a_large_mean(offset):
    whole = np.round(1000 * X) + offset
    whole[:3, 1] = 0.0
    found = learn_scaling("standard", sparse.csr_array(whole), NO_LEVELS)
    np.testing.assert_allclose(found.scale, whole.std(axis=0), rtol=1e-9)


@pytest.mark.parametrize("n_rows", [54, 107])
def test_ranks_of_a_constant_are_zero(n_rows):
    assert (scaled("ranks", np.full((n_rows, 1), 0.1), [False]) == 0).all()


def test_sparse_constant_has_no_spread():
    assert learn_scaling("standard", sparse.csr_array(np.full((1001, 1), 0.1)), [False]).scale == 1.0


def test_ranks_of_sparse_inputs_are_refused():
    with pytest.raises(ValueError, match="Use inputs='standard'"):
        scaled("ranks", sparse.csr_array(X))


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="must be one of"):
        scaled("robust")


@pytest.mark.parametrize("kind", ["standard", "ranks", "standard of sparse inputs"])
def test_weight_equals_repetition(kind):
    counts = RANDOM.integers(1, 4, len(X))
    make = sparse.csr_array if "sparse" in kind else np.asarray
    weighted = learn_scaling(kind.split()[0], make(X), NO_LEVELS, weights=counts.astype(float)).transform(make(X))
    repeated = learn_scaling(kind.split()[0], make(np.repeat(X, counts, axis=0)), NO_LEVELS).transform(make(X))
    difference = weighted - repeated
    assert abs(difference).max() < 1e-12
