"""A search can be watched while it goes on: from a callback, from the log, and with `verbose`."""

import logging
import sys

import numpy as np
import pytest

from logikern import KernelLogisticClassifier, KernelRegressor
from logikern.estimators._callbacks import _log_evaluation
from logikern.selection.search import Record
from tests.estimators.samples import SPECIES, X, fixed


class Watcher:
    """A callback that keeps the evaluation that each task found."""

    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to clean."""

    def on_fit_task_begin(self, estimator, context):
        """An evaluation is known at its end."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "evaluation":
            self.seen.append(estimator.trace_[-1])


class Listener(logging.Handler):
    """A handler that keeps what the entries of the log are about."""

    def __init__(self):
        super().__init__()
        self.heard = []

    def emit(self, entry):
        self.heard += [vars(entry)[name] for name in ("evaluation", "newton_step") if name in vars(entry)]


@pytest.fixture
def listener():
    logger, listener = logging.getLogger("logikern"), Listener()
    level = logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.DEBUG)
    yield listener
    logger.setLevel(level)
    logger.removeHandler(listener)


def learning() -> KernelLogisticClassifier:
    return KernelLogisticClassifier(tying="shared", random_state=0)


def test_callback_sees_every_evaluation_as_it_ends():
    pytest.importorskip("sklearn.callback")
    watcher = Watcher()
    model = learning().set_callbacks(watcher).fit(X, SPECIES)
    assert tuple(watcher.seen) == model.trace_ and len(watcher.seen) > 2


def test_log_has_every_evaluation_and_every_step(listener):
    model = learning().fit(X, SPECIES)
    assert tuple(listener.heard) == model.trace_ + model.newton_trace_


def test_log_of_a_fixed_fit_has_its_steps(listener):
    model = fixed().fit(X, SPECIES)
    assert tuple(listener.heard) == model.newton_trace_


@pytest.fixture
def logger():
    """The logger without handlers, as it is before a user sets up logging."""
    logger = logging.getLogger("logikern")
    before = logger.level, logger.propagate
    logger.propagate = False
    yield logger
    logger.setLevel(before[0])
    logger.propagate = before[1]
    logger.handlers.clear()


def shown_lines(capsys, start=""):
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith(start)]


def test_verbose_shows_a_line_per_evaluation_and_one_for_the_final_fit(capsys, logger):
    model = learning().set_params(verbose=1).fit(X, SPECIES)
    lines = shown_lines(capsys)
    assert len(lines) == len(model.trace_) + 1
    for line, record in zip(lines, model.trace_, strict=False):
        assert line.startswith(f"evaluation {record.evaluation} ({record.stage}): criterion {record.value:.5f}")
    assert lines[-1].startswith(f"final fit: {model.newton_trace_[-1].step} steps")


def test_more_verbose_also_shows_newton_steps(capsys, logger):
    model = fixed(verbose=2).fit(X, SPECIES)
    assert len(shown_lines(capsys, "final fit, step")) == len(model.newton_trace_)


def test_verbose_shows_a_regression(capsys, logger):
    model = KernelRegressor(verbose=1, random_state=0).fit(X, X.sum(axis=1))
    assert len(shown_lines(capsys, "evaluation")) == len(model.trace_)


def test_verbose_shows_added_points(capsys, logger):
    fixed(verbose=1).partial_fit(X, SPECIES, classes=[0, 1, 2])
    assert len(shown_lines(capsys, "final fit: ")) == 1


def test_verbose_names_the_classes_of_one_vs_rest(capsys, logger):
    fixed(verbose=1, one_vs_rest=True, tying="shared").fit(X, SPECIES)
    assert shown_lines(capsys)[::2] == [f"{label} against the rest" for label in range(3)]


def test_silent_fit_shows_nothing(capsys, logger):
    learning().fit(X, SPECIES)
    assert shown_lines(capsys) == []


@pytest.mark.parametrize("place", ["logikern", None], ids=["own logger", "root"])
def test_nothing_is_shown_twice_if_logging_is_set_up(place, capsys, logger):
    logger.propagate = True
    logger.setLevel(logging.INFO)
    owner, handler = logging.getLogger(place), logging.StreamHandler(sys.stdout)
    owner.addHandler(handler)
    try:
        fixed(verbose=1).fit(X, SPECIES)
    finally:
        owner.removeHandler(handler)
    assert len(shown_lines(capsys, "final fit")) == 1


@pytest.mark.parametrize("level", [logging.NOTSET, logging.WARNING])
def test_lines_are_shown_if_the_logging_set_up_hides_them(level, capsys, logger):
    logger.addHandler(logging.StreamHandler(sys.stdout))
    logger.handlers[0].setLevel(logging.WARNING - level)
    logger.setLevel(level or logging.INFO)
    fixed(verbose=1).fit(X, SPECIES)
    assert len(shown_lines(capsys, "final fit")) == 1


def test_failed_evaluation_is_called_so(capsys, logger):
    _log_evaluation(1, Record("shared", 1, 50, np.inf, np.inf, False, 3, 0.25))
    assert shown_lines(capsys) == ["evaluation 1 (shared): failed; took 0.2 s"]


def test_line_names_the_lowest_criterion_on_the_same_rows(capsys, logger):
    _log_evaluation(1, Record("shared", 2, 50, 0.5, 0.4, True, 3, 0.25))
    assert "criterion 0.50000 (lowest on 50 rows: 0.40000)" in shown_lines(capsys)[0]
