"""Records as groups of options."""

from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from logikern.cli.session.exits import ends_cleanly


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option("--width")] = 1
    names: Annotated[list[str], typer.Option("--name")] = field(default_factory=list)


@pytest.fixture
def shell():
    """A command with a record between two options; the result prints what it got."""
    app = typer.Typer()

    @app.command()
    @ends_cleanly
    def measure(
        first: Annotated[int, typer.Option("--first")] = 0,
        size: Size = Size(),
        last: Annotated[int, typer.Option("--last")] = 0,
    ) -> None:
        typer.echo(f"{first} {size} {last}")

    return lambda *words: CliRunner().invoke(app, words).stdout


def test_fields_of_a_record_are_options(shell):
    assert shell("--width", "3", "--name", "a", "--name", "b") == "0 Size(width=3, names=['a', 'b']) 0\n"


def test_record_has_its_defaults_without_options(shell):
    assert shell("--last", "2") == "0 Size(width=1, names=[]) 2\n"


def test_options_keep_the_order_of_the_signature(shell):
    shown = shell("--help")
    places = [shown.index(option) for option in ("--first", "--width", "--name", "--last", "--traceback")]
    assert places == sorted(places)
