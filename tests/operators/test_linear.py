import tracemalloc

import numpy as np
from scipy import sparse

from logikern.kernels import Linear
from logikern.operators.linear import FeatureProduct


def test_a_product_never_holds_the_matrix():
    n = 3000
    features = sparse.random_array((n, 500), density=0.01, rng=np.random.default_rng(0), format="csr")
    operator = FeatureProduct(Linear(), features, features, features.T)
    functions = np.ones((2, n))
    tracemalloc.start()
    operator.matmul(functions)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.05 * n * n * 8


def test_single_features_are_multiplied_in_single_precision():
    features = np.ones((4, 2), dtype=np.float32)
    assert FeatureProduct(Linear(), features, features, features.T).dtype == np.float32


def test_rows_of_sparse_features_are_an_array():
    features = sparse.csr_array(np.eye(4))
    rows = FeatureProduct(Linear(), features, features, features.T).rows(np.array([2]))
    np.testing.assert_array_equal(rows, [[0.0, 0.0, 1.0, 0.0]])
