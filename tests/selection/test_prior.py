import numpy as np
import pytest

from logikern.selection.prior import NestedPrior, NormalDeviations, NormalPrior, StudentDeviations, weigh_prior

ORIGINS = np.array([0, 1, 0, 0])
COARSE = NormalPrior(np.array([0.5, 2.0]), np.array([-1.0, 0.3]))
NORMAL, STUDENT = NormalDeviations(0.7), StudentDeviations(0.7, 3.0)
PRIORS = {"at the start": NormalPrior(), "below it": NormalPrior(0.7, -4.0)}
NESTED = {
    "nested, normal": NestedPrior(COARSE, ORIGINS, (NORMAL, NormalDeviations(1.5))),
    "nested, Student": NestedPrior(COARSE, ORIGINS, (STUDENT, NormalDeviations(1.5))),
}
every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
every_nested = pytest.mark.parametrize("prior", NESTED.values(), ids=NESTED)
every_kind = pytest.mark.parametrize("deviations", [NORMAL, STUDENT], ids=["normal", "Student"])
# One rate far above the others, and most of them equal.
ONE_MATTERS = np.array([2.5, 0.0, 0.0, 0.1, -0.1, 0.0])


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


@every_nested
def test_nested_prior_of_tied_parameters_is_that_of_the_coarser_model(prior):
    shift = np.array([0.4, -2.0])
    nested, coarse = prior.pull(shift[ORIGINS]), COARSE.pull(shift)
    assert nested.value == pytest.approx(coarse.value)
    np.testing.assert_allclose(np.bincount(ORIGINS, weights=nested.gradient), coarse.gradient)


def test_nested_prior_charges_differences():
    tied, apart = np.zeros(4), np.array([1.0, 0.0, -1.0, 0.0])
    nested = NESTED["nested, normal"]
    assert nested.pull(apart).value - nested.pull(tied).value == pytest.approx(0.5 * 2.0 / 0.7**2)


@every_kind
def test_gradient_of_deviations_matches_differences(deviations):
    step = 1e-4
    ends = [[deviations.pull(ONE_MATTERS + sign * step * axis).value for sign in (1, -1)] for axis in np.eye(6)]
    expected = [(high - low) / (2 * step) for high, low in ends]
    np.testing.assert_allclose(deviations.pull(ONE_MATTERS).gradient, expected, rtol=1e-6, atol=1e-7)


@every_kind
def test_deviations_do_not_feel_a_common_shift(deviations):
    here, there = deviations.pull(ONE_MATTERS), deviations.pull(ONE_MATTERS + 3.0)
    assert there.value == pytest.approx(here.value)
    assert here.gradient.sum() == pytest.approx(0.0, abs=1e-7)


def test_student_deviations_are_negative_log_densities_around_the_best_centre():
    from scipy.optimize import minimize_scalar
    from scipy.stats import t

    def charge(centre):
        return -(t.logpdf(ONE_MATTERS, 3.0, centre, 0.7) - t.logpdf(0.0, 3.0, 0.0, 0.7)).sum()

    assert STUDENT.pull(ONE_MATTERS).value == pytest.approx(minimize_scalar(charge, bracket=(-0.5, 0.5)).fun)


def test_student_deviations_are_normal_ones_with_many_degrees_of_freedom():
    many = StudentDeviations(0.7, 1e7).pull(ONE_MATTERS)
    assert many.value == pytest.approx(NORMAL.pull(ONE_MATTERS).value, rel=1e-5)


def test_one_rate_far_above_the_others_pulls_them_less_under_student_deviations():
    normal, student = NORMAL.pull(ONE_MATTERS), STUDENT.pull(ONE_MATTERS)
    assert student.value < 0.8 * normal.value
    # The mean lies above the five others, and a normal prior pulls all of them up to it.
    assert (normal.gradient[1:] < 0.0).all()
    assert np.median(np.abs(student.gradient[1:])) < 0.5 * np.median(np.abs(normal.gradient[1:]))


def test_centre_of_student_deviations_lies_in_one_of_two_groups_that_are_far_apart():
    apart = np.array([0.0, 0.1, -0.1, 20.0, 20.1, 19.9])
    one_group = 2.0 * np.log1p((apart / 0.7) ** 2 / 3.0).sum()
    assert STUDENT.pull(apart).value == pytest.approx(one_group, rel=1e-3)


def loss_and_prior(point, n_cases, certain_loss):
    """A loss that falls with every parameter, under a normal prior."""
    prior, value = NormalPrior(0.7), float(np.exp(-point.sum()))
    return weigh_prior(value, np.full(len(point), -value), prior.pull(point), n_cases, certain_loss)


@pytest.mark.parametrize("certain_loss", [0.0, 1e-3])
@pytest.mark.parametrize("place", [0.1, 2.0, 6.0], ids=["uncertain", "between", "certain"])
def test_gradient_of_weighed_prior_matches_differences(place, certain_loss):
    point, step = np.array([place, 0.5 * place]), 1e-5
    ends = [
        [loss_and_prior(point + sign * step * axis, 50, certain_loss).value for sign in (1, -1)] for axis in np.eye(2)
    ]
    expected = [(high - low) / (2 * step) for high, low in ends]
    np.testing.assert_allclose(loss_and_prior(point, 50, certain_loss).gradient, expected, rtol=1e-6)


def test_prior_counts_as_one_case_where_losses_are_large():
    pull, gradient = NormalPrior(0.7).pull(np.array([2.0])), np.array([0.1])
    weighed = weigh_prior(0.5, gradient, pull, 100, 1e-3)
    assert weighed.value == pytest.approx(0.5 + pull.value / 100, rel=1e-3)
    np.testing.assert_allclose(weighed.gradient, gradient + pull.gradient / 100, rtol=1e-2)


def test_prior_of_certain_models_loses_weight_but_not_all_of_it():
    pull = NormalPrior(0.7).pull(np.array([2.0]))
    charges = [weigh_prior(loss, np.zeros(1), pull, 1000, 1e-3).value - loss for loss in (1e-4, 0.0)]
    assert charges == pytest.approx([pull.value / 1000 * 0.375, pull.value / 1000 / 3])


def test_certainty_ends_at_the_rate_of_errors_expected_of_clean_cases():
    from scipy.stats import beta

    # At a loss of zero, e / (e + certain_loss) of the prior is left; here e is the posterior mean of the rate.
    n, certain_loss, pull = 200, 1e-3, NormalPrior(0.7).pull(np.array([2.0]))
    expected = beta(0.5, 0.5 + n).mean()
    share = weigh_prior(0.0, np.zeros(1), pull, n, certain_loss).value * n / pull.value
    assert share == pytest.approx(expected / (expected + certain_loss), rel=0.01)


def test_prior_of_regressions_has_all_of_its_weight():
    pull = NormalPrior(0.7).pull(np.array([2.0]))
    for value in (-3.0, -1e-9, 1e-9):
        assert weigh_prior(value, np.zeros(1), pull, 10, 0.0).value == pytest.approx(value + pull.value / 10)
