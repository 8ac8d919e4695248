"""`logikern predict`: a model file and a table in, labelled probabilities out."""

from pathlib import Path
from typing import Annotated

import typer

from logikern.cli import options
from logikern.cli.exits import ends_cleanly
from logikern.cli.narration import Narrator
from logikern.cli.sources import STANDARD, Reading

EXAMPLES = """
Predict the class of every row, with the probability of each class.

The output has the columns `predicted` and `probability_CLASS` for each class, after
those that `--keep` names. Its format follows the suffix; '-' is CSV on standard output.

Examples:

  logikern predict iris.skops new.csv --out probabilities.csv

  logikern predict loans.skops new.parquet --keep id -o out.parquet

  cat new.csv | logikern predict iris.skops - --format csv | head

Exit codes: 0 done, 1 refused, 2 wrong usage, 130 interrupted.
"""


@ends_cleanly
def predict(
    model: options.ModelArgument,
    data: options.DataArgument,
    out: Annotated[
        str, typer.Option("--out", "-o", help="CSV, TSV, Parquet or JSON lines, by suffix, or '-'.")
    ] = STANDARD,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COL", help="Copy a column to the output. Repeatable."),
    ] = None,
    format: options.FormatOption = None,
    encoding: options.EncodingOption = None,
    separator: options.SeparatorOption = None,
    zero_based: options.ZeroBasedOption = False,
    quiet: options.QuietOption = False,
) -> None:
    from logikern.cli.inputs import read_inputs
    from logikern.cli.models import load_model
    from logikern.cli.outputs import beside, labelled_probabilities, output_format, require_writable, write_table

    narrator = Narrator(quiet)
    if out != STANDARD:
        require_writable(out)
        output_format(Path(out))
    loaded = load_model(model)
    reading = Reading(format.value if format else None, encoding, separator, zero_based)
    inputs = read_inputs(loaded, data, reading, keep or ())
    for note in inputs.notes:
        narrator.say(note)
    table = labelled_probabilities(loaded.predict_proba(inputs.X), loaded.classes_)
    write_table(beside(inputs.table, keep or [], table), out)
    if out != STANDARD:
        narrator.say(f"wrote {len(table)} rows to {out}")


predict.__doc__ = EXAMPLES
