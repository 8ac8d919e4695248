"""Ctrl-C during a fit: once to keep the best result so far, twice to abort."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from logikern.cli.session.exits import AbortedError

IN_SEARCH = (
    "interrupted: the search ends after this evaluation, and its best model is fitted; press Ctrl-C again to abort"
)
IN_FIT = "interrupted: the search has ended, and the final fit continues; press Ctrl-C again to abort"


@dataclass(eq=False)
class Interruption:
    """Whether Ctrl-C was pressed, once or twice.

    The first signal raises nothing: the search stops between two evaluations, so that no result is lost and the
    checkpoint is complete. The second signal aborts.
    """

    announced: bool = True  # whether to write to standard error, because there is no live display
    asked: bool = False  # whether Ctrl-C was pressed
    honoured: bool = False  # whether it ended the search
    final: bool = False  # whether the final fit has begun

    @property
    def answer(self) -> str:
        return IN_FIT if self.final else IN_SEARCH

    def receive(self, number: int, frame: Any) -> None:
        """The signal handler."""
        if self.asked:
            raise AbortedError
        self.asked = True
        if self.announced:
            # Not `print`, because the handler may interrupt another write to the stream.
            os.write(2, f"{self.answer}\n".encode())

    def honour(self) -> None:
        """End the search if Ctrl-C was pressed; called between two evaluations."""
        if self.asked:
            self.honoured = True
            raise KeyboardInterrupt


@contextmanager
def interrupts_to(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Make Ctrl-C call `handler`, unless the process ignores Ctrl-C, as background jobs of a shell do."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
