"""Progress of a fit: evaluations and Newton steps for scikit-learn's callbacks, the log and `verbose`."""

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

    # Frames between a method and its caller, for warnings that point at the caller.
    WRAPPER_FRAMES = 1
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No-op mixin."""

    def with_callbacks(method: Any) -> Any:
        """The method unchanged."""
        return method

    WRAPPER_FRAMES = 0


logger = logging.getLogger("logikern")


class SearchLength(NamedTuple):
    """The largest number of stages of a search, and of evaluations in a stage."""

    n_stages: int = 0
    evaluations: int = 0


class Listeners(NamedTuple):
    """Callbacks for each evaluation of the search and each step of the final fit."""

    evaluation: Callable[[Record], None]
    newton_step: Callable[[NewtonStep], None]


@contextlib.contextmanager
def listen(estimator: Any, length: SearchLength, X: Any, y: Any, sample_weight: Any) -> Iterator[Listeners]:
    """Every evaluation and every Newton step is a task of the estimator's callbacks, and an entry of the log.

    Tasks are nested: a fit has the stages of its search and the final fit, a stage has evaluations, and the final
    fit has Newton steps.

    A callback finds the evaluation that just ended as `estimator.trace_[-1]`; a handler of the logger "logikern"
    finds it as the attribute `evaluation` of the entry, and a Newton step as `newton_step`.

    The estimator must be fitted at the end of the context, because some callbacks compute scores then.
    """
    estimator.trace_ = ()
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    tasks = None
    if getattr(estimator, "_skl_callbacks", None):
        tasks = _Tasks({"estimator": estimator, "X": X, "y": y, "metadata": metadata}, length.n_stages + 1)
    final_fit = FinalFit(estimator.verbose)

    def evaluation(record: Record) -> None:
        estimator.trace_ = (*estimator.trace_, record)
        _log_evaluation(estimator.verbose, record)
        if tasks is not None:
            tasks.tell(record.stage, length.evaluations, "evaluation")

    def newton_step(step: NewtonStep) -> None:
        final_fit.log_step(step)
        if tasks is not None:
            tasks.tell("final fit", None, "Newton step")

    yield Listeners(evaluation, newton_step)
    final_fit.log_end()
    if tasks is not None:
        tasks.end()


class _Tasks:
    """The tasks of a fit for scikit-learn's callbacks, numbered to show progress.

    Parameters
    ----------
    told : dict
        The estimator and its data, as passed to callbacks.
    n_parts : int
        The largest number of stages, plus one for the final fit.
    """

    def __init__(self, told: dict[str, Any], n_parts: int) -> None:
        self.told = told
        self.parts_left, self.tasks_left = float(n_parts), 0.0
        self.whole = told["estimator"]._init_callback_context(max_subtasks=n_parts)
        self.whole.call_on_fit_task_begin(**told)
        self.part: Any = None  # a stage of the search, or the final fit

    def tell(self, part: str, length: int | None, name: str) -> None:
        """Report a task of a part of the fit; the part begins with its first task and has at most `length` tasks.

        scikit-learn rejects tasks beyond the announced number. They are not reported, because a wrong estimate must
        not end a fit.
        """
        if (self.part is None or self.part.task_name != part) and self.parts_left > 0:
            self._end_part()
            self.parts_left, self.tasks_left = self.parts_left - 1, math.inf if length is None else length
            self.part = self.whole.subcontext(task_name=part, max_subtasks=length)
            self.part.call_on_fit_task_begin(**self.told)
        if self.tasks_left > 0:
            self.tasks_left -= 1
            task = self.part.subcontext(task_name=name)
            task.call_on_fit_task_begin(**self.told)
            task.call_on_fit_task_end(**self.told)

    def _end_part(self) -> None:
        if self.part is not None:
            self.part.call_on_fit_task_end(**self.told)

    def end(self) -> None:
        """Report the end of the fit."""
        self._end_part()
        self.whole.call_on_fit_task_end(**self.told, reconstruction_attributes={})


def log(shown: bool, message: str, *values: Any, **attributes: Any) -> None:
    """An entry of the logger "logikern".

    With `shown`, the entry goes to standard output unless one of the user's handlers shows it, so that `verbose`
    works even if `logging` is not configured.

    Parameters
    ----------
    shown : bool
        Whether `verbose` requests this entry.
    message, values :
        As for `logging.Logger.log`.
    attributes :
        Attributes of the entry, for handlers.
    """
    logger.log(logging.INFO if shown else logging.DEBUG, message, *values, extra=attributes)
    if shown and not _has_audience(logging.INFO):
        sys.stdout.write(f"{message % values}\n")
        sys.stdout.flush()


def _has_audience(level: int) -> bool:
    """Whether a handler of the logger, or of a parent logger, shows entries of this level."""
    asked: logging.Logger | None = logger if logger.isEnabledFor(level) else None
    while asked is not None:
        if any(handler.level <= level for handler in asked.handlers):
            return True
        asked = asked.parent if asked.propagate else None
    return False


def _log_evaluation(verbose: int, record: Record) -> None:
    found = f"criterion {record.value:.5f}" if record.usable else "failed"
    lowest = f" (lowest on {record.n_points} rows: {record.best:.5f})" if math.isfinite(record.best) else ""
    told = (record.evaluation, record.stage, found, lowest, record.seconds)
    log(verbose >= 1, "evaluation %d (%s): %s%s; took %.1f s", *told, evaluation=record)


class FinalFit:
    """The log of a fit of all points: `verbose` 1 shows one line at its end, 2 also its steps."""

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
        message = "final fit, step %d: total penalised loss %.6g, gradient %.1e"
        log(self.verbose >= 2, message, *told, newton_step=step)

    def log_end(self) -> None:
        """One entry for the whole fit."""
        if self.last is not None:
            seconds = time.monotonic() - self.began
            told = (self.last.step, self.last.loss, self.last.gradient_norm, seconds)
            message = "final fit: %d steps, total penalised loss %.6g, gradient %.1e; took %.1f s"
            log(self.verbose >= 1, message, *told)
