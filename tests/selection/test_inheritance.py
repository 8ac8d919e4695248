import numpy as np
import pytest

from logikern.kernels import Gaussian, Laplacian, Linear, RationalQuadratic
from logikern.selection.inheritance import inherit_curvature, parameters_of_classes
from logikern.selection.refinement import extrapolate_rates, spread, with_relevance
from logikern.structure.mixing import Flat
from logikern.structure.specification import Specification
from logikern.structure.tying import tie
from tests.structure.trees import TREES

SHARED = Specification((Gaussian(0.5),), (3.0,), 16.0, tie("shared", Flat(3)), Flat(3))
HESSIAN = np.array([[3.0, 1.0], [1.0, 2.0]])


def free_of(specification, bias=False):
    return np.append(np.ones(len(specification.log_parameters) - 1, dtype=bool), bias)


def moved(tying):
    """From log parameters of the fine model to those of the coarse one, each class alone: (C, 2, q)."""
    fine = spread(SHARED, tie(tying, Flat(3)))
    maps = np.zeros((3, 2, len(fine.log_parameters) - 1))
    for number, own in enumerate(parameters_of_classes(fine)):
        maps[number, 0, own[0]] = maps[number, 1, own[1]] = 1.0
    return fine, maps


@pytest.mark.parametrize("tying", ["scaled", "separate", ["a", "b", "a"]])
def test_curvature_is_that_of_a_sum_of_equal_classes(tying):
    fine, maps = moved(tying)
    wanted = sum(own.T @ (HESSIAN / 3) @ own for own in maps)
    found = inherit_curvature(np.linalg.inv(HESSIAN), SHARED, fine, free_of(fine))
    assert np.allclose(np.linalg.inv(found), wanted)


def test_curvature_along_the_old_parameters_is_the_old_one():
    fine, maps = moved("separate")
    found = np.linalg.inv(inherit_curvature(np.linalg.inv(HESSIAN), SHARED, fine, free_of(fine)))
    together = maps.sum(axis=0).T  # all classes move alike
    assert np.allclose(together.T @ found @ together, HESSIAN)


def test_levels_of_a_tree_have_parts_by_the_classes_below_them():
    tree = TREES["chain"]  # four classes at the first level, three at the second, two at the third
    shared = Specification((Linear(),), (3.0,), 16.0, tie("shared", tree), tree)
    fine = spread(shared, tie("level", tree))
    found = np.linalg.inv(inherit_curvature(np.array([[0.5]]), shared, fine, free_of(fine)))
    np.testing.assert_allclose(found, 2.0 * np.diag([4, 3, 2]) / 9, atol=1e-12)


def test_bias_variance_takes_part_where_it_is_learned():
    hessian = np.diag([3.0, 2.0, 0.5])
    fine = spread(SHARED, tie("separate", Flat(3)))
    found = np.linalg.inv(inherit_curvature(np.linalg.inv(hessian), SHARED, fine, free_of(fine, bias=True)))
    assert found[-1, -1] == pytest.approx(0.5)


def test_rates_per_input_inherit_nothing():
    fine = with_relevance(SHARED, 4)
    assert inherit_curvature(np.linalg.inv(HESSIAN), SHARED, fine, free_of(fine)) is None


def test_rates_of_columns_are_spread_over_their_inputs():
    fine = with_relevance(SHARED, 4, (0, 1, 1, 1))
    assert fine.kernels == (Gaussian((0.5, 0.5), columns=(0, 1, 1, 1)),)


def test_columns_of_the_kernel_take_precedence():
    own = Specification((Laplacian(0.5, columns=(0, 0, 1)),), (3.0,), 16.0, tie("shared", Flat(3)), Flat(3))
    assert with_relevance(own, 3, (0, 1, 1)).kernels == (Laplacian((0.5, 0.5), columns=(0, 0, 1)),)


def test_rates_go_on_growing_by_the_power_seen():
    fine = Specification((Gaussian(0.5 * 2**0.6),), (5.0,), 16.0, tie("shared", Flat(3)), Flat(3))
    found = extrapolate_rates(SHARED, fine, (1000, 2000, 4000))
    assert found.kernels[0].rate == pytest.approx(0.5 * 4**0.6)
    assert found.variances == pytest.approx((5.0,))


def test_power_is_not_trusted_far_beyond_what_was_seen():
    fine = Specification((Gaussian(1.0),), (3.0,), 16.0, tie("shared", Flat(3)), Flat(3))
    found = extrapolate_rates(SHARED, fine, (1000, 2000, 10**6))
    assert found.kernels[0].rate == pytest.approx(2.0**1.5)


def test_power_is_common_to_all_classes():
    coarse = spread(SHARED, tie("separate", Flat(3)))
    fine = coarse.with_log_parameters(coarse.log_parameters + np.log(2) * np.array([0.9, -0.3, 0.6, 2, 2, 2, 0]))
    found = extrapolate_rates(coarse, fine, (1000, 2000, 4000))
    assert np.allclose(found.log_parameters - fine.log_parameters, np.log(2) * 0.4 * np.array([1, 1, 1, 0, 0, 0, 0]))


@pytest.mark.parametrize("power, wanted", [(-0.5, 0.0), (1.7, 1.0)])
def test_power_stays_sensible(power, wanted):
    fine = Specification((Gaussian(0.5 * 2**power),), (3.0,), 16.0, tie("shared", Flat(3)), Flat(3))
    found = extrapolate_rates(SHARED, fine, (1000, 2000, 4000))
    assert found.kernels[0].rate == pytest.approx(fine.kernels[0].rate * 2**wanted)


def test_nothing_is_extrapolated_where_all_points_were_seen():
    fine = Specification((Gaussian(2.0),), (3.0,), 16.0, tie("shared", Flat(3)), Flat(3))
    assert extrapolate_rates(SHARED, fine, (1000, 2000, 2000)) == fine


def test_other_parameters_of_a_kernel_stay():
    coarse = Specification((RationalQuadratic(0.5, 1.0),), (3.0,), 16.0, tie("shared", Flat(3)), Flat(3))
    fine = Specification((RationalQuadratic(1.0, 4.0),), (3.0,), 16.0, tie("shared", Flat(3)), Flat(3))
    found = extrapolate_rates(coarse, fine, (1000, 2000, 4000)).kernels[0]
    assert found.log_parameters == pytest.approx(np.log([2.0, 4.0]))
