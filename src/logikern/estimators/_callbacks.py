"""Evaluations and Newton steps told to scikit-learn's callbacks, to the log, and to a user who asks for them."""

import contextlib
import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from logikern.numerics.outcome import NewtonStep
from logikern.selection.search import Record

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    # Between a method and its caller, for warnings that point at the caller.
    WRAPPER_FRAMES = 1
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method

    WRAPPER_FRAMES = 0


logger = logging.getLogger("logikern")


class Listeners(NamedTuple):
    """What is told of a fit while it goes on: each evaluation of the search, each step of the final fit."""

    evaluation: Callable[[Record], None]
    newton_step: Callable[[NewtonStep], None]


@contextlib.contextmanager
def listen(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Listeners]:
    """Every evaluation and every Newton step is a task of the estimator's callbacks, and an entry of the log.

    A callback finds the evaluation that just ended as `estimator.trace_[-1]`; a handler of the logger "logikern"
    finds it as the attribute `evaluation` of the entry, and a Newton step as `newton_step`.

    At the end of the context the estimator must be fitted: callbacks that score do so then.
    """
    estimator.trace_ = ()
    context, told = None, {}
    if getattr(estimator, "_skl_callbacks", None):
        context = estimator._init_callback_context(max_subtasks=None)
        told = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        context.call_on_fit_task_begin(estimator=estimator, **told)
    final_fit = FinalFit(estimator.verbose)

    def task(name: str) -> None:
        if context is not None:
            inner = context.subcontext(task_name=name)
            inner.call_on_fit_task_begin(estimator=estimator, **told)
            inner.call_on_fit_task_end(estimator=estimator, **told)

    def evaluation(record: Record) -> None:
        estimator.trace_ = (*estimator.trace_, record)
        _log_evaluation(estimator.verbose, record)
        task("evaluation")

    def newton_step(step: NewtonStep) -> None:
        final_fit.log_step(step)
        task("newton-step")

    yield Listeners(evaluation, newton_step)
    final_fit.log_end()
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, **told, reconstruction_attributes={})


def log(shown: bool, message: str, *values: Any, **attributes: Any) -> None:
    """An entry of the logger "logikern".

    An entry that is to be shown goes to standard output unless a handler of the user shows it, so that `verbose`
    needs no set-up of `logging`.

    Parameters
    ----------
    shown : bool
        Whether `verbose` asks for it.
    message, values :
        As for `logging.Logger.log`.
    attributes :
        Of the entry, for handlers.
    """
    logger.log(logging.INFO if shown else logging.DEBUG, message, *values, extra=attributes)
    if shown and not _has_audience(logging.INFO):
        sys.stdout.write(f"{message % values}\n")
        sys.stdout.flush()


def _has_audience(level: int) -> bool:
    """Whether a handler of the logger, or of one above it, shows entries of a level."""
    asked: logging.Logger | None = logger if logger.isEnabledFor(level) else None
    while asked is not None:
        if any(handler.level <= level for handler in asked.handlers):
            return True
        asked = asked.parent if asked.propagate else None
    return False


def _log_evaluation(verbose: int, record: Record) -> None:
    found = f"criterion {record.value:.5f}" if record.usable else "failed"
    best = f", best on {record.n_points} points {record.best:.5f}" if math.isfinite(record.best) else ""
    told = (record.evaluation, record.stage, found, best, record.seconds)
    log(verbose >= 1, "evaluation %d (%s): %s%s, %.1f s", *told, evaluation=record)


class FinalFit:
    """The log of a fit of all points.

    Parameters
    ----------
    verbose : int
        1 shows one line at the end of the fit, 2 also its steps.
    """

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose
        self.began = time.monotonic()
        self.last: NewtonStep | None = None

    def log_step(self, step: NewtonStep) -> None:
        """One entry for a Newton step."""
        if self.last is None:
            self.began = time.monotonic()
        self.last = step
        told = (step.step, step.loss, step.gradient_norm)
        log(self.verbose >= 2, "final fit, step %d: loss %.6g, gradient %.1e", *told, newton_step=step)

    def log_end(self) -> None:
        """One entry for the whole fit."""
        if self.last is not None:
            seconds = time.monotonic() - self.began
            told = (self.last.step, self.last.loss, self.last.gradient_norm, seconds)
            log(self.verbose >= 1, "final fit: %d steps, loss %.6g, gradient %.1e, %.1f s", *told)
