import numpy as np
import pytest

from logikern.selection.prior import NormalPrior

PRIORS = {"at the start": NormalPrior(), "below it": NormalPrior(0.7, -4.0)}
every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)


@every_prior
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
