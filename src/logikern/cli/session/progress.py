"""A running fit: what the search tries, what it brought, and how long it may still take."""

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
from logikern.cli.session.narration import Narrator

if TYPE_CHECKING:
    from logikern.numerics.outcome import NewtonStep
    from logikern.selection.search import Record

USUAL_LENGTH = 8  # evaluations of a stage, while none has ended


@dataclass(eq=False)
class Progress:
    """What is known of a fit that goes on.

    Parameters
    ----------
    max_time : float or None, default=None
        Seconds that the search may take.
    began : float
        On the clock of `time.monotonic`.
    records : list of Record
        The evaluations so far.
    step : NewtonStep or None
        The last one of the final fit.
    """

    max_time: float | None = None
    began: float = field(default_factory=time.monotonic)
    records: "list[Record]" = field(default_factory=list)
    step: "NewtonStep | None" = None

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    @property
    def state(self) -> str:
        """The evaluation or the step that ended last."""
        if self.step is not None:
            return f"final fit, step {self.step.step}: gradient {self.step.gradient_norm:.1e}"
        if not self.records:
            return "first evaluation"
        record = self.records[-1]
        value = f"criterion {record.value:.5f}" if record.usable else "no fit here"
        best = f", best {record.best:.5f}" if math.isfinite(record.best) else ""
        return f"{record.stage}, evaluation {record.evaluation}: {value}{best}"

    @property
    def rest(self) -> str:
        """What may still come, in seconds; empty where nothing is known."""
        if self.step is not None or not self.records:
            return ""
        stage = f"about {in_seconds(max(rest_of_stage(self.records), 0.1))} left of this stage"
        if self.max_time is None:
            return stage
        return f"{stage}, at most {in_seconds(max(self.max_time - self.elapsed, 0.0))} of the search"


def rest_of_stage(records: "list[Record]") -> float:
    """Seconds until the stage ends, if it takes as many evaluations as the stages before it did on average."""
    lengths = [len(list(own)) for _, own in groupby(records, key=lambda record: record.stage)]
    usual = sum(lengths[:-1]) / len(lengths[:-1]) if lengths[1:] else USUAL_LENGTH
    own = records[-lengths[-1] :]
    return max(usual - len(own), 1.0) * sum(record.seconds for record in own) / len(own)


def in_seconds(seconds: float) -> str:
    """Seconds with a digit that means something: `0.4 s`, `12 s`, `5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


@contextmanager
def followed(
    narrator: Narrator, task: str, interruption: Interruption, max_time: float | None = None
) -> Iterator[None]:
    """Show the fit that runs inside: live on a terminal, otherwise a line for each evaluation."""
    progress = Progress(max_time)
    live = not narrator.quiet and _is_screen()
    interruption.announced = not live
    if not live:
        narrator.say(f"{task} ...")

    def evaluation(record: "Record") -> None:
        progress.records.append(record)
        if not live:
            narrator.say(f"  {progress.state}; {in_seconds(progress.elapsed)}, {progress.rest}")
        interruption.honour()

    def newton_step(step: "NewtonStep") -> None:
        if progress.step is None and progress.records and not live:
            narrator.say("  final fit")
        progress.step = step
        interruption.final = True

    shown: AbstractContextManager[Any] = _display(task, progress, interruption) if live else nullcontext()
    with shown, _listening(evaluation, newton_step):
        yield
    narrator.say(f"{task}: {in_seconds(progress.elapsed)}")


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
    """Hands on what the estimator tells its log."""

    def __init__(self, hearers: dict[str, Callable[[Any], None]]) -> None:
        super().__init__(logging.DEBUG)
        self.hearers = hearers

    def emit(self, entry: logging.LogRecord) -> None:
        for name, hear in self.hearers.items():
            if name in vars(entry):
                hear(vars(entry)[name])


@contextmanager
def _listening(evaluation: Callable[[Any], None], newton_step: Callable[[Any], None]) -> Iterator[None]:
    logger, listener = (
        logging.getLogger("logikern"),
        _Listener({"evaluation": evaluation, "newton_step": newton_step}),
    )
    level = logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(listener)
