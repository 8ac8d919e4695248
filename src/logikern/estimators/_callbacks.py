"""Newton steps told to scikit-learn's callbacks and to the log."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from logikern.fitting.problem import Watch
from logikern.numerics.outcome import NewtonStep

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    # Between a method and its caller, for warnings that point at the caller.
    WRAPPER_FRAMES = 1
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:  # type: ignore[no-redef]
        """The method as it is."""
        return method

    WRAPPER_FRAMES = 0


logger = logging.getLogger("logikern")


@contextlib.contextmanager
def report_steps(estimator: Any, X: Any, y: Any, sample_weight: Any, max_steps: int) -> Iterator[Watch]:
    """A watch for the solver: every Newton step is a task of the estimator's callbacks.

    At the end of the context the estimator must be fitted: callbacks that score do so then.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield lambda step: _log(estimator.verbose, step)
        return
    context = estimator._init_callback_context(max_subtasks=max_steps + 1)
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y, metadata=metadata)

    def watch(step: NewtonStep) -> None:
        _log(estimator.verbose, step)
        task = context.subcontext(task_name="newton-step")
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y, metadata=metadata)
        task.call_on_fit_task_end(estimator=estimator, X=X, y=y, metadata=metadata)

    yield watch
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y, metadata=metadata, reconstruction_attributes={})


def _log(verbose: int, step: NewtonStep) -> None:
    if verbose:
        logger.info(
            "step %d: loss %.6g, gradient %.1e, %d products",
            step.step,
            step.loss,
            step.gradient_norm,
            step.products,
        )
