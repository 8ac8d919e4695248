from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from logikern import KernelLogisticClassifier
from logikern.criteria.leave_one_out.criterion import leave_out_by_landmarks
from logikern.criteria.leave_one_out.expansion import ExactExpansion
from logikern.estimators._fitted import influence
from logikern.fitting.newton.dense import Exact
from logikern.numerics.simplex import log_probabilities
from tests.fitting import catalogue as fitting_catalogue
from tests.policies import change_policy

PROBLEMS = {case.name: case.build() for case in fitting_catalogue.FLAT}
FLAT = {name: problem for name, problem in PROBLEMS.items() if len(problem.weights) == 1}


@cache
def fitted(name):
    return Exact(1e-9).fit(FLAT[name])


@pytest.mark.parametrize("name", FLAT)
def test_full_rank_is_exact(name):
    problem, result = FLAT[name], fitted(name)
    if not result.outcome.converged or not np.isfinite(problem.covariance.diagonal()).all():
        pytest.skip("no optimum to look at")
    found = leave_out_by_landmarks(problem, result, problem.shape[2])
    wanted = ExactExpansion(problem, result).leave_out()
    # But for the jitter of landmarks, 1e-9 of the diagonal, which a variance of 10,000 makes felt.
    difference = np.exp(log_probabilities(found)) - np.exp(log_probabilities(wanted))
    assert np.abs(difference).max() <= 1e-5


def test_many_rows_are_left_out_by_landmarks_and_the_user_is_told(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, wrong = X[:400] / 16, y[:400].copy()
    flipped = np.random.default_rng(0).choice(400, 20, replace=False)
    wrong[flipped] = (wrong[flipped] + 1 + flipped % 9) % 10
    exact = KernelLogisticClassifier(criterion=None, rate=0.3, random_state=0).fit(X, wrong)
    change_policy(monkeypatch, influence, largest_work=1e6, largest_rank=1500)
    rough = clone(exact).fit(X, wrong)
    assert rough.loo_method_.startswith("low-rank approximation (rank 150)")
    assert np.isin(flipped, rough.suspects(40)["row"]).mean() >= 0.9
    monkeypatch.undo()
    assert exact.loo_method_ == "exact"
    assert exact.loo_log_loss_ < rough.loo_log_loss_ < 2 * exact.loo_log_loss_
