"""Hyperparameters as one vector of logarithms, and who shares them."""

from functools import cache

import numpy as np
import pytest

from logikern.kernels import Gaussian, Matern32
from logikern.selection.growth import spread, with_relevance
from logikern.structure.covariance import CovarianceGradient
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tying import Tying, tie
from tests.criteria import catalogue
from tests.criteria.catalogue import Case

every_setting = pytest.mark.parametrize(
    "specification",
    [Case(kernel, tying).specification() for kernel in catalogue.KERNELS for tying in catalogue.TYINGS],
    ids=[f"{kernel}, {tying}" for kernel in catalogue.KERNELS for tying in catalogue.TYINGS],
)


def dense(specification, X):
    """K~ of each class, (C, n, n), written out."""
    kernels = [specification.kernels[number](X, X) for number in specification.tying.kernel_of]
    return np.array(kernels) * specification.latent_variances[:, None, None] + specification.bias_variance


@every_setting
def test_log_parameters_come_back(specification):
    moved = specification.log_parameters + np.linspace(-1, 1, len(specification.log_parameters))
    found = specification.with_log_parameters(moved).log_parameters
    np.testing.assert_allclose(found, moved, rtol=0, atol=1e-14)


@every_setting
def test_own_log_parameters_give_the_same_matrix(specification):
    X = catalogue.points()
    same = specification.with_log_parameters(specification.log_parameters)
    np.testing.assert_allclose(dense(same, X), dense(specification, X), rtol=1e-13)


@every_setting
def test_bound_covariance_is_the_one_written_out(specification):
    X = catalogue.points()
    functions = np.random.default_rng(0).standard_normal((2, catalogue.N_CLASSES, len(X)))
    expected = np.einsum("cnm,bcm->bcn", dense(specification, X), functions)
    np.testing.assert_allclose(Case().bind(specification).matmul(functions), expected, rtol=1e-10, atol=1e-10)


def test_bias_variance_of_zero_stays_zero():
    specification = Specification((Gaussian(0.5),), (2.0,), 0.0, tie("shared", Flat(2)), Flat(2))
    moved = specification.with_log_parameters(specification.log_parameters + 1.0)
    assert moved.bias_variance == 0.0 and moved.variances == (pytest.approx(2.0 * np.e),)


def test_collect_adds_up_by_variance():
    tying = tie(["a", "b", "a"], Flat(3))
    specification = Specification((Gaussian(0.5), Matern32(1.0)), (2.0, 3.0), 1.0, tying, Flat(3))
    gradient = CovarianceGradient((np.array([10.0]), np.array([20.0])), np.array([1.0, 2.0, 4.0]), 7.0)
    np.testing.assert_array_equal(specification.collect(gradient), [10, 20, 5, 2, 7])


@pytest.mark.parametrize("tying", catalogue.TYINGS)
def test_collected_gradient_is_the_slope_of_the_criterion(tying):
    case = Case("rates of inputs", tying, "random")
    evaluation = catalogue.evaluate(case)
    own = case.specification().collect(evaluation.gradient)
    expected = [catalogue.difference(case, axis, evaluation.state) for axis in np.eye(len(own))]
    np.testing.assert_allclose(own, expected, rtol=0, atol=1e-5 * np.abs(own).max())


FINER = [
    ("shared", "scaled"),
    ("shared", "separate"),
    ("shared", "groups"),
    ("scaled", "separate"),
    ("groups", "separate"),
]


@pytest.mark.parametrize("kernel", catalogue.KERNELS)
@pytest.mark.parametrize("before, after", FINER)
def test_spread_keeps_the_functions(before, after, kernel):
    X, specification = catalogue.points(), Case(kernel, before).specification()
    finer = spread(specification, tie(catalogue.TYINGS[after], Flat(catalogue.N_CLASSES)))
    np.testing.assert_array_equal(dense(finer, X), dense(specification, X))


@pytest.mark.parametrize("before, after", FINER)
def test_spread_has_a_parameter_for_every_group(before, after):
    tying = tie(catalogue.TYINGS[after], Flat(catalogue.N_CLASSES))
    finer = spread(Case(tying=before).specification(), tying)
    assert (len(finer.kernels), len(finer.variances)) == (tying.n_kernels, tying.n_variances)


@pytest.mark.parametrize("tying", catalogue.TYINGS)
@pytest.mark.parametrize("kernel", ["gaussian", "matern32", "matern52", "rational quadratic"])
def test_rates_of_inputs_keep_the_matrix(kernel, tying):
    X, specification = catalogue.points(), Case(kernel, tying).specification()
    per_input = with_relevance(specification, X.shape[1])
    np.testing.assert_allclose(dense(per_input, X), dense(specification, X), rtol=1e-12)


@pytest.mark.parametrize("tying, n_rates", [("shared", 3), ("separate", 9), ("groups", 6)])
def test_rates_of_inputs_are_one_for_each_input_and_kernel(tying, n_rates):
    specification = Case(tying=tying).specification()
    per_input = with_relevance(specification, 3)
    more = len(per_input.log_parameters) - len(specification.log_parameters)
    assert more == n_rates - len(specification.kernels)


@cache
def tyings():
    return {
        "shared": Tying((0, 0, 0), (0, 0, 0)),
        "scaled": Tying((0, 0, 0), (0, 1, 2)),
        "separate": Tying((0, 1, 2), (0, 1, 2)),
    }


@pytest.mark.parametrize("name", ["shared", "scaled", "separate"])
def test_named_tying(name):
    assert tie(name, Flat(3)) == tyings()[name]


@pytest.mark.parametrize(
    "labels", [["x", "y", "x"], (7, 3, 7), np.array(["b", "a", "b"])], ids=["list", "tuple", "array"]
)
def test_groups_are_numbered_as_they_appear(labels):
    assert tie(labels, Flat(3)) == Tying((0, 1, 0), (0, 1, 0))


@pytest.mark.parametrize(
    "tying, fragment",
    [
        ("seperate", "'shared'"),
        (["a", "b"], r"for each class \(3\), but has 2"),
        (5, "hashable group label"),
        ([[1], [2], [3]], "hashable"),
    ],
)
def test_what_is_no_tying_is_refused(tying, fragment):
    with pytest.raises(ValueError, match=fragment):
        tie(tying, Flat(3))
