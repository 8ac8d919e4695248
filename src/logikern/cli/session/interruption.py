"""Ctrl-C during a fit: once to keep the best so far, twice to end at once."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from logikern.cli.session.exits import AbortedError

SEARCH_ENDS = "interrupted: the search ends after this evaluation, and its best model is fitted"
FIT_ENDS = "interrupted: the search is over, and the final fit goes on to its end"
AGAIN = "Ctrl-C again aborts"


@dataclass(eq=False)
class Interruption:
    """Whether the user has pressed Ctrl-C, and what it means now.

    Nothing is raised where the signal arrives, except the second time: the search stops between two evaluations, so
    that no result is lost and a checkpoint is whole.

    Parameters
    ----------
    announced : bool, default=True
        Whether the first Ctrl-C is answered on standard error, where no display shows it.
    asked : bool
        Whether it was pressed.
    honoured : bool
        Whether the search was ended by it.
    final : bool
        Whether the search was over before.
    """

    announced: bool = True
    asked: bool = False
    honoured: bool = False
    final: bool = False

    @property
    def answer(self) -> str:
        return f"{FIT_ENDS if self.final else SEARCH_ENDS}; {AGAIN}"

    def receive(self, number: int, frame: Any) -> None:
        """The signal handler."""
        if self.asked:
            raise AbortedError
        self.asked = True
        if self.announced:
            # Not `print`: a handler may run in the middle of another write to the same stream.
            os.write(2, f"{self.answer}\n".encode())

    def honour(self) -> None:
        """End the search, if asked to; called between two evaluations."""
        if self.asked:
            self.honoured = True
            raise KeyboardInterrupt


def abort(number: int, frame: Any) -> NoReturn:
    """A signal handler that ends the command even in a search, which takes KeyboardInterrupt for a wish to go on."""
    raise AbortedError


@contextmanager
def interrupts_to(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Ctrl-C calls `handler`, unless the process was told to ignore it, as in the background of a shell."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
