"""The demo, on few rows and without its slow peers."""

import numpy as np
import pytest

from logikern.cli import comparison
from logikern.cli.models import new_classifier
from logikern.cli.session.messages import Messages


@pytest.fixture
def small(monkeypatch):
    whole = comparison.digits_split()
    split = comparison.Split(whole.X[:200], whole.labels[:200], whole.X_test[:100], whole.labels_test[:100])
    rivals = [comparison.Contender(comparison.OURS, new_classifier({}, fixed=True))]
    rivals.append(comparison.Contender("fewer rows", rivals[0].model, rows=100))
    monkeypatch.setattr(comparison, "digits_split", lambda: split)
    monkeypatch.setattr(comparison, "contenders", lambda: rivals)
    return split


def test_demo_shows_the_whole_job(run, small):
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert "log loss" in result.stdout and "loaded it, and got the same probabilities" in result.stdout


def test_demo_marks_a_contender_with_fewer_rows(small):
    results = comparison.compare(comparison.contenders(), small, Messages(quiet=True))
    assert [result.rows for result in results] == [200, 100]


def test_demo_has_the_peers_of_the_comparison():
    names = " ".join(rival.name for rival in comparison.contenders())
    assert all(name in names for name in ("logikern", "SVC", "Gaussian process", "logistic regression"))


def test_demo_tests_on_rows_that_nobody_fitted():
    split = comparison.digits_split()
    fitted = {row.tobytes() for row in split.X}
    assert np.mean([row.tobytes() in fitted for row in split.X_test]) < 0.01


def test_demo_says_who_is_best_at_what(run, small):
    shown = run("demo").stdout
    assert all(f"smallest {heading}: " in shown for heading in ("log loss", "error", "Brier", "calibration", "CPU s"))


def test_demo_learns_our_hyperparameters():
    models = {rival.name: rival.model for rival in comparison.contenders()}
    assert models[comparison.OURS].criterion == "cv"
