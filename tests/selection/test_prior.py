import numpy as np
import pytest

from logikern.selection.prior import NestedPrior, NormalPrior

ORIGINS = np.array([0, 1, 0, 0])
COARSE, SCALE = NormalPrior(np.array([0.5, 2.0]), np.array([-1.0, 0.3])), np.array([0.7, 1.5])
PRIORS = {"at the start": NormalPrior(), "below it": NormalPrior(0.7, -4.0)}
NESTED = {"nested": NestedPrior(COARSE, ORIGINS, SCALE)}
every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)


@pytest.mark.parametrize("prior", (PRIORS | NESTED).values(), ids=PRIORS | NESTED)
def test_gradient_matches_differences(prior):
    shift, step = np.array([-2.0, 0.0, 0.5, 3.0]), 1e-4
    pulls = [[prior.pull(shift + sign * step * axis).value for sign in (1, -1)] for axis in np.eye(4)]
    expected = [(high - low) / (2 * step) for high, low in pulls]
    np.testing.assert_allclose(prior.pull(shift).gradient, expected, rtol=1e-7, atol=1e-9)


@every_prior
def test_value_is_a_normal_log_density(prior):
    from scipy.stats import norm

    shift = np.array([-1.0, 2.0])
    density = norm(prior.centre, prior.scale)
    expected = (density.logpdf(prior.centre) - density.logpdf(shift)).sum()
    assert prior.pull(shift).value == pytest.approx(expected)


@every_prior
def test_no_parameters_are_not_pulled(prior):
    assert prior.pull(np.zeros(0)).value == 0.0


def test_nested_prior_of_tied_parameters_is_that_of_the_coarser_model():
    shift = np.array([0.4, -2.0])
    nested, coarse = NESTED["nested"].pull(shift[ORIGINS]), COARSE.pull(shift)
    assert nested.value == pytest.approx(coarse.value)
    np.testing.assert_allclose(np.bincount(ORIGINS, weights=nested.gradient), coarse.gradient)


def test_nested_prior_charges_differences():
    tied, apart = np.zeros(4), np.array([1.0, 0.0, -1.0, 0.0])
    charge = NESTED["nested"].pull(apart).value - NESTED["nested"].pull(tied).value
    assert charge == pytest.approx(0.5 * 2.0 / 0.7**2)
