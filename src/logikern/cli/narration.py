"""What a command says while it works: lines on standard error, a live display on a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Narrator:
    """Says what happens; `quiet` keeps warnings only."""

    quiet: bool = False

    def say(self, message: str) -> None:
        if not self.quiet:
            print(message, file=sys.stderr)

    def warn(self, message: str) -> None:
        print(f"warning: {message}", file=sys.stderr)

    @contextmanager
    def working(self, task: str, classifier: Any = None) -> Iterator[None]:
        """Announce `task`, count the steps of `classifier` on a terminal, and say how long it took."""
        began = time.perf_counter()
        if self.quiet or not sys.stderr.isatty():
            self.say(f"{task} ...")
            yield
        else:
            with _live(task, classifier):
                yield
        self.say(f"{task}: {time.perf_counter() - began:.1f} s")


@contextmanager
def _live(task: str, classifier: Any) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        display = progress.add_task(task, total=None)
        # scikit-learn before 1.9 has no callbacks.
        if not callable(getattr(classifier, "set_callbacks", None)):
            yield
            return
        classifier.set_callbacks(StepCounter(progress, display, task))
        try:
            yield
        finally:
            classifier.set_callbacks()  # the display must not end up in the model file


class StepCounter:
    """A scikit-learn callback that shows the number of finished steps of a fit."""

    def __init__(self, progress: Any, display: Any, task: str) -> None:
        self.progress = progress
        self.display = display
        self.task = task
        self.steps = 0

    def setup(self, estimator: Any, context: Any) -> None:
        self.steps = 0

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to show before a step is done."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        if context.parent is not None:
            self.steps += 1
            self.progress.update(self.display, description=f"{self.task}, step {self.steps}")
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """The display is closed by whoever opened it."""
