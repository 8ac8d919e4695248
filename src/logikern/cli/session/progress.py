"""Progress of a running fit: the current evaluation and the remaining time."""

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from logikern.cli.session.interruption import Interruption
from logikern.cli.session.messages import Messages

if TYPE_CHECKING:
    from logikern.numerics.outcome import NewtonStep
    from logikern.selection.search import Record

USUAL_LENGTH = 8  # evaluations of the first stage


@dataclass(eq=False)
class Progress:
    """State of a running fit."""

    max_time: float | None = None  # seconds for the search
    began: float = field(default_factory=time.monotonic)
    records: "list[Record]" = field(default_factory=list)  # evaluations so far
    step: "NewtonStep | None" = None  # the last step of the final fit

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    @property
    def state(self) -> str:
        """The last evaluation or step."""
        if self.step is not None:
            return f"final fit, step {self.step.step}: gradient {self.step.gradient_norm:.1e}"
        if not self.records:
            return "first evaluation"
        record = self.records[-1]
        value = f"criterion {record.value:.5f}" if record.usable else "failed"
        lowest = f" (lowest on {record.n_points} rows: {record.best:.5f})" if math.isfinite(record.best) else ""
        return f"{record.stage}, evaluation {record.evaluation}: {value}{lowest}"

    @property
    def rest(self) -> str:
        """The estimated remaining time; empty if unknown."""
        if self.step is not None or not self.records:
            return ""
        stage = f"about {in_seconds(max(rest_of_stage(self.records), 0.1))} left in this stage"
        if self.max_time is None:
            return stage
        return f"{stage}, at most {in_seconds(max(self.max_time - self.elapsed, 0.0))} in the search"


def rest_of_stage(records: "list[Record]") -> float:
    """Seconds until the stage ends, if it takes the average number of evaluations of earlier stages."""
    lengths = [len(list(own)) for _, own in groupby(records, key=lambda record: record.stage)]
    usual = sum(lengths[:-1]) / len(lengths[:-1]) if lengths[1:] else USUAL_LENGTH
    own = records[-lengths[-1] :]
    return max(usual - len(own), 1.0) * sum(record.seconds for record in own) / len(own)


def in_seconds(seconds: float) -> str:
    """Seconds in a readable unit: `0.4 s`, `12 s`, `5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


@contextmanager
def show_progress(
    messages: Messages, task: str, interruption: Interruption, max_time: float | None = None
) -> Iterator[None]:
    """Show the progress of the fit in this context: live on a terminal, otherwise a line per evaluation."""
    progress = Progress(max_time)
    live = not messages.quiet and _is_screen()
    interruption.announced = not live
    if not live:
        messages.info(f"{task} ...")

    def evaluation(record: "Record") -> None:
        progress.records.append(record)
        # A fit may have several searches, each with a final fit.
        progress.step, interruption.final = None, False
        if not live:
            messages.info(f"  {progress.state}; {in_seconds(progress.elapsed)} so far, {progress.rest}")
        interruption.honour()

    def newton_step(step: "NewtonStep") -> None:
        if progress.step is None and progress.records and not live:
            messages.info("  final fit")
        progress.step = step
        interruption.final = True

    shown: AbstractContextManager[Any] = _display(task, progress, interruption) if live else nullcontext()
    with shown, _listening(evaluation, newton_step):
        yield
    messages.info(f"{task}: {in_seconds(progress.elapsed)}")


def _is_screen() -> bool:
    """Whether standard error is a terminal that can redraw."""
    if not sys.stderr.isatty():
        return False
    from rich.console import Console

    return not Console(stderr=True).is_dumb_terminal


def _display(task: str, progress: Progress, interruption: Interruption) -> AbstractContextManager[Any]:
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.table import Table
    from rich.text import Text

    spinner = Spinner("dots")

    def screen() -> Table:
        grid = Table.grid(padding=(0, 1))
        grid.add_row(spinner, Text(f"{task}, {in_seconds(progress.elapsed)}"))
        for line in (progress.state, progress.rest, interruption.answer if interruption.asked else ""):
            if line:
                grid.add_row("", Text(line))
        return grid

    console = Console(stderr=True)
    return Live(get_renderable=screen, console=console, transient=True, refresh_per_second=8)


class _Listener(logging.Handler):
    """Log handler that passes evaluations and steps of the estimator to functions."""

    def __init__(self, receivers: dict[str, Callable[[Any], None]]) -> None:
        super().__init__(logging.DEBUG)
        self.receivers = receivers

    def emit(self, entry: logging.LogRecord) -> None:
        for name, receive in self.receivers.items():
            if name in vars(entry):
                receive(vars(entry)[name])


@contextmanager
def _listening(evaluation: Callable[[Any], None], newton_step: Callable[[Any], None]) -> Iterator[None]:
    logger = logging.getLogger("logikern")
    listener = _Listener({"evaluation": evaluation, "newton_step": newton_step})
    level = logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(listener)
