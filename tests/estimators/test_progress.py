"""A search can be watched while it goes on: from a callback, and from the log."""

import logging

import pytest

from logikern import KernelLogisticClassifier
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
