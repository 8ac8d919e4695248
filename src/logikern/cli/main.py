"""The command `logikern`."""

import gc
import os
import sys
from typing import Annotated

import typer

from logikern import __version__
from logikern.cli.decide import decide
from logikern.cli.demo import demo
from logikern.cli.evaluate import evaluate
from logikern.cli.fit import fit
from logikern.cli.info import info
from logikern.cli.predict import predict
from logikern.cli.report import report
from logikern.cli.session.exits import ExitCode
from logikern.cli.suspects import suspects

app = typer.Typer(
    name="logikern",
    help="A kernel softmax classifier that tunes itself and gives probabilities you can trust.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def unwrapped(text: str) -> str:
    """The text with each paragraph on one line, because typer would keep its line breaks."""
    return "\n\n".join(
        paragraph if paragraph.startswith("  ") else " ".join(paragraph.split())
        for paragraph in text.strip().split("\n\n")
    )


for command in (fit, predict, decide, evaluate, report, suspects, info, demo):
    app.command(help=unwrapped(command.__doc__ or ""))(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"logikern {__version__}")
        raise typer.Exit()


@app.callback()
def _logikern(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """A kernel softmax classifier that tunes itself and gives probabilities you can trust."""


def _flush() -> None:
    """Flush standard output; if its reader has gone, as `head` does, exit without Python's own error message."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(int(ExitCode.REFUSED))


def main() -> None:
    """Entry point of the command `logikern`."""
    try:
        app()
    finally:
        _flush()
        # Garbage collection at exit skips frozen objects. With scikit-learn loaded, it would take 0.1 s.
        gc.freeze()


if __name__ == "__main__":
    main()
