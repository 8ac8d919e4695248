"""`logikern suspects`: training rows whose labels look wrong."""

from typing import Annotated

import typer

from logikern.cli import options
from logikern.cli.reading.sources import STANDARD, Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
List the training rows that the other training rows contradict, most suspicious first.

Each row has its label, the probability of that label by leave-one-out, the most likely label, and the loss. A model
file does not contain the training labels; they are recovered from the coefficients, if the fit had no weights.
Without DATA, rows are numbered in the order of the fit, from 1. With DATA, the table of the fit, they are numbered
as in that table, and `--keep` copies columns.

Examples:

  logikern suspects iris.skops

  logikern suspects iris.skops iris.csv --keep id --keep species --number 50 --out suspects.csv

Exit codes: 0 done, 1 invalid data or model, 2 wrong usage, 130 interrupted.
"""


@ends_cleanly
def suspects(
    model: options.ModelArgument,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="The table that the model was fitted on.")
    ] = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="Number of rows.")] = 20,
    out: options.TableOption = STANDARD,
    keep: options.KeepOption = None,
    target: options.KnownTargetOption = None,
    drop_missing_target: options.DropOption = False,
    format: options.FormatOption = None,
    encoding: options.EncodingOption = None,
    separator: options.SeparatorOption = None,
    zero_based: options.ZeroBasedOption = False,
    quiet: options.QuietOption = False,
) -> None:
    from logikern.cli.models import load_model
    from logikern.cli.reading.labelled import LabelledSource, read_labelled
    from logikern.cli.writing.outputs import require_table, write_table
    from logikern.cli.writing.suspicions import suspicions_in

    messages = Messages(quiet)
    require_table(out)
    if keep and data is None:
        raise typer.BadParameter("`--keep` needs DATA, the table of the fit.")
    loaded, known = load_model(model), None
    if data is not None:
        reading = Reading(format.value if format else None, encoding, separator, zero_based)
        source = LabelledSource(model, data, reading, target, drop_missing_target, tuple(keep or ()))
        known = read_labelled(loaded, source, messages)
    table = suspicions_in(loaded, known, number, list(dict.fromkeys(keep or ())), messages)
    write_table(table, out)
    if out != STANDARD:
        messages.info(f"wrote {len(table)} rows to {out}")


suspects.__doc__ = HELP
