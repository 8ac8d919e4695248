"""`logikern predict`: a model file and a table in, labelled probabilities out."""

from typing import Any

import typer

from logikern.cli import options
from logikern.cli.reading.sources import STANDARD, Reading
from logikern.cli.session.exits import ends_cleanly
from logikern.cli.session.messages import Messages

HELP = """
Predict the class of every row, with the probability of each class.

The output has the columns of `--keep`, then `predicted`, and `probability_CLASS` for each class. Its format follows
the suffix; '-' is CSV on standard output.

With a class tree it also has `path`, the path to the predicted node, and `probability`. `--loss` sets the loss to
minimise, and `--allow-inner` allows inner nodes as decisions.

If rows have any number of labels, `predicted` has the labels of smallest expected loss, separated by semicolons, and
there is a probability for each label. `--loss` is then hamming, subset or f1.

Examples:

  logikern predict iris.skops new.csv --out probabilities.csv

  logikern predict loans.skops new.parquet --keep id -o out.parquet

  logikern predict docs.skops new.jsonl --loss taxonomic --allow-inner -o out.jsonl

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
    reading: Reading = Reading(),
    messages: Messages = Messages(),
) -> None:
    from logikern.cli.models import load_model
    from logikern.cli.reading.inputs import read_inputs
    from logikern.cli.writing.outputs import beside, require_table, write_table

    require_table(out)
    if allow_inner and loss not in (None, options.Loss.taxonomic):
        raise typer.BadParameter(f"`--allow-inner` needs `--loss taxonomic`, but `--loss` is {loss.value!r}.")
    keep = list(dict.fromkeys(keep or ()))
    loaded = load_model(model)
    inputs = read_inputs(loaded, data, reading, keep)
    for note in inputs.notes:
        messages.info(note)
    table = _decided(loaded, inputs.X, loss.value if loss else None, allow_inner)
    write_table(beside(inputs.table, keep, table), out)
    if out != STANDARD:
        messages.info(f"wrote {len(table)} rows to {out}")


predict.__doc__ = HELP


def _decided(model: Any, X: Any, loss: str | None, allow_inner: bool) -> Any:
    from logikern.cli.models import has_label_sets, tree_of
    from logikern.cli.writing.label_sets import labelled_sets, set_loss
    from logikern.cli.writing.outputs import labelled_nodes, labelled_probabilities

    if has_label_sets(model):
        return labelled_sets(model, X, set_loss(loss, allow_inner))
    tree = tree_of(model)
    if loss in ("hamming", "subset", "f1"):
        raise ValueError(f"`--loss {loss}` needs a model of several labels. Fit it with `--label`.")
    if tree is not None:
        chosen = loss or ("taxonomic" if allow_inner else "zero_one")
        return labelled_nodes(model.predict_proba(X), tree, chosen, allow_inner)
    if allow_inner or loss not in (None, "zero_one"):
        option = "--allow-inner" if allow_inner else f"--loss {loss}"
        raise ValueError(f"`{option}` needs a class tree, but the model has no tree. Fit it with `--hierarchy`.")
    return labelled_probabilities(model.predict_proba(X), model.classes_)
