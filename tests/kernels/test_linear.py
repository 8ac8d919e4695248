"""What is special about the linear and the polynomial kernel."""

import numpy as np
import pytest
from scipy import sparse

from logikern.kernels import Linear, Polynomial
from tests.kernels.catalogue import table


def test_linear_features_are_the_points():
    points = table()
    assert Linear().features(points) is points


def test_linear_features_stay_sparse():
    assert sparse.issparse(Linear().features(sparse.csr_array(table())))


def test_linear_features_stay_float32():
    assert Linear().features(table().astype(np.float32)).dtype == np.float32


def test_polynomial_of_degree_1_is_linear_with_offset():
    points = table()
    np.testing.assert_allclose(
        Polynomial(0.5, 2.0, 1)(points, points), 2.0 + 0.5 * Linear()(points, points), rtol=1e-13, atol=1e-15
    )


def test_number_of_polynomial_rates_must_match_the_inputs():
    with pytest.raises(ValueError, match="one value per input, but has 2 values for 3 inputs"):
        Polynomial((1.0, 2.0))(table(), table())


def test_rate_keeps_raw_tables_in_range_of_float32():
    points = (1e6 * table()).astype(np.float32)
    scaled = Polynomial(1e-12, 1.0, 6)(points, points)
    np.testing.assert_allclose(scaled, Polynomial(1.0, 1.0, 6)(table(), table()), rtol=1e-4, atol=1e-4)
