"""Whether closed-form leave-one-out is far from refits is told from refits of a few rows."""

from dataclasses import replace

import numpy as np
import pytest

from logikern.criteria.leave_one_out.expansion import ExactExpansion
from logikern.criteria.leave_one_out.refits import exact_leave_one_out
from logikern.criteria.leave_one_out.spot_check import Refitting, SpotCheckPolicy, spot_check
from logikern.fitting.newton.dense import Exact
from logikern.fitting.newton.iterative import Newton
from logikern.kernels import Gaussian
from logikern.likelihoods.squared import Squared
from logikern.structure.targets import from_labels
from tests.fitting import catalogue

RANDOM = np.random.default_rng(1)
POINTS = RANDOM.standard_normal((50, 2))
LABELS = np.clip(np.round(POINTS[:, 0] + 0.7 * RANDOM.standard_normal(50) + 1.5), 0, 2).astype(int)
GROUPS = np.repeat(np.arange(25), 2)
EVERYTHING = SpotCheckPolicy(n_largest=0, n_random=50)


def make(variance):
    """A fit, and its leave-one-out in closed form."""
    problem = catalogue.make_problem(Gaussian(2.0), POINTS, from_labels(LABELS, 3), variances=variance)
    result = Exact().fit(problem)
    return problem, result.latent, ExactExpansion(problem, result)


def check(variance, groups=None, seed=0, **settings):
    problem, latent, expansion = make(variance)
    if groups is not None:
        expansion = ExactExpansion(problem, Exact().fit(problem), groups)
    return spot_check(problem, latent, expansion.leave_out(), Refitting(Newton(1e-4), 32), seed, groups, **settings)


def refitted_loss(variance, groups=None):
    problem, latent, _ = make(variance)
    refits = exact_leave_one_out(problem, Newton(1e-6), groups, latent)
    return float(problem.likelihood.losses(refits.latent[None], problem.targets).mean())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_closed_form_at_a_large_variance_is_far_from_refits(seed):
    found = check(300.0, seed=seed)
    assert found.is_far and found.n_refits == 30
    assert found.refitted == pytest.approx(refitted_loss(300.0), rel=0.1)


@pytest.mark.parametrize("variance", [1.0, 3.0, 10.0])
def test_closed_form_at_an_ordinary_variance_is_not(variance):
    found = check(variance)
    assert not found.is_far
    assert found.refitted == pytest.approx(refitted_loss(variance), rel=0.02)


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_refits_of_everything_give_the_mean_loss_of_refits(groups):
    found = check(100.0, groups, policy=EVERYTHING)
    assert found.refitted == pytest.approx(refitted_loss(100.0, groups), rel=1e-3)


def test_nothing_is_checked_where_leaving_out_changes_nothing():
    assert check(1e-4) is None


def test_squared_loss_needs_no_check():
    targets = RANDOM.standard_normal((1, 50))
    problem = replace(catalogue.make_problem(Gaussian(2.0), POINTS, targets, variances=300.0), likelihood=Squared())
    result = Exact().fit(problem)
    left_out = ExactExpansion(problem, result).leave_out()
    assert spot_check(problem, result.latent, left_out, Refitting(Newton(1e-4), 32), 0) is None


def test_sentence_tells_both_losses():
    told = str(check(300.0))
    assert (
        f"{check(300.0).closed_form:.2f} is too small" in told and "30 refits, each without one row, suggest" in told
    )
