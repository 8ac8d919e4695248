"""The command `logikern`."""

from typing import Annotated

import typer

from logikern import __version__
from logikern.cli.demo import demo
from logikern.cli.evaluate import evaluate
from logikern.cli.fit import fit
from logikern.cli.info import info
from logikern.cli.predict import predict

app = typer.Typer(
    name="logikern",
    help="A kernel softmax classifier: a table in, probabilities one can trust out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def unwrapped(text: str) -> str:
    """Every paragraph on one line, so that the terminal wraps it; typer would keep the line breaks."""
    return "\n\n".join(
        paragraph if paragraph.startswith("  ") else " ".join(paragraph.split())
        for paragraph in text.strip().split("\n\n")
    )


for command in (fit, predict, evaluate, info, demo):
    app.command(help=unwrapped(command.__doc__ or ""))(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"logikern {__version__}")
        raise typer.Exit()


@app.callback()
def _logikern(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """A kernel softmax classifier: a table in, probabilities one can trust out."""


def main() -> None:
    """Entry point of the command `logikern`."""
    app()


if __name__ == "__main__":
    main()
