"""`logikern evaluate`: scores of a model on rows with known classes."""

import json
from typing import Annotated

import typer

from logikern.cli import options
from logikern.cli.reading.sources import Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Score a model on rows with known classes.

The scores are log loss (natural logarithm), error, Brier score (summed over the classes) and calibration error
(15 bins of the largest probability), with a table of the classes and, for few classes, a confusion matrix. With a
class tree there are also scores per level, taxonomic loss, hierarchical F1 and confused siblings.

Examples:

  logikern evaluate iris.skops test.csv --target species

  logikern evaluate iris.skops test.csv --target species --json > scores.json

Exit codes: 0 done, 1 invalid data or model, 2 wrong usage, 130 interrupted.
"""


@ends_cleanly
def evaluate(
    model: options.ModelArgument,
    data: options.DataArgument,
    target: options.TargetOption = None,
    drop_missing_target: Annotated[
        bool, typer.Option("--drop-missing-target", help="Drop rows without a target.")
    ] = False,
    json_output: options.JsonOption = False,
    format: options.FormatOption = None,
    encoding: options.EncodingOption = None,
    separator: options.SeparatorOption = None,
    zero_based: options.ZeroBasedOption = False,
    quiet: options.QuietOption = False,
) -> None:
    from logikern.cli.models import load_model
    from logikern.cli.reading.inputs import read_inputs
    from logikern.cli.writing.render import print_report, report_record
    from logikern.cli.writing.scores import report_on_inputs

    messages = Messages(quiet)
    loaded = load_model(model)
    reading = Reading(format.value if format else None, encoding, separator, zero_based)
    inputs = read_inputs(loaded, data, reading, [target] if target else (), "`--target`")
    for note in inputs.notes:
        messages.info(note)
    report = report_on_inputs(loaded, inputs, target, drop_missing_target, messages)
    if json_output:
        print(json.dumps(report_record(report), indent=2))
    else:
        print_report(report)


evaluate.__doc__ = HELP
