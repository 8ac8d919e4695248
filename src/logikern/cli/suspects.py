"""`logikern suspects`: training rows whose labels look wrong."""

import typer

from logikern.cli import options
from logikern.cli.reading.sources import STANDARD, Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
List the training rows that the other training rows contradict, most suspicious first.

The output has the label of each row, its leave-one-out probability, the most likely label, and the loss. A model file
does not contain the training labels; they are recovered from the coefficients, if the fit had no weights. Without
DATA, rows are numbered from 1 in the order of the training data. With DATA, the training table, they are numbered as
in that table, and `--keep` copies columns.

Examples:

  logikern suspects iris.skops

  logikern suspects iris.skops iris.csv --keep id --keep species --number 50 --out suspects.csv

Exit codes: 0 done, 1 invalid data or model, 2 wrong usage, 130 interrupted.
"""


@ends_cleanly
def suspects(
    model: options.ModelArgument,
    data: options.OptionalDataArgument = None,
    number: options.NumberOption = 20,
    out: options.TableOption = STANDARD,
    keep: options.KeepOption = None,
    target: options.KnownTargetOption = None,
    drop_missing_target: options.DropOption = False,
    reading: Reading = Reading(),
    messages: Messages = Messages(),
) -> None:
    from logikern.cli.models import load_classifier
    from logikern.cli.reading.labelled import LabelledSource, read_labelled
    from logikern.cli.writing.outputs import require_table, write_table
    from logikern.cli.writing.suspicions import suspicions_in

    require_table(out)
    if keep and data is None:
        raise typer.BadParameter("`--keep` needs DATA, the training table.")
    loaded, known = load_classifier(model, "suspects"), None
    if data is not None:
        source = LabelledSource(model, data, reading, target, drop_missing_target, tuple(keep or ()))
        known = read_labelled(loaded, source, messages)
    table = suspicions_in(loaded, known, number, list(dict.fromkeys(keep or ())), messages)
    write_table(table, out)
    if out != STANDARD:
        messages.info(f"wrote {len(table)} rows to {out}")


suspects.__doc__ = HELP
