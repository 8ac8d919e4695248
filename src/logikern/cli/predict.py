"""`logikern predict`: a model file and a table in, labelled probabilities out."""

from typing import Any

import typer

from logikern.cli import options
from logikern.cli.reading.sources import STANDARD, Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Predict the class of every row, with the probability of each class.

The output has the columns of `--keep`, then `predicted`, and `probability_CLASS` for each class. The suffix of the
output file sets its format; '-' writes CSV to standard output. For regression, the columns are `predicted` and
`standard_deviation`, the root mean squared error on rows held out during the fit.

A sequence model labels the rows of each sequence together: `predicted` is the most probable labelling of the
whole sequence, and each row has its own probabilities. Rows of a sequence must be in their original order.

With a class tree, the output also has `path`, the path to the predicted node, and `probability`. `--loss` sets the
loss to minimise, and `--allow-inner` allows inner nodes as decisions.

For a multilabel model, `predicted` has the labels with the smallest expected loss, separated by semicolons, and there
is a probability for each label. `--loss` is then hamming, subset or f1.

Examples:

  logikern predict iris.skops new.csv --out probabilities.csv

  logikern predict loans.skops new.parquet --keep id -o out.parquet

  logikern predict docs.skops new.jsonl --loss taxonomic --allow-inner -o out.jsonl

  logikern predict tags.skops new.csv --sequence sentence --keep word -o tagged.csv

  cat new.csv | logikern predict iris.skops - --format csv | head

Exit codes: 0 done, 1 invalid data or model, 2 wrong usage, 130 interrupted.
"""


@ends_cleanly
def predict(
    model: options.ModelArgument,
    data: options.DataArgument,
    out: options.TableOption = STANDARD,
    keep: options.KeepOption = None,
    loss: options.TreeLossOption = None,
    allow_inner: options.InnerNodeOption = False,
    sequence: options.KnownSequenceOption = None,
    reading: Reading = Reading(),
    messages: Messages = Messages(),
) -> None:
    from logikern.cli.models import has_sequences, load_model
    from logikern.cli.reading.inputs import read_inputs
    from logikern.cli.reading.sequences import find_sequence_column, with_sequence
    from logikern.cli.writing.outputs import beside, require_table, write_table

    require_table(out)
    if allow_inner and loss not in (None, options.Loss.taxonomic):
        raise typer.BadParameter(f"`--allow-inner` needs `--loss taxonomic`, but `--loss` is {loss.value!r}.")
    keep = list(dict.fromkeys(keep or ()))
    loaded = load_model(model)
    column = find_sequence_column(model, sequence, has_sequences(loaded))
    inputs = read_inputs(loaded, data, reading, with_sequence(keep, column))
    for note in inputs.notes:
        messages.info(note)
    table = _decided(loaded, inputs, loss.value if loss else None, allow_inner, column)
    write_table(beside(inputs.table, keep, table), out)
    if out != STANDARD:
        messages.info(f"wrote {len(table)} rows to {out}")


predict.__doc__ = HELP


def _decided(model: Any, inputs: Any, loss: str | None, allow_inner: bool, sequence: Any) -> Any:
    from logikern.cli.models import has_label_sets, is_regression, tree_of
    from logikern.cli.preprocessing import final_step
    from logikern.cli.reading.sequences import read_sequence_names
    from logikern.cli.writing.label_sets import labelled_sets, set_loss
    from logikern.cli.writing.outputs import labelled_nodes, labelled_probabilities, numbers_with_deviations
    from logikern.cli.writing.sequences import labelled_sequences

    if has_label_sets(model):
        return labelled_sets(model, inputs.X, set_loss(loss, allow_inner))
    tree = tree_of(model)
    if loss in ("hamming", "subset", "f1"):
        raise ValueError(f"`--loss {loss}` needs a multilabel model. Fit one with `--label`.")
    if tree is not None:
        chosen = loss or ("taxonomic" if allow_inner else "zero_one")
        return labelled_nodes(model.predict_proba(inputs.X), tree, chosen, allow_inner)
    if allow_inner or loss not in (None, "zero_one"):
        option = "--allow-inner" if allow_inner else f"--loss {loss}"
        raise ValueError(f"`{option}` needs a class tree, but the model has no tree. Fit it with `--hierarchy`.")
    if is_regression(model):
        own = final_step(model)
        return numbers_with_deviations(model.predict(inputs.X), own.outputs_, own.held_out_rmse_)
    if sequence is not None:
        return labelled_sequences(model, inputs.X, read_sequence_names(inputs.table[sequence.name]))
    return labelled_probabilities(model.predict_proba(inputs.X), model.classes_)
