"""Any setting that a search may ask for: cold start, default budget."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.kernels import Gaussian
from logikern.numerics.outcome import Outcome
from tests.fitting import catalogue

DATA = {"iris": load_iris, "wine": load_wine}
SETTINGS = range(30)


@cache
def problem(setting, dtype):
    """Variance in [1e-2, 1e4], rate in [1e-3, 1e2] over the total variance, shared or a kernel per class."""
    generator = np.random.default_rng([17, setting])
    X, y = DATA["iris" if setting % 2 else "wine"](return_X_y=True)
    rows = generator.permutation(len(y))[:120]
    X, y = (X - X.mean(axis=0))[rows] / X.std(axis=0), y[rows]
    n_kernels = 3 if setting % 4 < 2 else 1
    rates = 10 ** generator.uniform(-3, 2, n_kernels) / X.shape[1]
    variances = 10 ** generator.uniform(-2, 4, n_kernels)
    return catalogue.make_problem(
        tuple(Gaussian(rate) for rate in rates),
        X,
        np.eye(3)[y].T,
        variances=variances,
        bias_variance=10 ** generator.uniform(-2, 2),
        assignment=tuple(range(3)) if n_kernels == 3 else None,
        dtype=dtype,
    )


@cache
def exact(setting, dtype):
    return Exact(tolerance=1e-9).fit(problem(setting, dtype))


@cache
def newton(setting, dtype, tolerance):
    return Newton(tolerance=tolerance).fit(problem(setting, dtype))


every_setting = pytest.mark.parametrize("setting", SETTINGS)
every_precision = pytest.mark.parametrize(
    "dtype, tolerance", [(np.float64, 1e-4), (np.float32, 1e-2)], ids=["double", "single"]
)


@every_precision
@every_setting
def test_newton_converges(setting, dtype, tolerance):
    assert newton(setting, dtype, tolerance).outcome is Outcome.CONVERGED


@every_precision
@every_setting
def test_gradient_of_the_stored_matrix_is_below_the_tolerance(setting, dtype, tolerance):
    own = problem(setting, dtype)
    dual = newton(setting, dtype, tolerance).dual
    assert np.abs(own.gradient(dual, own.covariance.accurate_matmul(dual))).max() <= tolerance


@every_precision
@every_setting
def test_newton_agrees_with_exact(setting, dtype, tolerance):
    difference = newton(setting, dtype, tolerance).dual - exact(setting, dtype).dual
    # The dual is probabilities, and the gradient that is left bounds their error up to the condition
    # of I + W K~ between the two norms.
    assert np.abs(difference).max() <= 10 * tolerance


@every_setting
def test_exact_converges(setting):
    assert exact(setting, np.float64).outcome is Outcome.CONVERGED


@every_setting
def test_products_are_few(setting):
    assert newton(setting, np.float64, 1e-4).n_products <= 150
