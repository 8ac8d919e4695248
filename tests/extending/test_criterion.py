"""Criteria of one's own: the evidence of a Gaussian process, and losses of the newest rows."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from logikern import KernelLogisticClassifier, KernelRegressor
from logikern.criteria.base import Criterion, CriterionData, Evaluation
from logikern.criteria.cross_validation import CrossValidation
from logikern.criteria.folds import folds_from_splits
from logikern.numerics.outcome import Outcome
from logikern.operators.choose import Choice
from tests.criteria.catalogue import specify
from tests.extending.problems import N_POINTS, labels, points, problem

POINTS = Choice("dense", np.dtype(float), "", 1e8).points(points())


@dataclass(frozen=True, eq=False)
class Evidence(Criterion):
    """-log N(y; 0, s^2 (K~ + I)) / n at the best s^2, without its constant: log(y' M^-1 y / n) / 2 + log |M| / 2n."""

    y: np.ndarray

    @property
    def loss_weights(self):
        return np.ones(len(self.y))

    @property
    def loss_points(self):
        return np.arange(len(self.y))

    def evaluate(self, covariance, start, tolerance):
        n, identity = len(self.y), np.eye(len(self.y))[:, None, :]
        matrix = covariance.matmul(identity)[:, 0] + identity[:, 0]
        inverse = np.linalg.inv(matrix)
        dual = inverse @ self.y
        noise = self.y @ dual / n
        losses = 0.5 * (np.log(noise) + self.y * dual / noise - 1 + np.linalg.slogdet(matrix)[1] / n)
        # d value = (tr(inverse dK) - dual' dK dual / noise) / (2 n).
        left = np.concatenate([inverse[:, None, :], -dual[None, None, :] / noise]) / (2 * n)
        right = np.concatenate([identity, dual[None, None, :]])
        gradient = covariance.contract_gradient(left, right)
        return Evaluation(float(losses.mean()), gradient, losses, dual[None, None], Outcome.CONVERGED, 1)


def evidence(given: CriterionData) -> Criterion:
    return Evidence(given.targets[0])


def newest_rows(given: CriterionData) -> Criterion:
    """The last fifth of the rows is held out; nothing else."""
    rows = np.arange(len(given.weights))
    split = [(rows[: -len(rows) // 5], rows[-len(rows) // 5 :])]
    folds = folds_from_splits(split, given.weights)
    return CrossValidation(given.likelihood, given.targets, folds, given.solver, given.sharpen)


def numbers() -> np.ndarray:
    return 5.0 * np.sin(points()[:, 0]) + np.random.default_rng(1).standard_normal(N_POINTS)


def test_gradient_of_the_new_criterion_matches_differences():
    mixing, step, criterion = problem(n_classes=1).covariance.mixing, 1e-5, Evidence(numbers())
    start = specify("gaussian", "shared", mixing, 0.0)

    def value(move):
        moved = start.with_log_parameters(start.log_parameters + move)
        return criterion.evaluate(moved.bind(POINTS), None, 1e-6).value

    gradient = start.collect(criterion.evaluate(start.bind(POINTS), None, 1e-6).gradient)
    moves = step * np.eye(len(gradient))
    np.testing.assert_allclose(gradient, [(value(m) - value(-m)) / (2 * step) for m in moves], atol=1e-7)


def test_regressor_learns_by_the_new_criterion():
    model = KernelRegressor(criterion=evidence, ard=False, random_state=0).fit(points(), numbers())
    scaled = (numbers() - numbers().mean()) / numbers().std()
    expected = Evidence(scaled).evaluate(model.model_.specification.bind(POINTS), None, 1e-6).value
    assert model.criterion_value_ == pytest.approx(expected, rel=1e-9)
    assert model.criterion_value_ < model.trace_[0].value and model.score(points(), numbers()) > 0.9
    assert "by evidence" in model.explain() and np.isnan(model.held_out_error_)


def test_classifier_learns_by_the_new_criterion():
    settings = {"inputs": "raw", "tying": "shared", "ard": False, "random_state": 0}
    model = KernelLogisticClassifier("gaussian", criterion=newest_rows, **settings).fit(points(), labels())
    usual = KernelLogisticClassifier("gaussian", **settings).fit(points(), labels())
    assert model.criterion_value_ < model.trace_[0].value and model.criterion_value_ != usual.criterion_value_


def test_new_criterion_sees_folds_and_groups():
    seen = []

    def look(given):
        seen.append(given)
        return CrossValidation(given.likelihood, given.targets, given.folds, given.solver)

    groups = np.arange(N_POINTS) // 5
    KernelLogisticClassifier(criterion=look, tying="shared", ard=False, cv=3).fit(points(), labels(), groups=groups)
    given = seen[0]
    assert all(own.folds is given.folds for own in seen)
    assert len(given.folds.kept) == 3 and given.groups.tolist() == groups.tolist()
    assert all((given.folds.held_out[:, groups == group] > 0).any(axis=1).sum() == 1 for group in range(5))


def shifted(shift):
    def criterion(given):
        return Evidence(given.targets[0] + shift)

    return criterion


def test_search_by_the_new_criterion_continues_from_a_checkpoint(tmp_path):
    path, settings = tmp_path / "fit.search", {"ard": False, "random_state": 0}
    whole = KernelRegressor(criterion=shifted(0.0), checkpoint=path, **settings).fit(points(), numbers())
    again = KernelRegressor(criterion=shifted(0.0), checkpoint=path, **settings).fit(points(), numbers())
    assert again.criterion_value_ == whole.criterion_value_
    assert [replace(own, seconds=0.0) for own in again.trace_] == [replace(own, seconds=0.0) for own in whole.trace_]
    assert sum(own.seconds for own in again.trace_) == sum(own.seconds for own in whole.trace_)


def test_checkpoint_of_another_criterion_is_refused(tmp_path):
    path = tmp_path / "fit.search"
    KernelRegressor(criterion=shifted(0.0), checkpoint=path).fit(points(), numbers())
    with pytest.raises(ValueError, match="other data or other settings"):
        KernelRegressor(criterion=shifted(0.1), checkpoint=path).fit(points(), numbers())
