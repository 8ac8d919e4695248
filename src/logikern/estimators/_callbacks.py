"""Evaluations and Newton steps told to scikit-learn's callbacks and to the log."""

import contextlib
import logging
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
        log_step(estimator.verbose, step)
        task("newton-step")

    yield Listeners(evaluation, newton_step)
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, **told, reconstruction_attributes={})


def _log_evaluation(verbose: int, record: Record) -> None:
    logger.log(
        _level(verbose),
        "evaluation %d (%s): criterion %.5f, best on %d points %.5f, %d products, %.1f s",
        record.evaluation,
        record.stage,
        record.value,
        record.n_points,
        record.best,
        record.n_products,
        record.seconds,
        extra={"evaluation": record},
    )


def log_step(verbose: int, step: NewtonStep) -> None:
    """One entry of the log."""
    logger.log(
        _level(verbose),
        "step %d: loss %.6g, gradient %.1e, %d products",
        step.step,
        step.loss,
        step.gradient_norm,
        step.products,
        extra={"newton_step": step},
    )


def _level(verbose: int) -> int:
    return logging.INFO if verbose else logging.DEBUG
