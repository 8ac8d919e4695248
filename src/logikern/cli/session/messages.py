"""Messages of a command on standard error."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from logikern.cli import options


@dataclass(frozen=True)
class Messages:
    """Prints messages, as a group of options; `quiet` prints warnings only."""

    quiet: options.QuietOption = False

    def info(self, message: str) -> None:
        if not self.quiet:
            _print(message)

    def warn(self, message: str) -> None:
        _print(f"warning: {message}")

    @contextmanager
    def working(self, task: str) -> Iterator[None]:
        """Announce `task`, with a spinner on a terminal, and print its time."""
        began = time.perf_counter()
        if self.quiet or not sys.stderr.isatty():
            self.info(f"{task} ...")
            yield
        else:
            from rich.console import Console

            with Console(stderr=True).status(task):
                yield
        self.info(f"{task}: {time.perf_counter() - began:.1f} s")


def _print(message: str) -> None:
    """Print a message, in which names from users' data may hold characters that control a terminal."""
    from logikern.reporting.wording import printable

    print(printable(message), file=sys.stderr)
