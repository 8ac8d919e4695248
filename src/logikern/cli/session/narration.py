"""What a command says while it works: lines on standard error."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


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
    def working(self, task: str) -> Iterator[None]:
        """Announce `task`, with a sign of life on a terminal, and say how long it took."""
        began = time.perf_counter()
        if self.quiet or not sys.stderr.isatty():
            self.say(f"{task} ...")
            yield
        else:
            from rich.console import Console

            with Console(stderr=True).status(task):
                yield
        self.say(f"{task}: {time.perf_counter() - began:.1f} s")
