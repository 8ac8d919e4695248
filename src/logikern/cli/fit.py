"""`logikern fit`: a table in, a model file out."""

import typer

from logikern.cli import options
from logikern.cli.reading.sources import Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Fit a kernel softmax classifier and write it, with its preprocessing, to a file.

Numeric columns are imputed and scaled, other columns become one input per frequent level, and `--text` columns become
tf-idf features. Classes may be the leaves of a tree. With `--regression`, the target is a number. With `--sequence`,
the rows of a sequence are labelled together, by a conditional random field. With `--label` in place of `--target`, a
row may have any number of labels. Hyperparameters are learned, unless --fixed is given.

Ctrl-C ends the search and writes the best model so far; a second Ctrl-C aborts.

Examples:

  logikern fit iris.csv --target species --out iris.skops

  logikern fit reviews.parquet -t stars --text review -o reviews.skops

  logikern fit docs.jsonl -t path --text body --hierarchy auto

  logikern fit houses.csv -t price --regression -o houses.skops

  logikern fit loans.csv -t repaid --ignore id --test-fraction 0.2 -o loans.skops

  logikern fit big.csv -t y --max-time 600 --checkpoint big.search -o big.skops

  cat big.csv | logikern fit - --format csv -t y -o big.skops

  logikern fit tokens.csv --sequence sentence -t tag -o tags.skops

  logikern fit pictures.csv --label sea --label sky --label city -o pictures.skops

Exit codes: 0 fitted; 1 invalid data or setting; 2 wrong usage; 3 model written, but the fit did not converge or
the search was interrupted; 130 aborted.
"""


@ends_cleanly
def fit(
    context: typer.Context,
    data: options.DataArgument,
    out: options.ModelFileOption = None,
    columns: options.Columns = options.Columns(),
    model: options.Model = options.Model(),
    learning: options.Learning = options.Learning(),
    computation: options.Computation = options.Computation(),
    test_fraction: options.TestFractionOption = None,
    reading: Reading = Reading(),
    messages: Messages = Messages(),
) -> None:
    from logikern.cli import fitting
    from logikern.cli.reading import training

    path = out or fitting.default_path(data)
    fitting.check(path, columns, model, learning, test_fraction)
    fitting.check_sequence_options(columns, model, learning, computation)
    fitting.check_label_options(columns, model, learning)
    data_set = training.read_training_set(data, reading, columns, messages)
    estimator = fitting.estimator(model, learning, computation, data_set)
    kept, held_out = fitting.split(data_set, test_fraction, computation.seed)
    fitting.fit_and_write(estimator, kept, held_out, path, fitting.notes_on(context), messages)


fit.__doc__ = HELP
