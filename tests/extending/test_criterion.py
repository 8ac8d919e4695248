"""A criterion of one's own: the marginal likelihood of a Gaussian process."""

from dataclasses import dataclass

import numpy as np
import pytest

from logikern.criteria.base import Criterion, Evaluation
from logikern.numerics.outcome import Outcome
from logikern.operators.choose import Choice
from logikern.selection.growth import Plan, learn
from logikern.selection.journal import Journal, opened
from logikern.selection.search import Effort, SearchData, SearchLog
from tests.criteria.catalogue import specify
from tests.extending.problems import N_POINTS, points, problem

MIXING = problem(n_classes=1).covariance.mixing


@dataclass(frozen=True, eq=False)
class Evidence(Criterion):
    """-log N(y; 0, K~ + I) / n, for one output in units of the noise."""

    y: np.ndarray

    @property
    def loss_weights(self):
        return np.ones(len(self.y))

    @property
    def loss_points(self):
        return np.arange(len(self.y))

    def evaluate(self, covariance, start, tolerance):
        identity = np.eye(len(self.y))[:, None, :]
        matrix = covariance.matmul(identity)[:, 0] + identity[:, 0]
        inverse = np.linalg.inv(matrix)
        dual = inverse @ self.y
        n = len(self.y)
        losses = 0.5 * (self.y * dual + np.linalg.slogdet(2 * np.pi * matrix)[1] / n)
        # d value = (tr(inverse dK) - dual' dK dual) / (2 n).
        left = np.concatenate([inverse[:, None, :], -dual[None, None, :]]) / (2 * n)
        right = np.concatenate([identity, dual[None, None, :]])
        gradient = covariance.contract_gradient(left, right)
        return Evaluation(float(losses.mean()), gradient, losses, dual[None, None], Outcome.CONVERGED, 1)


def search_data() -> SearchData:
    noise = np.random.default_rng(1).standard_normal(N_POINTS)
    criterion = Evidence(5.0 * np.sin(points()[:, 0]) + noise)
    return SearchData(criterion, Choice("dense", np.dtype(float), "", 1e8).points(points()), N_POINTS)


def run(journal: Journal):
    start, log = specify("gaussian", "shared", MIXING, 0.0), SearchLog(journal, lambda record: None)
    plan = Plan((("shared", start.tying),), True, False, 2, N_POINTS)
    return learn(start, plan, [search_data()], Effort(), log, np.random.default_rng(0)), log


def test_gradient_of_the_new_criterion_matches_differences():
    data, start, step = search_data(), specify("gaussian", "shared", MIXING, 0.0), 1e-5

    def value(move):
        moved = start.with_log_parameters(start.log_parameters + move)
        return data.criterion.evaluate(moved.bind(data.points), None, 1e-6).value

    gradient = start.collect(data.criterion.evaluate(start.bind(data.points), None, 1e-6).gradient)
    moves = step * np.eye(len(gradient))
    np.testing.assert_allclose(gradient, [(value(m) - value(-m)) / (2 * step) for m in moves], atol=1e-7)


def test_search_minimises_the_new_criterion():
    learned, log = run(Journal())
    assert learned.value < log.records[0].value and all(record.usable for record in log.records)
    assert learned.specification.variances != specify("gaussian", "shared", MIXING, 0.0).variances


def test_search_by_the_new_criterion_continues_from_a_checkpoint(tmp_path):
    with opened(tmp_path / "search", "evidence") as journal:
        whole, _ = run(journal)
    with opened(tmp_path / "search", "evidence") as journal:
        n_entries = len(journal.entries)
        again, log = run(journal)
    assert n_entries == len(log.records) and again.value == pytest.approx(whole.value, abs=0)
