"""`logikern evaluate`: scores of a model on rows with known targets."""

import json

from logikern.cli import options
from logikern.cli.reading.sources import Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Score a model on rows with known targets.

The scores are log loss (natural logarithm), error, Brier score (summed over the classes) and calibration error
(15 bins of the largest probability), with a table of the classes and, for few classes, a confusion matrix. With a
class tree there are also scores per level, taxonomic loss, hierarchical F1 and confused siblings. For regression,
the scores are root mean squared error, mean absolute error, R^2 and log loss. Scores that are means over rows have a
95 % interval, computed by resampling the rows.

For a sequence model, the scores are the log loss per row (given its whole sequence), the error of the most probable
label sequences, and scores of whole sequences.

For a multilabel model, the scores are the joint log loss of label sets, and Hamming loss, subset error and F1. For
each of the last three, the label sets are chosen to optimise that score. A table of the labels follows.

The target is the column that the model was fitted to predict, unless `--target` names another.

Examples:

  logikern evaluate iris.skops test.csv

  logikern evaluate iris.skops test.csv --target species --json > scores.json

  logikern evaluate iris.skops test.csv --report iris.html

  logikern evaluate tags.skops test.csv

Exit codes: 0 done, 1 invalid data or model, 2 wrong usage, 130 interrupted.
"""


@ends_cleanly
def evaluate(
    model: options.ModelArgument,
    data: options.DataArgument,
    target: options.KnownTargetOption = None,
    drop_missing_target: options.DropOption = False,
    sequence: options.KnownSequenceOption = None,
    report: options.ReportOption = None,
    json_output: options.JsonOption = False,
    reading: Reading = Reading(),
    messages: Messages = Messages(),
) -> None:
    from logikern.cli.models import load_any_classifier, load_model
    from logikern.cli.reading.labelled import read_labelled, source_of
    from logikern.cli.writing.render import print_report, report_record
    from logikern.cli.writing.reports import require_page, write_page
    from logikern.cli.writing.scores import report_on

    if report is not None:
        require_page(report)
    loaded = load_model(model) if report is None else load_any_classifier(model, "evaluate --report")
    source = source_of(loaded, model, data, reading, target, drop_missing_target, sequence)
    known = read_labelled(loaded, source, messages)
    # The report is written before anything is printed, because the reader of standard output may go away.
    if report is not None:
        write_page(loaded, model, data, known, report, messages)
    found = report_on(loaded, known.X, known.labels, known.sequences)
    if json_output:
        print(json.dumps(report_record(found), indent=2))
    else:
        print_report(found)


evaluate.__doc__ = HELP
