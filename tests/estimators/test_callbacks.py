"""scikit-learn's callbacks see evaluations and Newton steps, and may stop a fit without spoiling the estimator."""

import importlib

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from logikern import KernelLogisticClassifier, KernelRegressor
from logikern.estimators._callbacks import SearchLength
from logikern.estimators._search_plan import SearchPlan
from logikern.numerics.outcome import Outcome
from tests.estimators.samples import SPECIES, X, fixed

callback = pytest.importorskip("sklearn.callback")


class Recorder:
    """Keeps the names of tasks as they begin and end."""

    def __init__(self, stop_after=None):
        self.events = []
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append(("end", context.task_name))
        if context.task_name == "Newton step" and self.count("end", "Newton step") == self.stop_after:
            raise KeyboardInterrupt

    def count(self, *event):
        return self.events.count(event)


@pytest.mark.parametrize("solver", ["newton", "exact"])
def test_every_newton_step_is_a_task(solver):
    recorder = Recorder()
    model = fixed(solver=solver).set_callbacks(recorder).fit(X, SPECIES)
    assert recorder.count("begin", "Newton step") == recorder.count("end", "Newton step") == len(model.trace_)
    assert recorder.events[:2] == [("setup", "fit"), ("begin", "fit")]
    assert recorder.events[-2:] == [("end", "fit"), ("teardown", "fit")]


def test_callback_does_not_change_the_fit():
    watched = fixed().set_callbacks(Recorder()).fit(X, SPECIES)
    assert np.array_equal(watched.predict_proba(X), fixed().fit(X, SPECIES).predict_proba(X))


def test_interruption_leaves_an_unfitted_estimator_that_can_be_fitted():
    recorder = Recorder(stop_after=2)
    model = fixed().set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, SPECIES)
    assert recorder.events[-1] == ("teardown", "fit")
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.set_callbacks().fit(X, SPECIES).score(X, SPECIES) > 0.9


def test_interrupted_refit_is_not_half_fitted():
    model = fixed().fit(X, SPECIES)
    model.set_callbacks(Recorder(stop_after=1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], SPECIES == 1)
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    assert not [name for name in ("model_", "classes_", "outcome_", "dual_coef_") if name in vars(model)]


def test_scoring_monitor_scores_the_finished_fit():
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    weights = np.linspace(1, 2, len(X))
    model = fixed().set_callbacks(monitor).fit(X, SPECIES, sample_weight=weights)
    log_probabilities = model.predict_log_proba(X)[np.arange(len(X)), SPECIES]
    (row,) = monitor.get_logs().data
    assert row["task_name"] == "fit"
    assert row["neg_log_loss"] == pytest.approx(np.average(log_probabilities, weights=weights))


def test_progress_bar_runs(capsys):
    pytest.importorskip("rich")
    fixed().set_callbacks(callback.ProgressBar()).fit(X, SPECIES)
    assert "KernelLogisticClassifier" in capsys.readouterr().out


@pytest.fixture
def progress(monkeypatch):
    """The share of a fit that scikit-learn's bar shows as done, after each task."""
    pytest.importorskip("rich")
    monitor = importlib.import_module("sklearn.callback._progressbar").RichProgressMonitor
    shown, on_task_end = [], monitor._on_task_end

    def watched(self, task):
        on_task_end(self, task)
        shown.append(self.root_rich_task.progress)

    monkeypatch.setattr(monitor, "_on_task_end", watched)
    return shown


SEARCHES = {
    "quasi-newton": KernelLogisticClassifier(random_state=0),
    "simplex": KernelLogisticClassifier(random_state=0, optimizer="nelder-mead", tying="shared"),
    "starts": KernelLogisticClassifier(random_state=0, n_starts=3),
    "numbers": KernelRegressor(random_state=0),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_progress_bar_moves_with_the_search(name, progress):
    model = clone(SEARCHES[name]).set_callbacks(callback.ProgressBar()).fit(X, SPECIES)
    # An evaluation fills a part of its stage, so that no task but the last of a stage leaps.
    assert np.all(np.diff(progress) >= 0) and progress[-1] == 1.0
    assert len(np.unique(progress)) >= len(model.trace_) and np.diff([0, *progress]).max() <= 0.5


def test_every_evaluation_of_every_stage_is_a_task():
    recorder = Recorder()
    model = KernelLogisticClassifier(random_state=0).set_callbacks(recorder).fit(X, SPECIES)
    assert recorder.count("end", "evaluation") == len(model.trace_)
    stages = list(dict.fromkeys(record.stage for record in model.trace_))
    parts = [name for event, name in recorder.events if event == "begin" and name in (*stages, "final fit")]
    assert parts == [*stages, "final fit"] and len(stages) > 2


def test_growth_on_more_points_is_a_task():
    recorder, random = Recorder(), np.random.default_rng(0)
    points = random.standard_normal((1300, 2))
    model = KernelLogisticClassifier(random_state=0, ard=False).set_callbacks(recorder)
    model.fit(points, points[:, 0] + random.standard_normal(1300) > 0)
    assert recorder.count("begin", "finish on 1300 rows") == 1
    assert recorder.count("end", "evaluation") == len(model.trace_)


def test_search_that_is_longer_than_planned_goes_on(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(SearchPlan, "length", SearchLength(1, 2))
    KernelLogisticClassifier(random_state=0).set_callbacks(recorder).fit(X, SPECIES)
    assert recorder.events[-2:] == [("end", "fit"), ("teardown", "fit")]


@pytest.mark.parametrize(
    "outer",
    [
        make_pipeline(StandardScaler(), fixed()),
        GridSearchCV(fixed(), {"variance": [1.0, 10.0]}, cv=2),
    ],
    ids=["pipeline", "search"],
)
def test_progress_bar_passes_through_outer_estimators(outer, capsys):
    pytest.importorskip("rich")
    outer.set_callbacks(callback.ProgressBar()).fit(X, SPECIES)
    assert "KernelLogisticClassifier" in capsys.readouterr().out


@pytest.mark.parametrize("solver", ["auto", "newton", "exact", "smo", "kcg"])
def test_interruption_of_the_final_fit_keeps_what_the_search_found(solver):
    recorder = Recorder(stop_after=3)
    model = KernelLogisticClassifier(solver=solver, random_state=0, on_interrupt="keep").set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, SPECIES)
    whole = KernelLogisticClassifier(solver=solver, random_state=0).fit(X, SPECIES)
    assert model.outcome_ is Outcome.INTERRUPTED
    assert model.variances_ == pytest.approx(whole.variances_)
    assert model.newton_trace_[-1].step < whole.newton_trace_[-1].step
    assert model.score(X, SPECIES) > 0.9
