"""`logikern report`: a page about a model and its errors."""

from pathlib import Path

from logikern.cli import options
from logikern.cli.reading.sources import Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Write a report on a model as one HTML page, which needs no network and no scripts.

It shows scores with intervals, calibration, errors when uncertain rows are rejected, confused classes, what was
learned, the relevance of the columns, rows that need attention, and how to reproduce the fit. The model may also be
a sequence model or a multilabel model. DATA should be rows that the model has not seen. Reports need libraries that
`pip install 'logikern[report]'` installs.

Examples:

  logikern report iris.skops test.csv --out iris.html

  logikern report iris.skops test.csv --target species

  logikern report tags.skops test.csv --sequence sentence

Exit codes: 0 done, 1 invalid data or model, 2 wrong usage, 130 interrupted.
"""


@ends_cleanly
def report(
    model: options.ModelArgument,
    data: options.DataArgument,
    target: options.KnownTargetOption = None,
    out: options.PageOption = None,
    drop_missing_target: options.DropOption = False,
    sequence: options.KnownSequenceOption = None,
    reading: Reading = Reading(),
    messages: Messages = Messages(),
) -> None:
    from logikern.cli.models import load_any_classifier
    from logikern.cli.reading.labelled import read_labelled, source_of
    from logikern.cli.writing.reports import require_page, write_page

    page = out or f"{Path(model).stem}.html"
    require_page(page)
    loaded = load_any_classifier(model, "report")
    source = source_of(loaded, model, data, reading, target, drop_missing_target, sequence)
    known = read_labelled(loaded, source, messages)
    write_page(loaded, model, data, known, page, messages)


report.__doc__ = HELP
